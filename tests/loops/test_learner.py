"""A learner beside a stream: the same numbers as in the loop, bad input, saving and loading."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax import BadInput, Learner
from rillax.agents import PPO, QRC, StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture
from rillax.utils.checkpoint import CheckpointError

SMALL = Architecture(cell=RTU(5), width=6)
BOX = gym.spaces.Box(-1, 1, (3,))
TWO = gym.spaces.Discrete(2)


def bits(learner):
    state = learner.state._replace(key=jax.random.key_data(learner.state.key))
    return [np.array(leaf) for leaf in jax.tree.leaves(state)]


def assert_same(a, b):
    for x, y in zip(a, b, strict=True):
        np.testing.assert_array_equal(x, y)


def stream(learner, steps, seed=0):
    """A stream that does not depend on the actions, with episodes of five steps."""
    rng = np.random.default_rng(seed)
    actions = []
    observation = rng.normal(size=3)
    for t in range(steps):
        actions.append(np.array(learner.act(observation)))
        observation = rng.normal(size=3)
        learner.learn(rng.normal(), observation, terminated=t % 5 == 4, truncated=False)
    return actions


@pytest.fixture(scope="module")
def learner():
    """One learner for all tests that do not mind its past: compiling takes the time."""
    return Learner(StreamAC(network=SMALL), BOX, TWO, seed=0)


def test_it_is_the_agents_two_functions():
    agent = QRC(network=SMALL)
    learner = Learner(agent, BOX, TWO, seed=3)
    state = jax.jit(lambda key: agent.init(key, BOX, TWO))(jax.random.key(3))
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    for observation in np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32):
        state, action = act(state, observation)
        assert learner.act(observation) == action
        state, metrics = learn(state, jnp.float32(1), observation, False, False)
        learner.learn(1.0, observation)
        np.testing.assert_allclose(learner.metrics["td_error"], metrics["td_error"], 1e-4, 1e-6)


def test_a_loaded_learner_goes_on_to_the_bit(tmp_path):
    box = gym.spaces.Box(-2, np.inf, (2,))
    learner = Learner(StreamAC(network=SMALL), BOX, box, seed=1)
    stream(learner, 12)
    learner.save(tmp_path / "x")
    loaded = Learner.load(tmp_path / "x")
    assert loaded.agent == learner.agent
    assert loaded.action_space == box
    assert loaded.step == 12
    assert_same(bits(loaded), bits(learner))
    assert_same(stream(loaded, 12, seed=5), stream(learner, 12, seed=5))
    assert_same(bits(loaded), bits(learner))


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        ([1.0, np.nan, 0.0], r"step \d+: the observation is nan at feature 1"),
        ([1.0, 0.0, -np.inf], r"the observation is -inf at feature 2"),
        ([1.0, 2.0], r"expected an observation of shape \(3,\), got \(2,\)"),
        (["a", "b", "c"], "must be an array of numbers"),
        ([[1.0], [2.0, 3.0], []], "must be an array of numbers"),
        (None, "must be an array of numbers"),
    ],
)
def test_bad_observations_change_nothing(learner, observation, message):
    stream(learner, 2)
    learner.act(np.zeros(3))
    before, step = bits(learner), learner.step
    with pytest.raises(BadInput, match=message):
        learner.act(observation)
    with pytest.raises(BadInput, match=message.replace("the observation", "the next observation")):
        learner.learn(0.0, observation)
    assert_same(bits(learner), before)
    assert learner.step == step


@pytest.mark.parametrize("reward", [np.nan, np.inf])
def test_bad_rewards_change_nothing(learner, reward):
    stream(learner, 2)
    learner.act(np.zeros(3))
    before = bits(learner)
    with pytest.raises(BadInput, match=r"the reward is (nan|inf); nothing was learned"):
        learner.learn(reward, np.zeros(3))
    assert_same(bits(learner), before)


def test_skipping_drops_the_transition_and_keeps_memory():
    agent = StreamAC(network=SMALL)
    learner = Learner(agent, BOX, TWO, on_bad_input="skip")
    stream(learner, 3)
    action = learner.act(np.ones(3))
    before = bits(learner)
    learner.learn(np.nan, np.ones(3))  # a bad reward
    assert_same(bits(learner), before)
    assert learner.act([np.nan, 0, 0]) == action  # a bad observation: the last action again
    learner.learn(1.0, np.ones(3))  # and nothing to learn from it
    assert_same(bits(learner), before)
    assert learner.skipped == 2
    assert learner.metrics["skipped"] == 2
    learner.act(np.ones(3))
    learner.learn(np.inf, np.ones(3), terminated=True)  # the episode is over all the same
    assert learner.state.fresh
    stream(learner, 2)
    assert all(np.isfinite(leaf).all() for leaf in bits(learner))


def test_discrete_spaces_may_start_anywhere():
    learner = Learner(
        QRC(network=SMALL), gym.spaces.Discrete(4, start=10), gym.spaces.Discrete(2, start=5)
    )
    assert learner.act(13) in (5, 6)
    for wrong in (9, 14, 11.5):
        with pytest.raises(BadInput, match="expected an observation in"):
            learner.act(wrong)


def test_misuse_is_named(tmp_path):
    learner = Learner(QRC(network=SMALL), BOX, TWO)
    with pytest.raises(ValueError, match="before act"):
        learner.learn(0.0, np.zeros(3))
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        Learner(QRC(network=SMALL), BOX, TWO, on_bad_input="ignore")
    (tmp_path / "x").write_bytes(b"nonsense")
    with pytest.raises(CheckpointError, match="not a rillax checkpoint"):
        Learner.load(tmp_path / "x")


def encoder(key, shape):
    return jnp.tanh


def test_an_encoder_of_ones_own_is_given_again(tmp_path):
    agent = QRC(network=Architecture(cell=RTU(5), width=6, encoder=encoder))
    learner = Learner(agent, BOX, TWO)
    learner.save(tmp_path / "x")
    with pytest.raises(ValueError, match="give the agent itself"):
        Learner.load(tmp_path / "x")
    assert_same(bits(Learner.load(tmp_path / "x", agent)), bits(learner))


def test_the_size_of_a_saved_learner_does_not_grow(tmp_path, learner):
    sizes = []
    for _ in range(2):
        stream(learner, 50)
        learner.save(tmp_path / "x")
        sizes.append((tmp_path / "x").stat().st_size)
    assert abs(sizes[1] - sizes[0]) < 16  # a digit of the step count


def test_an_agent_of_rollouts_cannot_learn_beside_a_stream():
    with pytest.raises(ValueError, match="PPO learns from rollouts"):
        Learner(PPO(network=SMALL), BOX, TWO)
