"""The loop: the same bits twice, seeds that do not depend on their company, tallies that add up."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import QRC
from rillax.envs import MemoryChain
from rillax.loops.compiled import begin, go_on, live, loop, no_tally, step
from rillax.networks import Architecture

AGENT = QRC(network=Architecture(width=8, hidden=6), q_step_size=1e-2, epsilon_frames=200)
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


def test_the_whole_loop_is_one_kernel_where_the_environment_is_ours():
    live(AGENT, ENV, start(keys(3)), 1)
    assert loop(AGENT, ENV).forms_left == 3  # none was refused, the fastest least of all


def test_the_same_seed_gives_the_same_bits():
    first, second = (live(AGENT, ENV, start(keys(3)), 700) for _ in range(2))
    for a, b in zip(leaves(first), leaves(second), strict=True):
        np.testing.assert_array_equal(a, b)


def test_any_cut_into_calls_gives_the_same_bits():
    whole = live(AGENT, ENV, start(keys(3)), 700)
    life, tally = start(keys(3)), no_tally(AGENT, ENV, 1)
    for frames in (1, 250, 449):
        life, tally = go_on(AGENT, ENV, life, tally, frames)
    for a, b in zip(leaves(whole), leaves((life, tally)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_seed_in_company_gives_what_it_gives_alone(x64):
    """In double precision, so that learning does not blow rounding up into a difference."""
    together, tally = live(AGENT, ENV, start(keys(5, 6, 7)), 500)
    for i, seed in enumerate((5, 6, 7)):
        alone, tally_alone = live(AGENT, ENV, start(keys(seed)), 500)
        np.testing.assert_array_equal(tally.returns[i], tally_alone.returns[0])
        for a, b in zip(leaves(together), leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b[0], rtol=1e-9, atol=1e-9 * np.abs(b[0]).max())


def test_a_seed_in_company_gives_what_it_gives_alone_in_single_precision():
    """Over a stretch that is short enough for rounding to stay rounding."""
    together, _ = live(AGENT, ENV, start(keys(5, 6, 7)), 40)
    for i, seed in enumerate((5, 6, 7)):
        alone, _ = live(AGENT, ENV, start(keys(seed)), 40)
        for a, b in zip(leaves(together), leaves(alone), strict=True):
            np.testing.assert_allclose(a[i], b[0], rtol=1e-4, atol=1e-4 * np.abs(b[0]).max())


def test_seeds_differ():
    life, _ = live(AGENT, ENV, start(keys(5, 6)), 10)
    weights = life.agent.q.network.cell.B_real
    assert not np.array_equal(weights[0], weights[1])


def test_a_tally_is_the_sum_of_its_steps():
    life = jax.tree.map(lambda leaf: leaf[0], start(keys(0)))
    one = jax.jit(lambda life: step(AGENT, ENV, life))
    returns, lengths, errors, total, length = [], [], [], 0.0, 0
    for _ in range(23):
        before = life
        life, tally = one(life)
        errors.append(float(tally.metrics["td_error"]))
        total, length = total + float(life.episode_return - before.episode_return), length + 1
        if tally.episodes:
            returns.append(float(tally.returns))
            lengths.append(length)
            length = 0
    assert lengths == [5, 5, 5, 5]
    assert set(returns) <= {-1.0, 1.0}
    _, tally = live(AGENT, ENV, start(keys(0)), 23)
    assert (tally.frames[0], tally.episodes[0]) == (23, 4)
    assert tally.lengths[0] == 20
    np.testing.assert_allclose(tally.returns[0], sum(returns), rtol=1e-6)
    np.testing.assert_allclose(tally.metrics["td_error"][0], sum(errors), rtol=1e-3, atol=1e-4)


def test_no_recompilation_for_another_number_of_frames():
    life, _ = live(AGENT, ENV, start(keys(1)), 3)
    compiled = loop(AGENT, ENV).compilations()
    for frames in (1, 7, 12):
        life, _ = live(AGENT, ENV, life, frames)
    assert loop(AGENT, ENV).compilations() == compiled


@pytest.mark.parametrize("length", [0, -2])
def test_a_chain_without_length_is_refused(length):
    with pytest.raises(ValueError, match="at least 1"):
        MemoryChain(length)
