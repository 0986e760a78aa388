"""The compiled loop: the same bits twice, seeds that do not depend on each other, exact sums."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import PPO, QRC, Rill, StreamAC, StreamQ
from rillax.cells import RTU, MinGRU
from rillax.envs import MemoryChain, make
from rillax.loops import begin, run
from rillax.loops.compiled import CompiledLoop, no_statistics, own_buffers, program, run_into, step
from rillax.networks import Architecture
from rillax.updates import SGD, Intentional, IntentionalPolicy
from tests.forms import needs_fast_forms

AGENT = QRC(network=Architecture(cell=RTU(6), width=8), q=SGD(1e-2), epsilon_frames=200)
ENV = MemoryChain(4)


def begin_all(keys):
    return jax.vmap(lambda key: begin(AGENT, ENV, key))(keys)


start = jax.jit(begin_all)


def keys(*seeds):
    return jax.vmap(jax.random.key)(np.array(seeds))


def leaves(tree):
    return [np.array(jax.random.key_data(x) if _is_key(x) else x) for x in jax.tree.leaves(tree)]


def _is_key(x):
    return jnp.issubdtype(x.dtype, jax.dtypes.prng_key)


INTENTIONAL = IntentionalPolicy(), Intentional()


@needs_fast_forms
@pytest.mark.parametrize(
    "agent",
    [
        AGENT,
        pytest.param(
            StreamQ(network=Architecture(cell=MinGRU(6), width=8)), marks=pytest.mark.slow
        ),
        Rill(network=Architecture(cell=RTU(6), width=8)),
        pytest.param(
            StreamAC(
                Architecture(cell=RTU(6), width=8), actor=INTENTIONAL[0], critic=INTENTIONAL[1]
            ),
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda agent: type(agent).__name__,
)
def test_the_whole_loop_is_one_kernel_where_the_environment_is_ours(agent):
    state = jax.jit(jax.vmap(lambda key: begin(agent, ENV, key)))(keys(3))
    _, statistics = run(agent, ENV, state, 20)
    assert program(agent, ENV).forms_left == 3  # none was refused, the fastest least of all
    assert statistics.diverged[0] == 0


def test_the_same_seed_gives_the_same_bits():
    first, second = (run(AGENT, ENV, start(keys(3)), 700) for _ in range(2))
    for a, b in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


def test_any_cut_into_calls_gives_the_same_bits():
    whole = run(AGENT, ENV, start(keys(3)), 700)
    state, statistics = start(keys(3)), no_statistics(AGENT, ENV, 1)
    for frames in (1, 250, 449):
        state, statistics = run_into(AGENT, ENV, state, statistics, frames)
    for a, b in zip(leaves(whole), leaves((state, statistics)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_a_seed_in_company_gives_what_it_gives_alone(x64):
    """In double precision, so that learning does not blow rounding up into a difference."""
    together, statistics = run(AGENT, ENV, start(keys(5, 6, 7)), 500)
    for i, seed in enumerate((5, 6, 7)):
        alone, statistics_alone = run(AGENT, ENV, start(keys(seed)), 500)
        np.testing.assert_array_equal(statistics.returns[i], statistics_alone.returns[0])
        for a, b in zip(leaves(together), leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b[0], rtol=1e-9, atol=1e-9 * np.abs(b[0]).max())


@pytest.mark.slow
def test_a_seed_in_company_gives_what_it_gives_alone_in_single_precision():
    """Over a stretch that is short enough for rounding to stay rounding."""
    together, _ = run(AGENT, ENV, start(keys(5, 6, 7)), 40)
    for i, seed in enumerate((5, 6, 7)):
        alone, _ = run(AGENT, ENV, start(keys(seed)), 40)
        for a, b in zip(leaves(together), leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b[0], rtol=1e-4, atol=1e-4 * np.abs(b[0]).max())


@pytest.mark.slow
def test_seeds_differ():
    state, _ = run(AGENT, ENV, start(keys(5, 6)), 10)
    weights = state.agent.q.network.layers[0].B_real
    assert not np.array_equal(weights[0], weights[1])


def test_statistics_are_the_sums_over_the_steps():
    state = jax.tree.map(lambda leaf: leaf[0], start(keys(0)))
    one = jax.jit(lambda state: step(AGENT, ENV, state))
    returns, lengths, errors, total, length = [], [], [], 0.0, 0
    for _ in range(23):
        before = state
        state, statistics = one(state)
        errors.append(float(statistics.metrics["td_error"]))
        total, length = total + float(state.episode_return - before.episode_return), length + 1
        if statistics.episodes:
            returns.append(float(statistics.returns))
            lengths.append(length)
            length = 0
    assert lengths == [5, 5, 5, 5]
    assert set(returns) <= {-1.0, 1.0}
    _, statistics = run(AGENT, ENV, start(keys(0)), 23)
    assert (statistics.frames[0], statistics.episodes[0]) == (23, 4)
    assert statistics.lengths[0] == 20
    np.testing.assert_allclose(statistics.returns[0], sum(returns), rtol=1e-6)
    np.testing.assert_allclose(statistics.metrics["td_error"][0], sum(errors), rtol=1e-3, atol=1e-4)


def agent_bits(loop, i=0):
    return [leaf[i] for leaf in leaves(loop.agent_state())]


def test_a_seed_is_the_same_in_company_to_the_bit():
    agent, env = QRC(network=AGENT.network), MemoryChain(3)
    alone, company = CompiledLoop(agent, env, [5]), CompiledLoop(agent, env, [4, 5, 6])
    one, three = alone.run(60), company.run(60)
    np.testing.assert_array_equal(three.returns[1], one.returns[0])
    for a, b in zip(agent_bits(company, 1), agent_bits(alone), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(agent_bits(company, 0)[0], agent_bits(company, 2)[0])

    later = CompiledLoop(agent, env, [4, 5, 6])
    later.restore(company.save(), "x")
    statistics, expected = later.run(40), company.run(40)
    np.testing.assert_array_equal(statistics.returns, expected.returns)
    for i in range(3):
        for a, b in zip(agent_bits(later, i), agent_bits(company, i), strict=True):
            np.testing.assert_array_equal(a, b)


def test_no_recompilation_for_another_number_of_frames():
    state, _ = run(AGENT, ENV, start(keys(1)), 3)
    compiled = program(AGENT, ENV).compilations()
    for frames in (1, 7, 12):
        state, _ = run(AGENT, ENV, state, frames)
    assert program(AGENT, ENV).compilations() == compiled


@pytest.mark.parametrize("kind", [pytest.param(QRC, marks=pytest.mark.slow), StreamAC])
def test_a_state_made_without_jit_can_be_donated(kind):
    """This environment's state holds one card twice, and outside of jit that is one buffer."""
    agent, env = kind(network=AGENT.network), make("RepeatFirstEasy")

    def begin_without_jit():
        return jax.vmap(lambda key: begin(agent, env, key))(keys(0, 1, 2))

    copied = jax.tree.map(lambda leaf: leaf.copy(), begin_without_jit())
    expected = run(agent, env, copied, 20)
    state, statistics = run(agent, env, begin_without_jit(), 20)
    for a, b in zip(leaves((state, statistics)), leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_buffer_is_copied_only_where_it_is_shared():
    x, key = jnp.arange(3.0), jax.random.key(0)
    alias = jax.device_put(x, x.device)  # another array, the same buffer
    tree = {"a": x, "b": x, "c": alias, "d": jnp.ones(3), "e": key, "f": key}
    own = own_buffers(tree)
    pointers = [leaf.unsafe_buffer_pointer() for leaf in own.values()]
    assert len(set(pointers)) == len(tree)
    assert own["a"] is x
    assert own["d"] is tree["d"]
    for a, b in zip(leaves(own), leaves(tree), strict=True):
        np.testing.assert_array_equal(a, b)
    assert own_buffers(own) is own
    jax.jit(own_buffers)(tree)  # arrays without a buffer are left to jit


def test_an_agent_of_rollouts_is_told_where_to_go():
    with pytest.raises(ValueError, match=r"PPO learns from rollouts.* make_loop"):
        begin(PPO(network=AGENT.network), ENV, jax.random.key(0))


@pytest.mark.parametrize("length", [0, -2])
def test_a_chain_without_length_is_refused(length):
    with pytest.raises(ValueError, match="at least 1"):
        MemoryChain(length)


@pytest.mark.parametrize("agent", [pytest.param(QRC, marks=pytest.mark.slow), StreamAC])
def test_arrays_that_no_frame_uses_do_not_trouble_the_compiler(agent):
    """Without normalisation, its statistics are carried and never read: XLA used to abort."""
    how = {"normalise_observations": False, "normalise_rewards": False}
    plain = agent(network=Architecture(cell=RTU(3), width=4), **how)
    statistics = CompiledLoop(plain, ENV, [0]).run(20)
    assert int(statistics.frames[0]) == 20
    assert int(statistics.diverged[0]) == 0
