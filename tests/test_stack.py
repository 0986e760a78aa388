"""Several recurrent layers: exact within each, one step of backpropagation between them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import PPO, QRC, StreamAC
from rillax.cells import GRU, RTU
from rillax.envs import MemoryChain
from rillax.loops import begin, run
from rillax.networks import Architecture, hiddens
from rillax.staleness import Recorded, measure
from rillax.updates import SGD

STACKS = {
    "rtu, rtu": (RTU(4), RTU(3)),
    "rtu, gru": (RTU(3), GRU(4)),
    "gru, rtu, rtu": (GRU(2), RTU(3), RTU(2)),
}
STEPS = 9


def build(layers):
    network = Architecture(layers=layers, width=5, sparsity=0.5).build(jax.random.key(0), (3,), 2)
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float64), network)


def unroll(cell, xs):
    """The states of a layer along its inputs, by the one-step function."""

    def one(hidden, x):
        hidden = cell.step(hidden, x)
        return hidden, hidden

    return jax.lax.scan(one, cell.initial_hidden(), xs)[1]


def last(states):
    return jax.tree.map(lambda leaf: leaf[-1], states)


QUICK, *OTHERS = (pytest.param(layers, id=name) for name, layers in STACKS.items())


@pytest.mark.parametrize(
    "layers", [QUICK, *(pytest.param(*o.values, id=o.id, marks=pytest.mark.slow) for o in OTHERS)]
)
def test_each_layer_has_the_gradient_of_bptt_with_its_inputs_held_fixed(layers, x64):
    network = build(layers)
    observations = jax.random.normal(jax.random.key(1), (STEPS, 3))
    memories = network.initial_memory()
    for observation in observations:
        before, memories = memories, network.advance(memories, observation)
    actual = jax.grad(lambda n: n(observations[-1], hiddens(before), memories)[1])(network)

    # What each layer takes in along the episode, by plain unrolling.
    xs, inputs = jax.vmap(network.encoder)(observations), []
    for cell in network.layers:
        inputs.append(xs)
        xs = jax.vmap(cell.read)(unroll(cell, xs))

    for i, cell in enumerate(network.layers):

        def output(changed, i=i):
            """Layer i through all of time, its inputs constant; those above for their last step."""
            x = changed.read(last(unroll(changed, inputs[i])))
            for above, state in zip(network.layers[i + 1 :], before[i + 1 :], strict=True):
                x = above.read(above.step(state.hidden, x))
            return network.head(x, observations[-1])[1]

        expected = jax.grad(output)(cell)
        for a, e in zip(jax.tree.leaves(actual.layers[i]), jax.tree.leaves(expected), strict=True):
            assert float(jnp.max(jnp.abs(e))) > 0
            np.testing.assert_allclose(a, e, rtol=1e-9, atol=1e-9 * float(jnp.max(jnp.abs(e))))


def test_a_peek_is_the_step_that_follows(x64):
    network = build(STACKS["rtu, rtu"])
    observations = jax.random.normal(jax.random.key(1), (STEPS, 3))
    memories = network.initial_memory()
    for observation in observations[:-1]:
        memories = network.advance(memories, observation)
    after = network.advance(memories, observations[-1])

    def ahead(network):
        return network.peek(observations[-1], memories)[0]

    def there(network):
        return network(observations[-1], hiddens(memories), after)[0]

    for a, e in zip(
        jax.tree.leaves(jax.value_and_grad(ahead)(network)),
        jax.tree.leaves(jax.value_and_grad(there)(network)),
        strict=True,
    ):
        np.testing.assert_allclose(a, e, rtol=1e-9, atol=1e-12)


def test_the_first_layer_is_what_it_would_be_alone():
    alone = Architecture(cell=RTU(4)).build(jax.random.key(0), (3,), 2)
    stacked = Architecture(layers=(RTU(4), RTU(4))).build(jax.random.key(0), (3,), 2)
    np.testing.assert_array_equal(alone.layers[0].B_real, stacked.layers[0].B_real)
    assert stacked.layers[1].B_real.shape == (4, 8)
    assert not np.array_equal(stacked.layers[0].nu_log, stacked.layers[1].nu_log)


@pytest.mark.slow
def test_an_agent_with_two_layers_learns():
    """MemoryChain 4: a cue, some steps of silence, one question."""
    network = Architecture(layers=(RTU(16), RTU(16)), width=16, sparsity=0.0)
    agent = QRC(network=network, q=SGD(1e-3), epsilon_frames=4_000)
    env = MemoryChain(4)
    keys = jax.random.split(jax.random.key(0), 2)
    state = jax.jit(jax.vmap(lambda key: begin(agent, env, key)))(keys)
    state, _ = run(agent, env, state, 12_000)
    state, late = run(agent, env, state, 3_000)
    assert np.all(late.returns / late.episodes > 0.8)


@pytest.mark.slow
@pytest.mark.parametrize("agent", [StreamAC, PPO])
def test_every_agent_takes_a_stack(agent):
    small = {"rollout": 8, "minibatches": 2, "epochs": 1} if agent is PPO else {}
    chosen = agent(network=Architecture(layers=(RTU(3), RTU(2)), width=4), **small)
    from rillax.loops import make_loop

    loop = make_loop(chosen, MemoryChain(3), [0])
    statistics = loop.run(16)
    assert int(statistics.frames[0]) == 16
    assert int(statistics.diverged[0]) == 0


@pytest.mark.slow
def test_staleness_is_measured_layer_by_layer():
    env = MemoryChain(5)
    agent = Recorded(QRC(network=Architecture(layers=(RTU(3), RTU(2)), width=4), q=SGD(1e-2)), 6)
    state = jax.vmap(lambda key: begin(agent, env, key))(jax.random.split(jax.random.key(0), 1))
    state, _ = run(agent, env, state, 4)
    one = jax.tree.map(lambda leaf: leaf[0], state.agent)
    for mode in ("inputs", "observations"):
        found = measure(one, mode)
        assert {"staleness_q_0", "staleness_q_1", "bound_q_0", "bound_h_1"} <= set(found)
        assert all(np.isfinite(value) for value in found.values())
        assert found["staleness_q_0"] > 0
