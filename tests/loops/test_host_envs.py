"""Gymnasium environments on the host, without an agent."""

import gymnasium as gym
import numpy as np
import pytest

from rillax.loops import BadInput
from rillax.loops.host_envs import DIVERGED, HostEnvironments, transition
from tests.loops.test_host import Stream

NOTHING = {DIVERGED: np.zeros(2)}


class Numbers(gym.Env):
    """Discrete spaces that do not begin at zero; the observation is the last action."""

    observation_space = gym.spaces.Discrete(3, start=7)
    action_space = gym.spaces.Discrete(2, start=5)

    def __init__(self):
        self.seeds, self.actions = [], []

    def reset(self, *, seed=None, options=None):
        self.seeds.append(seed)
        return 7, {}

    def step(self, action):
        self.actions.append(int(action))
        return 7 + (action - 5), float(action), False, len(self.actions) % 2 == 0, {}


def statistics(envs):
    found = envs.statistics(NOTHING)
    return [np.asarray(x).tolist() for x in (*found[:4], found.metrics["skipped"])]


def test_each_environment_has_a_seed_of_its_own_and_each_seed_its_own_sums():
    made = [Numbers() for _ in range(4)]
    envs = HostEnvironments(made, [3, 4], per_seed=2)
    seeds = [env.seeds[0] for env in made]
    assert (seeds[0], seeds[2]) == (3, 4)
    assert len(set(seeds)) == 4
    assert seeds == [envs.env_seed(i) for i in range(4)]

    envs.step(np.array([0, 1, 1, 1]))
    np.testing.assert_array_equal(transition(envs.outcomes).final, [0, 1, 1, 1])
    envs.step(np.array([0, 0, 1, 1]))
    last = transition(envs.outcomes)
    np.testing.assert_array_equal(last.reward, [5, 5, 6, 6])
    np.testing.assert_array_equal(last.final, [0, 0, 1, 1])
    np.testing.assert_array_equal(last.observation, [0, 0, 0, 0])
    assert last.truncated.all()
    assert not last.terminated.any()
    assert [env.seeds[1:] for env in made] == [[None]] * 4
    assert statistics(envs) == [[4, 4], [2, 2], [21, 24], [4, 4], [0, 0]]
    envs.clear()
    assert statistics(envs) == [[0, 0]] * 5
    assert envs.frame == 4


def test_what_is_not_finite_is_marked_and_counted():
    made = [Stream(), Stream(bad_observation=[2], bad_reward=[5])]
    envs = HostEnvironments(made, [0, 1], "skip")
    usable = []
    for _ in range(6):
        envs.step(np.zeros(2, int))
        usable.append([x[1] for x in envs.inspect()])
        assert np.isfinite(envs.outcomes.observations).all()
        assert np.isfinite(envs.outcomes.numbers).all()
    # The observation after the second step, the two transitions around it, and the fifth reward.
    assert [bool(u[0]) for u in usable] == [True, False, False, True, False, True]
    assert [bool(u[1]) for u in usable] == [True, False, True, True, True, True]
    np.testing.assert_array_equal(envs.statistics(NOTHING).metrics["skipped"], [0, 3])


def test_bad_input_is_named_and_may_be_looked_at_again():
    envs = HostEnvironments([Stream(bad_reward=[2])], [8])
    for _ in range(2):
        envs.step(np.zeros(1, int))
    assert not envs.all_usable()
    for _ in range(2):
        with pytest.raises(BadInput, match="seed 8, frame 2: the reward is inf; nothing was learn"):
            envs.inspect()
    np.testing.assert_array_equal(envs.statistics(NOTHING).metrics["skipped"], [0])


def test_environments_continue_where_they_were_saved():
    def new():
        made = [Stream(bad_observation=[5]) for _ in range(4)]
        return HostEnvironments(made, [3, 4], "skip", per_seed=2)

    def play(envs, steps):
        for _ in range(steps):
            envs.step(np.ones(4, int))
            envs.inspect()

    whole, first, second = new(), new(), new()
    play(whole, 11)
    play(first, 5)
    second.restore(first.save(), "x")
    play(first, 1)  # what was saved does not follow
    play(second, 6)
    saved, expected = second.save(), whole.save()
    assert saved.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(saved[name], expected[name], err_msg=name)
    assert statistics(second) == statistics(whole)
    assert second.frame == 22


def test_misuse_is_named():
    with pytest.raises(ValueError, match="2 environments for each of 2 seeds are needed, got 3"):
        HostEnvironments([Stream()] * 3, [0, 1], per_seed=2)
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        HostEnvironments([Stream()], [0], "ignore")

    class Blind(Stream):
        def reset(self, *, seed=None, options=None):
            return np.full(2, np.nan), {}

    with pytest.raises(BadInput, match="seed 0, frame 0: the observation is nan at feature 0"):
        HostEnvironments([Blind()], [0], "skip")
