"""KMemoryChain against its rules, written out in plain Python."""

import jax
import numpy as np
import pytest
from scipy import stats

from rillax.envs import KMemoryChain, make

from .documented import read_tables
from .rollouts import unroll_many

EPISODES = 100


@pytest.mark.parametrize(("memory", "length"), [(0, 5), (3, 20), (7, 8), (16, 128)])
def test_the_rules(memory, length):
    env = make("KMemoryChain", memory=memory, episode_length=length)
    actions = np.random.default_rng(0).integers(2, size=(EPISODES, length))
    steps = unroll_many(env, actions)
    for i in range(EPISODES):
        seen = np.array([steps.first[i], *steps.final[i]])
        assert set(seen[:, 0]) <= {-1.0, 1.0}
        np.testing.assert_allclose(seen[:, 1], 1 - np.arange(length + 1) / length, atol=1e-6)
        for t in range(length):
            named = 1.0 if actions[i, t] == 1 else -1.0
            earned = 0.0 if t < memory else (1.0 if named == seen[t - memory, 0] else -1.0)
            assert steps.rewards[i, t] == earned
            assert steps.terminated[i, t] == (t == length - 1)
    assert not steps.truncated.any()


@pytest.mark.parametrize("memory", [1, 50])
def test_a_perfect_player_earns_all_but_the_warm_up(memory):
    env = make("KMemoryChain", memory=memory, episode_length=64)
    # The bits do not depend on the actions: play once to see them, then again to name them.
    shown = unroll_many(env, np.zeros((EPISODES, 64), int))
    seen = np.concatenate([shown.first[:, None], shown.final[:, :-1]], axis=1)
    steps = unroll_many(env, np.roll(seen[:, :, 0] > 0, memory, axis=1).astype(int))
    np.testing.assert_array_equal(steps.rewards.sum(axis=1), 64 - memory)
    np.testing.assert_array_equal(steps.rewards[:, :memory], 0)


def test_bits_are_fair_and_independent():
    steps = unroll_many(make("KMemoryChain", memory=2), np.zeros((200, 128), int))
    bits = (steps.final[:, :, 0] > 0).astype(int)
    words = bits.reshape(-1, 4) @ [8, 4, 2, 1]
    assert stats.chisquare(np.bincount(words, minlength=16)).pvalue > 1e-3
    first = (steps.first[:, 0] > 0).sum()
    assert stats.binomtest(int(first), 200).pvalue > 1e-3


def test_a_lower_limit_on_steps_cuts_an_episode_off():
    env = KMemoryChain(memory=2, episode_length=10)
    params = env.default_params.replace(max_steps_in_episode=4)
    _, state = env.reset(jax.random.key(0), params)
    for t in range(4):
        _, state, _, terminated, truncated, _ = env.step(jax.random.key(t), state, 0, params)
        assert not terminated
        assert truncated == (t == 3)


@pytest.mark.parametrize("memory", [-1, 128])
def test_a_memory_that_does_not_fit_the_episode_is_refused(memory):
    with pytest.raises(ValueError, match="episode length of 128"):
        make("KMemoryChain", memory=memory)


def test_it_is_documented():
    row = read_tables()["KMemoryChain"]
    env = make("KMemoryChain")
    assert row.steps == env.default_params.max_steps_in_episode
    assert row.actions == str(env.num_actions)
    assert (row.observation,) == env.observation_space(env.default_params).shape
    assert row.perfect.mean == row.steps - env.memory
    assert abs(row.random.mean) <= 4 * row.random.error
