"""The last action and reward as part of what networks take in."""

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax import Learner
from rillax.agents import PPO, QRC, StreamAC, StreamQ
from rillax.cells import RTU
from rillax.envs import MemoryChain
from rillax.envs.spaces import Box, Discrete
from rillax.loops import make_loop
from rillax.networks import Architecture

SMALL = Architecture(cell=RTU(3), width=4)
BOX = Box(-1.0, 1.0, (2,))
SPACES = {"discrete": Discrete(3), "continuous": Box(-0.5, 0.5, (2,))}
STREAM = [
    # reward, terminated, truncated
    (0.5, False, False),
    (-1.0, False, False),
    (2.0, True, False),
    (0.25, False, False),
    (1.0, False, True),
    (-0.5, False, False),
]


def expected(kind, action, reward):
    """What is added after an action and a scaled reward."""
    taken = np.eye(3)[action] if kind == "discrete" else np.clip(action, -0.5, 0.5)
    return np.append(taken, reward)


@pytest.mark.parametrize(
    ("agent", "kind"),
    [
        (QRC, "discrete"),
        pytest.param(StreamAC, "discrete", marks=pytest.mark.slow),
        (StreamAC, "continuous"),
    ],
)
def test_networks_see_the_last_action_and_the_scaled_reward(agent, kind, x64):
    """Against a second account of the same stream; nothing at the start of an episode."""
    seen = {"previous_action": True, "previous_reward": True, "normalise_previous": False}
    agent = agent(network=SMALL, **seen)
    state = jax.jit(lambda key: agent.init(key, BOX, SPACES[kind]))(jax.random.key(0))
    size = 4 if kind == "discrete" else 3
    assert state.observation.shape == (2 + size,)
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    rng, added, running, returns = np.random.default_rng(0), np.zeros(size), 0.0, []
    for reward, terminated, truncated in STREAM:
        state, _ = act(state, rng.normal(size=2))
        np.testing.assert_allclose(state.observation[2:], added, rtol=1e-9)
        running = 0.99 * running + reward
        returns.append(running)
        scale = np.sqrt((np.var(returns, ddof=1) if len(returns) > 1 else 1.0) + 1e-8)
        state, _ = learn(state, reward, rng.normal(size=2), terminated, truncated)
        added = expected(kind, np.asarray(state.action), reward / scale)
        if terminated or truncated:
            added, running = np.zeros(size), 0.0
        np.testing.assert_allclose(state.added, added, rtol=1e-9)


@pytest.mark.parametrize(
    "agent", [StreamQ, *(pytest.param(a, marks=pytest.mark.slow) for a in (QRC, StreamAC))]
)
def test_it_is_normalised_along_with_the_observation(agent, x64):
    """By the mean and deviation of all that was taken in so far, the newest included."""
    agent = agent(network=SMALL, previous_action=True, previous_reward=True)
    state = jax.jit(lambda key: agent.init(key, BOX, Discrete(3)))(jax.random.key(0))
    act, learn = jax.jit(agent.act), jax.jit(agent.learn)
    rng, taken = np.random.default_rng(0), []
    for reward, terminated, truncated in STREAM:
        observation = rng.normal(size=2)
        taken.append(np.append(observation, state.added))
        state, _ = act(state, observation)
        if len(taken) > 1:
            deviation = np.sqrt(np.var(taken, axis=0, ddof=1) + 1e-8)
            normalised = (taken[-1] - np.mean(taken, axis=0)) / deviation
            np.testing.assert_allclose(state.observation, normalised, rtol=1e-6, atol=1e-9)
        state, _ = learn(state, reward, rng.normal(size=2), terminated, truncated)


def test_the_peek_sees_the_action_just_taken(x64):
    """With an encoder that passes on its inputs, the value of what follows depends on it."""

    def encoder(key, shape):
        return lambda x: x

    network = Architecture(cell=RTU(3), width=4, encoder=encoder)
    agent = StreamAC(network=network, previous_action=True, normalise_rewards=False)
    state = jax.jit(lambda key: agent.init(key, BOX, Discrete(3)))(jax.random.key(0))
    state, _ = jax.jit(agent.act)(state, jnp.ones(2))
    learn, errors = jax.jit(agent.learn), set()
    for action in range(3):
        _, metrics = learn(state._replace(action=jnp.int32(action)), 0.0, jnp.ones(2), False, False)
        errors.add(round(float(metrics["td_error"]), 9))
    assert len(errors) == 3


@pytest.mark.parametrize(
    "agent",
    [
        pytest.param(QRC, marks=pytest.mark.slow),
        StreamAC,
        pytest.param(PPO, marks=pytest.mark.slow),
    ],
)
def test_it_works_in_jax_beside_gymnasium_and_in_a_learner(agent):
    small = {"rollout": 8, "minibatches": 2, "epochs": 1} if agent is PPO else {}
    agent = agent(network=SMALL, previous_action=True, previous_reward=True, **small)
    for env in (MemoryChain(3), lambda: gym.make("CartPole-v1"))[: 1 if small else 2]:
        loop = make_loop(agent, env, [0])
        assert int(loop.run(16).diverged[0]) == 0
        seen = loop.agent_state()
        seen = seen.sample.observation if hasattr(seen, "sample") else seen.observation
        assert seen.shape[-1] == (3 if isinstance(env, MemoryChain) else 4) + 2 + 1
    if not hasattr(agent, "rollout"):
        learner = Learner(agent, gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(3))
        for _ in range(3):
            learner.act(np.ones(2))
            learner.learn(1.0, np.ones(2), False, False)
        assert learner.state.added[-1] != 0


def test_ppo_sees_what_the_streaming_agents_see(x64):
    seen = {"previous_action": True, "previous_reward": True, "normalise_previous": False}
    agent = PPO(network=SMALL, environments=2, **seen)
    state = jax.jit(lambda key: agent.init(key, BOX, Discrete(3)))(jax.random.key(0))
    act, record = jax.jit(agent.act), jax.jit(agent.record)
    yes, no = jnp.array([True, False]), jnp.zeros(2, bool)
    state, actions = act(state, jnp.ones((2, 2)))
    np.testing.assert_array_equal(state.sample.observation[:, 2:], 0)
    state, _, _ = record(state, jnp.array([0.5, 1.0]), jnp.ones((2, 2)), yes, no)
    reward = float(state.sample.reward[1])
    np.testing.assert_array_equal(state.added[0], 0)  # its episode is over
    np.testing.assert_allclose(state.added[1], expected("discrete", actions[1], reward))
    state, _ = act(state, jnp.ones((2, 2)))
    np.testing.assert_allclose(state.sample.observation[:, 2:], state.added)


def test_ppo_normalises_it_along_with_the_observation(x64):
    agent = PPO(network=SMALL, environments=2, previous_action=True, previous_reward=True)
    state = jax.jit(lambda key: agent.init(key, BOX, Discrete(3)))(jax.random.key(0))
    act, record, no = jax.jit(agent.act), jax.jit(agent.record), jnp.zeros(2, bool)
    rng, taken = np.random.default_rng(0), []
    for _ in range(3):
        observations = rng.normal(size=(2, 2))
        taken += list(np.hstack([observations, state.added]))
        state, _ = act(state, observations)
        deviation = np.sqrt(np.var(taken, axis=0, ddof=1) + 1e-8)
        normalised = (np.array(taken[-2:]) - np.mean(taken, axis=0)) / deviation
        np.testing.assert_allclose(state.sample.observation, normalised, rtol=1e-6, atol=1e-9)
        state, _, _ = record(state, rng.normal(size=2), rng.normal(size=(2, 2)), no, no)


def test_pictures_are_refused_with_what_to_do():
    agent = QRC(network=SMALL, previous_action=True)
    with pytest.raises(ValueError, match=r"appended to a vector.*shape \(4, 4, 1\)"):
        agent.init(jax.random.key(0), Box(0.0, 1.0, (4, 4, 1)), Discrete(2))
