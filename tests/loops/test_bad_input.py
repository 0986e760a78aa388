"""Bad input of every kind: ``BadInput``, before anything changes. It is the table in the docs."""

import fractions

import gymnasium as gym
import jax
import numpy as np
import pytest

from rillax import BadInput, Learner
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.loops.host import HostLoop
from rillax.loops.inputs import as_observation
from rillax.networks import Architecture

SMALL = Architecture(cell=RTU(5), width=6)
BOX, TWO, FOUR = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2), gym.spaces.Discrete(4)


class Strange:
    def __array__(self, *_, **__):
        raise RuntimeError("no")


OBSERVATIONS = [
    *(None, "abc", b"abc", ["a", "b", "c"], [1j, 0, 0], [1, 2], [[1, 2, 3]], 1.0, {}, Strange()),
    *([None, 1, 2], [10**400, 0, 0], [[1], [2, 3]], np.array([1, 2, 3], "M8[s]"), object()),
    *([np.nan, 0, 0], [0, np.inf, 0], [1e300, 0, 0], np.ma.array([1, 2, 3], mask=[0, 1, 0])),
]
DISCRETE = [
    np.nan,
    np.inf,
    -1,
    4,
    1.5,
    "1",
    None,
    10**400,
    [1],
    1j,
    Strange(),
    fractions.Fraction(1),
]
REWARDS = [
    *(None, "1", b"1", 1j, [1.0], np.ones(1), np.ones((2, 2)), 10**400, {}, Strange(), object()),
    *(np.nan, np.inf, 1e300, np.datetime64("2020-01-01"), np.ma.masked),
]
FLAGS = ["False", "", None, 2, -1, 0.5, np.nan, [True], np.ones(2, bool), 1j, Strange()]
GOOD_FLAGS = [True, np.bool_(True), 1, 1.0, np.array(True), np.array(0)]


def bits(learner):
    state = learner.state._replace(key=jax.random.key_data(learner.state.key))
    numbers = learner.step, learner.skipped, learner._held[0][1].last
    return [np.array(leaf) for leaf in jax.tree.leaves((state, numbers[:2]))], numbers


def assert_same(a, b):
    for x, y in zip(a[0], b[0], strict=True):
        np.testing.assert_array_equal(x, y)
    assert a[1] == b[1]


def refused(learner, call):
    before = bits(learner)
    with pytest.raises(BadInput):
        call()
    assert_same(bits(learner), before)


@pytest.fixture(scope="module")
def learner():
    learner = Learner(StreamAC(network=SMALL), BOX, TWO)
    learner.act(np.zeros(3))
    learner.learn(0.0, np.zeros(3))
    return learner


@pytest.fixture(scope="module")
def discrete():
    learner = Learner(StreamAC(network=SMALL), FOUR, TWO)
    learner.act(0)
    return learner


def test_observations(learner):
    for wrong in OBSERVATIONS:
        refused(learner, lambda wrong=wrong: learner.act(wrong))
    learner.act(np.zeros(3))
    for wrong in OBSERVATIONS:
        refused(learner, lambda wrong=wrong: learner.learn(0.0, wrong))
    learner.learn(0.0, np.zeros(3))


def test_discrete_observations(discrete):
    for wrong in DISCRETE:
        refused(discrete, lambda wrong=wrong: discrete.act(wrong))
        refused(discrete, lambda wrong=wrong: discrete.learn(0.0, wrong))
    discrete.learn(0.0, np.int64(3))
    discrete.act(3.0)


class Broken(dict):
    """A mapping that cannot be read, in one way or another."""

    def __init__(self, fails, **items):
        super().__init__(**items)
        self.fails = fails

    def __getitem__(self, name):
        if self.fails == "item":
            raise OSError("the sensor is gone")
        return super().__getitem__(name)

    def __iter__(self):
        if self.fails == "names":
            raise OSError("the sensor is gone")
        return super().__iter__()


@pytest.mark.parametrize("fails", ["item", "names"])
def test_a_mapping_that_cannot_be_read(fails):
    space = gym.spaces.Dict({"x": BOX, "n": FOUR})
    broken = Broken(fails, x=np.zeros(3), n=1)
    with pytest.raises(BadInput, match=r"cannot be read \(OSError: the sensor is gone"):
        as_observation(broken, space)
    whole = Broken(None, x=np.zeros(3), n=1)
    assert as_observation(whole, space).shape == (7,)


def test_rewards_and_flags(learner):
    learner.act(np.zeros(3))
    for wrong in REWARDS:
        refused(learner, lambda wrong=wrong: learner.learn(wrong, np.zeros(3)))
    for wrong in FLAGS:
        refused(learner, lambda wrong=wrong: learner.learn(0.0, np.zeros(3), terminated=wrong))
        refused(learner, lambda wrong=wrong: learner.learn(0.0, np.zeros(3), truncated=wrong))
    learner.learn(np.float64(1), np.zeros(3))
    for good in GOOD_FLAGS:
        learner.act(np.zeros(3))
        learner.learn(np.int64(1), [1, 2, 3], terminated=good)
        assert bool(learner.state.fresh) == bool(good)


def test_learn_twice_and_before_act(learner):
    new = Learner(StreamAC(network=SMALL), BOX, TWO)
    refused(new, lambda: new.learn(0.0, np.zeros(3)))
    learner.act(np.zeros(3))
    learner.learn(0.0, np.zeros(3))
    with pytest.raises(BadInput, match="learn was called twice"):
        learner.learn(0.0, np.zeros(3))
    refused(learner, lambda: learner.learn(0.0, np.zeros(3)))


def test_after_a_skipped_observation_a_good_one_is_not_dropped():
    learner = Learner(StreamAC(network=SMALL), BOX, TWO, on_bad_input="skip")
    learner.act(np.ones(3))
    learner.learn(1.0, np.ones(3))
    learner.act([np.nan, 0, 0])
    learner.act(np.ones(3))  # the sensor is back, before anything was done
    learner.learn(1.0, np.ones(3))
    assert learner.skipped == 0
    assert learner.state.step == 2


class Odd(gym.Env):
    """An environment with a strange answer at some step."""

    observation_space, action_space = FOUR, TWO

    def __init__(self, observation=0, reward=0.0, terminated=False):
        self.answer = observation, reward, terminated
        self.t = 0

    def reset(self, seed=None, options=None):
        return 0, {}

    def step(self, action):
        self.t += 1
        observation, reward, terminated = self.answer if self.t == 3 else (0, 0.0, False)
        return observation, reward, terminated, False, {}


@pytest.mark.parametrize("odd", [{"observation": np.nan}, {"reward": "1"}, {"terminated": "False"}])
def test_environments_are_held_to_it_too(odd):
    loop = HostLoop(StreamAC(network=SMALL), [Odd(**odd)], [0])
    with pytest.raises(BadInput):
        loop.run(5)
