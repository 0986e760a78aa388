"""Bad input of every kind: ``BadInput``, before anything changes. It is the table in the docs."""

import fractions
from pathlib import Path

import gymnasium as gym
import jax
import numpy as np
import pytest

from rillax import BadInput, Learner
from rillax.agents import TD, StreamAC
from rillax.cells import RTU
from rillax.loops.host import HostLoop
from rillax.loops.inputs import as_observation
from rillax.loops.learner import NotFinite
from rillax.networks import Architecture

SMALL = Architecture(cell=RTU(5), width=6)
BOX, TWO, FOUR = gym.spaces.Box(-1, 1, (3,)), gym.spaces.Discrete(2), gym.spaces.Discrete(4)


class Strange:
    def __array__(self, *_, **__):
        raise RuntimeError("no")


OBSERVATIONS = [
    *(None, "abc", b"abc", ["a", "b", "c"], [1j, 0, 0], [1, 2], [[1, 2, 3]], 1.0, {}, Strange()),
    *([None, 1, 2], [10**400, 0, 0], [[1], [2, 3]], np.array([1, 2, 3], "M8[s]"), object()),
    np.ma.array([1, 2, 3], mask=[0, 1, 0]),
]
NOT_FINITE = [[0, np.nan, 0], [0, np.inf, 0], [0, 1e300, 0]]
DISCRETE = [
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
    *(np.datetime64("2020-01-01"), np.ma.masked),
]
REWARDS_NOT_FINITE = [np.nan, np.inf, 1e300]
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


POLICIES = ["raise", "skip"]


def make(policy, space=BOX, agent=None):
    agent = StreamAC(network=SMALL) if agent is None else agent
    learner = Learner(agent, space, TWO, on_bad_input=policy)
    zeros = 0 if space is FOUR else np.zeros(3)
    learner.act(zeros)
    learner.learn(0.0, zeros)
    return learner


@pytest.fixture(scope="module")
def learners():
    """One for each way to treat bad input; each has taken a step."""
    return {policy: make(policy) for policy in POLICIES}


# ---- the table in docs/learner.md: what is tried of each row, with both policies


def observations(learners):
    for policy, learner in learners.items():
        for wrong in OBSERVATIONS:
            refused(learner, lambda learner=learner, wrong=wrong: learner.act(wrong))
        learner.act(np.zeros(3))
        for wrong in OBSERVATIONS:
            refused(learner, lambda learner=learner, wrong=wrong: learner.learn(0.0, wrong))
        learner.learn(0.0, np.zeros(3))
        discrete = make(policy, FOUR)
        discrete.act(0)
        for wrong in DISCRETE:
            refused(discrete, lambda discrete=discrete, wrong=wrong: discrete.act(wrong))
            refused(discrete, lambda discrete=discrete, wrong=wrong: discrete.learn(0.0, wrong))
        discrete.learn(0.0, np.int64(3))
        discrete.act(3.0)


def rewards(learners):
    for learner in learners.values():
        learner.act(np.zeros(3))
        for wrong in REWARDS:
            refused(learner, lambda learner=learner, wrong=wrong: learner.learn(wrong, np.zeros(3)))
        learner.learn(np.float64(1), np.zeros(3))


def flags(learners):
    for learner in learners.values():
        learner.act(np.zeros(3))
        for wrong in FLAGS:
            for name in ("terminated", "truncated"):
                how = {name: wrong}
                refused(
                    learner, lambda learner=learner, how=how: learner.learn(0.0, np.zeros(3), **how)
                )
        learner.learn(1.0, np.zeros(3))
        for good in GOOD_FLAGS:
            learner.act(np.zeros(3))
            learner.learn(np.int64(1), [1, 2, 3], terminated=good)
            assert bool(learner.state.fresh) == bool(good)


def out_of_order(learners):
    for policy, learner in learners.items():
        new = Learner(StreamAC(network=SMALL), BOX, TWO, on_bad_input=policy)
        refused(new, lambda new=new: new.learn(0.0, np.zeros(3)))
        with pytest.raises(BadInput, match="learn was called twice"):
            learner.learn(0.0, np.zeros(3))
        refused(learner, lambda learner=learner: learner.learn(0.0, np.zeros(3)))


def not_finite(learners):
    learner = learners["raise"]
    for wrong in NOT_FINITE:
        with pytest.raises(BadInput, match=r"step \d+: the observation is (nan|inf) at feature 1"):
            learner.act(wrong)
        refused(learner, lambda wrong=wrong: learner.act(wrong))
    learner.act(np.zeros(3))
    for wrong in NOT_FINITE:
        refused(learner, lambda wrong=wrong: learner.learn(0.0, wrong))
    for wrong in REWARDS_NOT_FINITE:
        with pytest.raises(BadInput, match=r"step \d+: the reward is (nan|inf)"):
            learner.learn(wrong, np.zeros(3))
        refused(learner, lambda wrong=wrong: learner.learn(wrong, np.zeros(3)))
    learner.learn(0.0, np.zeros(3))
    discrete = make("raise", FOUR)
    for wrong in (np.nan, np.inf):
        refused(discrete, lambda wrong=wrong: discrete.act(wrong))


def not_finite_and_skipped(learners):
    learner = learners["skip"]

    def memory():
        return [np.array(leaf) for leaf in jax.tree.leaves(learner.state.actor.memory)]

    transitions = [(0.0, x) for x in NOT_FINITE] + [(r, np.zeros(3)) for r in REWARDS_NOT_FINITE]
    for reward, after in transitions:
        learner.act(np.ones(3))
        before, steps, skipped = memory(), learner.state.step, learner.skipped
        learner.learn(reward, after)
        assert (learner.skipped, learner.state.step) == (skipped + 1, steps)
        for a, b in zip(memory(), before, strict=True):
            np.testing.assert_array_equal(a, b)
    for wrong in NOT_FINITE:
        last = learner.act(np.ones(3))
        assert learner.act(wrong) == last
    learner.learn(0.0, np.zeros(3))


def a_signal_too_large(learners):
    del learners
    for policy in POLICIES:
        learner = make(policy, agent=TD(network=SMALL))
        learner.act(np.zeros(3))
        if policy == "raise":
            with pytest.raises(NotFinite):
                learner.learn(2e12, np.zeros(3))
        else:
            learner.learn(2e12, np.zeros(3))
        assert (learner.skipped, learner.step, learner.state.step) == (1, 2, 1)


def large(learners):
    for learner in learners.values():
        skipped, steps = learner.skipped, learner.state.step
        for number in (1e20, -3e38):
            learner.act([0, number, 0])
            assert np.abs(learner.state.observation).max() <= learner.agent.input_bound
            learner.learn(number, [number, 0, 0])
        assert (learner.skipped, learner.state.step) == (skipped, steps + 2)


TRIED = {
    "an observation of the wrong shape": observations,
    "a reward that is not one number": rewards,
    "`terminated` or `truncated`": flags,
    "`learn` before `act`": out_of_order,
    "NaN or infinite observation or reward": not_finite,
    "the same, with `on_bad_input": not_finite_and_skipped,
    "a transition that would make the agent infinite": a_signal_too_large,
    "a finite number, however large": large,
    "a signal of more than 1e12": a_signal_too_large,
}


def rows():
    """What comes in, of each row of the table."""
    text = (Path(__file__).parents[2] / "docs" / "learner.md").read_text()
    table = text.partition("## Bad input")[2].partition("`BadInput` is raised before")[0]
    lines = [line for line in table.splitlines() if line.startswith("| ")]
    return [line.split("|")[1].strip() for line in lines[2:]]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[:40])
def test_every_row_of_the_table(row, learners):
    (attempt,) = (attempt for start, attempt in TRIED.items() if row.startswith(start))
    attempt(learners)


def test_the_table_has_every_row():
    assert len(rows()) == len(TRIED)


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
