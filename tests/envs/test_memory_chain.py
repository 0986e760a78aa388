"""MemoryChain against bsuite's and gymnax's, step for step."""

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


@pytest.mark.parametrize("length", [1, 2, 7])
def test_every_step_is_gymnaxes_to_the_bit(length):
    gymnax = pytest.importorskip("gymnax")
    """The same keys give the same episodes: states, infos and all, through several resets."""
    ours = make("MemoryChain", length=length)
    theirs, their_params = gymnax.make("MemoryChain-bsuite")
    their_params = their_params.replace(memory_length=length, max_steps_in_episode=length + 2)
    one = ours.reset(jax.random.key(length), ours.default_params)
    other = theirs.reset(jax.random.key(length), their_params)
    assert_same(one, other)
    actions = np.random.default_rng(length).integers(2, size=3 * length + 5)
    for key, action in zip(jax.random.split(jax.random.key(1), actions.size), actions, strict=True):
        one = ours.step(key, one[1], action, ours.default_params)
        other = theirs.step(key, other[1], action, their_params)
        assert_same(one, other)


def assert_same(one, other):
    """The same leaves, by name: values, shapes and types."""
    ours, theirs = map(jax.tree_util.tree_leaves_with_path, (one, other))
    assert [path for path, _ in ours] == [path for path, _ in theirs]
    for (path, a), (_, b) in zip(ours, theirs, strict=True):
        assert (a.shape, a.dtype, a.weak_type) == (b.shape, b.dtype, b.weak_type), path
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes(), path


def test_the_cue_is_in_view_twice():
    """bsuite's observation lags by a step: the first shows the start once more."""
    steps = unroll_many(make("MemoryChain", length=4), np.zeros((1, 5), int))
    cues = [steps.first[0, 2], *steps.final[0, :, 2]]
    assert cues[0] == cues[1]
    np.testing.assert_array_equal(np.abs(cues), [1, 1, 0, 0, 0, 0])


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
