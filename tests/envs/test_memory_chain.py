"""MemoryChain against bsuite's, step for step."""

import jax
import numpy as np
import pytest
from bsuite.environments import memory_chain
from scipy import stats

from rillax.envs import make

from .documented import read_tables
from .rollouts import unroll_many

EPISODES = 200


def play(length, seed=0):
    """Three times 200 episodes: of random, right and wrong answers."""
    env = make("MemoryChain", length=length)
    actions = np.random.default_rng(seed).integers(2, size=(3 * EPISODES, length + 1))
    # The cue depends on the seed alone: play once to see it, then again to name it.
    cues = unroll_many(env, actions, seed).start.context
    actions[EPISODES:] = cues[EPISODES:]
    actions[2 * EPISODES :] = 1 - cues[2 * EPISODES :]
    return unroll_many(env, actions, seed), actions


def replay(length, cue, actions):
    """bsuite's side of an episode."""
    reference = memory_chain.MemoryChain(memory_length=length, seed=0)
    reference.reset()
    reference._context = np.array([cue])
    observations, rewards, ends = [reference._get_observation()[0]], [], []
    for action in actions:
        timestep = reference.step(action)
        observations.append(timestep.observation[0])
        rewards.append(timestep.reward)
        ends.append(timestep.last())
        if timestep.last():
            break
    return observations, rewards, ends


@pytest.mark.parametrize("length", [1, 2, 32])
def test_every_step_is_bsuites(length):
    ours, actions = play(length)
    for i in range(3 * EPISODES):
        observations, rewards, ends = replay(length, ours.start.context[i, 0], actions[i])
        assert len(ends) == length + 1
        seen = [ours.first[i], *ours.final[i]]
        np.testing.assert_allclose(seen, observations, rtol=1e-6, atol=1e-7)
        np.testing.assert_array_equal(ours.rewards[i], rewards)
        np.testing.assert_array_equal(ours.terminated[i], ends)
    assert not ours.truncated.any()
    returns = ours.rewards.sum(axis=1)
    assert set(returns[:EPISODES]) == {-1, 1}
    np.testing.assert_array_equal(returns[EPISODES : 2 * EPISODES], 1)
    np.testing.assert_array_equal(returns[2 * EPISODES :], -1)


def test_both_cues_are_equally_likely():
    env = make("MemoryChain", length=4)
    keys = jax.random.split(jax.random.key(1), 4000)
    _, state = jax.vmap(env.reset, in_axes=(0, None))(keys, env.default_params)
    counts = np.bincount(np.asarray(state.context[:, 0]), minlength=2)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_long_chain_is_not_cut_off():
    steps = unroll_many(make("MemoryChain", length=1500), np.zeros((2, 1501), int))
    np.testing.assert_array_equal(steps.terminated, np.arange(1501) == np.array([[1500]] * 2))
    assert not steps.truncated.any()


def test_a_chain_needs_a_length():
    with pytest.raises(ValueError, match="at least 1"):
        make("MemoryChain", length=0)


def test_it_is_documented():
    row = read_tables()["MemoryChain"]
    env = make("MemoryChain")
    assert row.steps == env.length + 1
    assert row.actions == str(env.num_actions)
    assert (row.observation,) == env.observation_space(env.default_params).shape
    assert row.perfect.mean == 1
    assert abs(row.random.mean) <= 4 * row.random.error
