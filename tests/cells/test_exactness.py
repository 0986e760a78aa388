"""Carried sensitivities against full backpropagation through time, in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rillax._jax import enable_x64
from rillax.cells import CELLS as KINDS
from rillax.cells import (
    GRU,
    LSTM,
    RTU,
    Defaults,
    FeedForward,
    MinGRU,
    NonlinearRTU,
    past,
    remember,
)
from rillax.networks import Architecture, Network, hiddens

CELLS = {
    "rtu": (RTU, {}, Defaults()),
    "rtu without gain": (RTU, {"gain": False}, Defaults()),
    "rtu_nonlinear": (NonlinearRTU, {}, Defaults(activation="tanh")),
    "rtu_nonlinear without gain": (NonlinearRTU, {"gain": False}, Defaults()),
    "mingru": (MinGRU, {"timescale_max": 50.0}, Defaults()),
    "gru": (GRU, {}, Defaults()),
    "lstm": (LSTM, {}, Defaults()),
}
LONGEST = 20
sizes = st.sampled_from([(1, 1), (3, 5), (7, 2)])  # inputs, units
lengths = st.integers(1, LONGEST)
seeds = st.integers(0, 2**31)


def assert_equal_leaves(actual, expected, rtol=1e-9):
    """Every leaf equal, relative to the leaf's own largest entry."""
    actual, expected = jax.tree.leaves(actual), jax.tree.leaves(expected)
    assert len(actual) == len(expected) > 0
    for a, e in zip(actual, expected, strict=True):
        assert a.shape == e.shape
        assert a.dtype == e.dtype == jnp.float64
        scale = float(jnp.max(jnp.abs(e)))
        np.testing.assert_allclose(a, e, rtol=0, atol=rtol * max(scale, 1e-30))


def choose(condition, yes, no):
    return jax.tree.map(lambda y, n: jnp.where(condition, y, n), yes, no)


def unroll(cell, xs, length, reset_at):
    """The hidden state after ``length`` inputs, by the one-step function; blank at reset_at."""

    def one(hidden, t_x):
        t, x = t_x
        new = cell.step(choose(t == reset_at, cell.initial_hidden(), hidden), x)
        return choose(t < length, new, hidden), None

    return jax.lax.scan(one, cell.initial_hidden(), (jnp.arange(len(xs)), xs))[0]


def carry(cell, xs, length, reset_at):
    """The hidden state one step before the last of ``length`` inputs, and the memory after it."""

    def one(carried, t_x):
        t, x = t_x
        before = choose(t == reset_at, cell.initial_memory(), carried[1])
        return choose(t < length, (before.hidden, cell.advance(before, x)), carried), None

    start = cell.initial_memory()
    return jax.lax.scan(one, (start.hidden, start), (jnp.arange(len(xs)), xs))[0]


def scalar(cell, hidden, key):
    """Something that depends on every feature, and not linearly."""
    weights = jax.random.normal(key, (cell.features,))
    return jnp.sin(cell.read(hidden) @ weights) + jnp.sum(cell.read(hidden) ** 2)


def draw(name, size, seed, gradient="rtrl"):
    key_cell, key_x, key_w = jax.random.split(jax.random.key(seed), 3)
    kind, settings, defaults = CELLS[name]
    inputs, units = size
    cell = kind(units, gradient=gradient, **settings).build(key_cell, inputs, defaults)
    return cell, jax.random.normal(key_x, (LONGEST, size[0])), key_w


@jax.jit
def by_memory(cell, xs, length, reset_at, key):
    """Value and gradient (for cell and last input) of a scalar, read through ``remember``."""
    previous, memory = carry(cell, xs, length, reset_at)

    def read(cell, x):
        return scalar(cell, remember(cell, x, previous, memory), key)

    return jax.value_and_grad(read, argnums=(0, 1))(cell, xs[length - 1])


@jax.jit
def by_time(cell, xs, length, reset_at, key):
    """Value and gradient of the same scalar, by backpropagation through the whole sequence."""
    return jax.value_and_grad(lambda c: scalar(c, unroll(c, xs, length, reset_at), key))(cell)


@jax.jit
def by_peek(cell, xs, length, key):
    """The gradient of the same scalar after a step that the memory does not take."""
    _, memory = carry(cell, xs, length - 1, 0)

    def read(cell):
        return scalar(cell, cell.step(past(cell, memory), xs[length - 1]), key)

    return jax.grad(read)(cell)


@jax.jit
def by_one_step(cell, xs, length, reset_at, key):
    """Gradient (for cell and last input) with the hidden state before the last step a constant."""
    previous, _ = carry(cell, xs, length, reset_at)

    def read(cell, x):
        return scalar(cell, cell.step(previous, x), key)

    return jax.grad(read, argnums=(0, 1))(cell, xs[length - 1])


VARIANTS = [
    pytest.param(name, marks=pytest.mark.slow if "without gain" in name else ()) for name in CELLS
]


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=30)
@given(size=sizes, length=lengths, reset=st.floats(0, 1), seed=seeds)
def test_rtrl_is_bptt_over_the_episode(name, size, length, reset, seed):
    with enable_x64(True):
        cell, xs, key = draw(name, size, seed)
        reset_at = round(reset * length)  # 0 and length: no reset in the middle
        value, (d_cell, d_x) = by_memory(cell, xs, length, reset_at, key)
        expected_value, expected = by_time(cell, xs, length, reset_at, key)
        np.testing.assert_allclose(value, expected_value, rtol=1e-12)
        assert_equal_leaves(d_cell, expected)
        assert_equal_leaves(d_x, by_one_step(cell, xs, length, reset_at, key)[1])


@pytest.mark.parametrize("name", CELLS)
def test_a_peek_has_the_gradient_of_the_whole_episode(name, x64):
    cell, xs, key = draw(name, (3, 5), 0)
    for length in (1, 2, 7):
        assert_equal_leaves(by_peek(cell, xs, length, key), by_time(cell, xs, length, 0, key)[1])


def test_a_peek_without_sensitivity_has_the_gradient_of_its_step(x64):
    cell, xs, key = draw("rtu", (3, 5), 0, gradient="tbptt")
    one_step, _ = by_one_step(cell, xs, 7, 0, key)
    assert_equal_leaves(by_peek(cell, xs, 7, key), one_step)


@pytest.mark.parametrize("name", VARIANTS)
@settings(max_examples=10)
@given(size=sizes, length=lengths, seed=seeds)
def test_tbptt_is_the_derivative_of_one_step(name, size, length, seed):
    with enable_x64(True):
        cell, xs, key = draw(name, size, seed, gradient="tbptt")
        assert cell.initial_memory().sensitivity is None
        _, gradients = by_memory(cell, xs, length, 0, key)
        assert_equal_leaves(gradients, by_one_step(cell, xs, length, 0, key))


@pytest.mark.parametrize("name", CELLS)
def test_tbptt_differs_from_rtrl_once_there_is_a_past(name, x64):
    def gradient(kind, length):
        cell, xs, key = draw(name, (3, 5), 0, kind)
        d_cell = by_memory(cell, xs, length, 0, key)[1][0]
        return jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(d_cell)])

    np.testing.assert_allclose(gradient("rtrl", 1), gradient("tbptt", 1), rtol=1e-9)
    exact = gradient("rtrl", 5)
    assert jnp.linalg.norm(exact - gradient("tbptt", 5)) > 0.05 * jnp.linalg.norm(exact)


@pytest.mark.parametrize("cell", ["rtu", "rtu_nonlinear", "mingru", "gru", "lstm", "feedforward"])
def test_a_network_credits_head_and_cell_exactly_and_the_encoder_for_one_step(cell, x64):
    """The three parameter groups of Section 3, each against plain autodiff of its definition."""
    settings = Architecture(cell=KINDS[cell](4), width=5, sparsity=0.5, direct=True)
    network = settings.build(jax.random.key(0), (3,), 2)
    network = jax.tree.map(lambda p: p.astype(jnp.float64), network)
    observations = jax.random.normal(jax.random.key(1), (7, 3))
    memory = network.initial_memory()
    for observation in observations:
        previous, memory = memory, network.advance(memory, observation)

    def through_memory(network: Network):
        return network(observations[-1], hiddens(previous), memory)[1]

    def through_time(network: Network):
        """Every encoded input a constant: exact for head and cell."""
        xs = [jax.lax.stop_gradient(network.encoder(o)) for o in observations]
        (cell,) = network.layers
        features = cell.read(unroll(cell, jnp.stack(xs), 7, 0))
        return network.head(features, observations[-1])[1]

    def one_step(network: Network):
        """The hidden state one step before a constant: the encoder's definition."""
        (cell,), (before,) = network.layers, hiddens(previous)
        features = cell.read(cell.step(before, network.encoder(observations[-1])))
        return network.head(features, observations[-1])[1]

    actual = jax.grad(through_memory)(network)
    assert_equal_leaves((actual.layers, actual.head), _parts(jax.grad(through_time)(network)))
    assert_equal_leaves(actual.encoder, jax.grad(one_step)(network).encoder)


def _parts(gradient):
    return gradient.layers, gradient.head


def test_gradients_are_the_same_under_vmap(x64):
    cell, _, key = draw("rtu", (3, 5), 0)
    xs = jax.random.normal(jax.random.key(1), (6, LONGEST, 3))
    together = jax.vmap(lambda xs: by_memory(cell, xs, LONGEST, 0, key))(xs)
    alone = [by_memory(cell, x, LONGEST, 0, key) for x in xs]
    assert_equal_leaves(together, jax.tree.map(lambda *leaves: jnp.stack(leaves), *alone))


def test_feedforward_forgets():
    cell = FeedForward(4).build(jax.random.key(0), 3)
    xs = jax.random.normal(jax.random.key(1), (5, 3))
    np.testing.assert_array_equal(unroll(cell, xs, 5, 0), cell.linear(xs[-1]))
