import math
from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.cells import RTU
from rillax.layers import layer_norm, sparse_linear
from rillax.networks import Architecture, hiddens, learn, split, start


@pytest.mark.parametrize(
    ("inputs", "sparsity"), [(384, 0.9), (64, 0.9), (10, 0.5), (3, 0.9), (7, 0)]
)
def test_sparse_initialisation(inputs, sparsity):
    layer = sparse_linear(inputs, 200, sparsity, key=jax.random.key(0))
    zeros = np.sum(np.array(layer.weight) == 0, axis=1)
    assert set(zeros) == {min(math.ceil(sparsity * inputs), inputs - 1)}
    assert np.all(np.array(layer.bias) == 0)
    kept = np.array(layer.weight)[np.array(layer.weight) != 0]
    bound = 1 / math.sqrt(inputs)
    assert np.abs(kept).max() <= bound
    # Uniform on [-bound, bound]: variance bound^2 / 3; and each input is as likely to be kept.
    assert abs(kept.var() / (bound**2 / 3) - 1) < 0.15
    share = np.mean(np.array(layer.weight) != 0, axis=0)
    assert share.std() < 4 * math.sqrt(share.mean() / 200) + 1e-9


def test_layer_norm():
    x = jnp.array([1.0, 2.0, 6.0])
    expected = (np.array([1, 2, 6]) - 3) / np.sqrt(14 / 3 + 1e-5)
    np.testing.assert_allclose(layer_norm(x), expected, rtol=1e-6)


def test_the_papers_sizes_are_the_defaults():
    network = Architecture().build(jax.random.key(0), (3,), 2)
    assert network.encoder.linear.weight.shape == (64, 3)
    assert network.layers[0].B_real.shape == (192, 64)
    assert network.head.blocks[0].linear.weight.shape == (64, 384)
    assert network.head.linear.weight.shape == (2, 64)


class Convolution(eqx.Module):
    """An encoder as a user might bring it, with a function among its leaves."""

    layer: eqx.nn.Conv2d
    activation: object = jax.nn.relu

    def __call__(self, image):
        return self.activation(self.layer(image)).ravel()


def brought(key, shape):
    return Convolution(eqx.nn.Conv2d(shape[0], 4, 3, key=key))


@pytest.mark.parametrize("learn", [pytest.param(True, marks=pytest.mark.slow), False])
def test_an_encoder_can_be_brought(learn):
    network = Architecture(cell=RTU(5), width=8, encoder=brought, learn_encoder=learn).build(
        jax.random.key(0), (2, 6, 6), 3
    )
    assert network.layers[0].B_real.shape == (5, 4 * 4 * 4)
    image = jax.random.normal(jax.random.key(1), (2, 6, 6))
    params, frozen = split(network)
    memory = network.advance(network.initial_memory(), image)

    @jax.jit
    def value(params):
        return jnp.sum(
            eqx.combine(params, frozen)(image, hiddens(network.initial_memory()), memory)
        )

    gradient = jax.grad(value)(params)
    assert len(jax.tree.leaves(gradient.encoder)) == (2 if learn else 0)
    assert all(jnp.any(g != 0) for g in jax.tree.leaves(gradient.encoder))
    joined = eqx.combine(params, frozen)
    assert eqx.tree_equal(joined, network)


def test_an_encoder_must_return_a_vector():
    with pytest.raises(ValueError, match="must return a vector"):
        Architecture(encoder=lambda key, shape: lambda x: x).build(jax.random.key(0), (2, 2), 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cell": "rnn"}, r"the settings of a cell, such as RTU\(192\), got 'rnn'"),
        ({"layers": ()}, "a tuple of at least one"),
        ({"layers": RTU(4)}, "a tuple of at least one"),
        ({"activation": "x"}, "choose from: leaky_relu, tanh"),
        ({"width": 0}, "width must be at least 1"),
        ({"sparsity": 1.0}, "^sparsity must be in"),
        ({"reader_sparsity": -0.1}, "reader_sparsity must be in"),
        ({"cell_step": -1.0}, "cell_step must be at least 0"),
    ],
)
def test_wrong_settings_name_the_choices(wrong, message):
    with pytest.raises(ValueError, match=message):
        Architecture(**wrong)


def test_the_reader_of_the_cell_may_be_denser_than_the_rest():
    network = Architecture(reader_sparsity=0.0).build(jax.random.key(0), (3,), 2)
    assert np.all(np.array(network.head.blocks[0].linear.weight) != 0)
    zeros = np.sum(np.array(network.head.linear.weight) == 0, axis=1)
    assert set(zeros) == {math.ceil(0.9 * 64)}
    same = Architecture(reader_sparsity=0.9).build(jax.random.key(0), (3,), 2)
    assert eqx.tree_equal(same, Architecture().build(jax.random.key(0), (3,), 2))


@pytest.mark.parametrize("step", [0.0, 0.25, 1.0])
@pytest.mark.slow
def test_recurrent_parameters_take_steps_of_their_own(step):
    network = Architecture(cell=RTU(3), width=4, cell_step=step).build(jax.random.key(0), (2,), 1)
    stream = start(network)
    update = jax.tree.map(lambda leaf: jnp.full_like(leaf, 0.5), split(network)[0])
    after = learn(stream, update).network
    for name, share in (("encoder", 1), ("layers", step), ("head", 1)):
        was, now = (jax.tree.leaves(getattr(split(n)[0], name)) for n in (network, after))
        assert was
        for a, b in zip(was, now, strict=True):
            np.testing.assert_allclose(b, a + share * 0.5, rtol=1e-6)


@pytest.mark.slow
def test_encoder_and_head_may_have_blocks_of_their_own():
    network = Architecture(cell=RTU(5), encoder_widths=(7, 6), head_widths=(4, 3))
    built = network.build(jax.random.key(0), (3,), 2)
    assert [b.linear.weight.shape for b in built.encoder.blocks] == [(7, 3), (6, 7)]
    assert built.layers[0].B_real.shape == (5, 6)
    assert [b.linear.weight.shape for b in built.head.blocks] == [(4, 10), (3, 4)]
    assert built.head.linear.weight.shape == (2, 3)
    assert built.peek(jnp.ones(3), built.initial_memory()).shape == (2,)


def test_a_head_may_read_the_recurrence_straight():
    built = Architecture(cell=RTU(5), head_widths=(), reader_sparsity=0.5).build(
        jax.random.key(0), (3,), 2
    )
    assert built.head.blocks == ()
    assert built.head.linear.weight.shape == (2, 10)
    assert set(np.sum(np.array(built.head.linear.weight) == 0, axis=1)) == {5}


def test_outputs_may_read_the_observation_directly(x64):
    """What they make of it is added to what they would be otherwise, and nothing else changes."""
    settings = Architecture(cell=RTU(4), width=6, sparsity=0.5)
    plain = settings.build(jax.random.key(0), (3,), 2)
    wide = replace(settings, direct=True).build(jax.random.key(0), (3,), 2)
    some = replace(settings, direct=True).build(jax.random.key(0), (3,), 2, added=1)
    assert some.head.linear.weight.shape == (2, 6 + 2)
    weight = wide.head.linear.weight
    assert weight.shape == (2, 6 + 3)
    np.testing.assert_array_equal(weight[:, :6], plain.head.linear.weight)
    assert np.all(np.array(weight[:, 6:]) == 0)

    rng = np.random.default_rng(0)
    direct, observations = rng.normal(size=(2, 3)), rng.normal(size=(7, 3))
    wide = eqx.tree_at(
        lambda n: n.head.linear.weight, wide, np.concatenate([weight[:, :6], direct], axis=1)
    )
    memories = plain.initial_memory()
    for observation in observations[:-1]:
        memories = plain.advance(memories, observation)
    x, after = observations[-1], plain.advance(memories, observations[-1])
    for read in (
        lambda network: network(x, hiddens(memories), after)[1],
        lambda network: network.peek(x, memories)[1],
    ):
        value, gradient = jax.value_and_grad(read)(wide)
        expected, rest = jax.value_and_grad(read)(plain)
        np.testing.assert_allclose(value, expected + direct[1] @ x, rtol=1e-12)
        of_weight = gradient.head.linear.weight
        np.testing.assert_allclose(of_weight[1, 6:], x, rtol=1e-12)
        np.testing.assert_array_equal(of_weight[0, 6:], 0)
        cut = eqx.tree_at(lambda n: n.head.linear.weight, gradient, of_weight[:, :6])
        pairs = zip(jax.tree.leaves(cut), jax.tree.leaves(rest), strict=True)
        for actual, one in pairs:
            np.testing.assert_allclose(actual, one, rtol=1e-12)


def test_a_blind_encoder_starts_without_inputs():
    """ceil(0.9 fan-in) zeros, as the paper's code: of three inputs, all."""
    built = Architecture(initialisation="sparse_blind").build(jax.random.key(0), (3,), 2)
    assert np.all(np.array(built.encoder.linear.weight) == 0)
    seeing = Architecture().build(jax.random.key(0), (3,), 2)
    assert np.all(np.sum(np.array(seeing.encoder.linear.weight) != 0, axis=1) == 1)


def test_orthogonal_layers_and_outputs():
    network = Architecture(
        cell=RTU(8), width=6, initialisation="orthogonal", layer_norm=False, head_layer_norm=False
    )
    built = network.build(jax.random.key(0), (3,), 2, output_gain=0.01)
    encoder = np.array(built.encoder.linear.weight)
    np.testing.assert_allclose(encoder.T @ encoder, 2 * np.eye(3), atol=1e-5)
    out = np.array(built.head.linear.weight)
    np.testing.assert_allclose(out @ out.T, 1e-4 * np.eye(2), atol=1e-9)
    hidden = built.encoder(jnp.ones(3))
    np.testing.assert_allclose(hidden, jax.nn.leaky_relu(encoder @ np.ones(3)), rtol=1e-5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"encoder_widths": ()}, "at least one block"),
        ({"head_widths": (4, 0)}, "head_widths must be at least 1 each"),
        ({"initialisation": "zeros"}, "choose from: sparse, sparse_blind, orthogonal"),
    ],
)
def test_wrong_blocks_are_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Architecture(**wrong)
