"""CartPole and Pendulum against the reference, step for step.

The reference computes in double precision and shows single. Ours computes in whatever JAX is set
to: episodes are compared in double precision, so that nothing but the last bit may differ, and
single steps in single precision, which agents use.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax._jax import enable_x64
from rillax.envs import make
from rillax.envs.popgym import GAMES

from .documented import read_tables
from .reference import make_reference, replay
from .rollouts import play
from .test_popgym import estimate

EPISODES = 30
"""By each player of each game; the reference is slow here, and every step is alike."""

NAMES = [name for name in GAMES if "CartPole" in name or "Pendulum" in name]


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def episodes(name):
    with enable_x64(True):
        return play(name, EPISODES)


def test_every_step_is_the_references(name, episodes):
    reference = make_reference(name)
    for batch in episodes.values():
        assert len(batch.actions) == EPISODES
        for i, length in enumerate(batch.lengths):
            theirs = replay(reference, batch, i)
            assert len(theirs.rewards) == length
            np.testing.assert_allclose(batch.seen[i, : length + 1], theirs.seen, atol=2e-7)
            np.testing.assert_allclose(batch.rewards[i, :length], theirs.rewards, atol=1e-9)
            np.testing.assert_array_equal(batch.terminated[i, :length], theirs.terminated)
            np.testing.assert_array_equal(batch.truncated[i, :length], theirs.truncated)


def test_returns_are_those_documented(name, episodes):
    row = read_tables()[name]
    for policy, documented in (("random", row.random), ("perfect", row.perfect)):
        measured = estimate(episodes[policy].returns)
        assert measured.agrees_with(documented), (policy, measured, documented)


def test_the_documented_sizes_are_true(name):
    row = read_tables()[name]
    env = make(name)
    assert row.steps == env.default_params.max_steps_in_episode
    assert row.actions == ("2" if "CartPole" in name else "[-2, 2]")
    assert (row.observation,) == env.observation_space(env.default_params).shape


def single_steps(env, fields, actions):
    """One step of ours, in single precision, from each of many states."""
    params = env.default_params
    _, state = env.reset(jax.random.key(0), params)

    def step(fields, action):
        before = state.replace(time=jnp.int32(5), **fields)
        return env.step_env(jax.random.key(0), before, action, params)

    seen, _, rewards, terminated, _ = jax.jit(jax.vmap(step))(fields, actions)
    return np.asarray(seen), np.asarray(rewards), np.asarray(terminated)


@pytest.mark.parametrize("name", ["PositionOnlyCartPoleEasy", "VelocityOnlyCartPoleMedium"])
def test_a_step_in_single_precision_is_cartpoles(name):
    rng = np.random.default_rng(0)
    env, reference = make(name), make_reference(name)
    size = np.array([2.6, 3.0, 0.25, 3.0])  # past the limits of position and angle
    states = rng.uniform(-size, size, (1000, 4)).astype(np.float32)
    actions = rng.integers(2, size=1000)
    fields = dict(zip(("x", "x_dot", "theta", "theta_dot"), states.T, strict=True))
    seen, rewards, terminated = single_steps(env, fields, actions)
    assert 100 < terminated.sum() < 900
    for i, state in enumerate(states):
        reference.reset(seed=0)
        reference.state = state.astype(np.float64)
        theirs = reference.step(int(actions[i]))
        np.testing.assert_allclose(seen[i], theirs[0], atol=1e-6)
        np.testing.assert_allclose(rewards[i], theirs[1], rtol=1e-6)
        assert terminated[i] == theirs[2]


def test_a_step_in_single_precision_is_pendulums():
    rng = np.random.default_rng(0)
    env, reference = make("PositionOnlyPendulumHard"), make_reference("PositionOnlyPendulumHard")
    size = np.array([10.0, 8.0])
    states = rng.uniform(-size, size, (1000, 2)).astype(np.float32)
    actions = rng.uniform(-3, 3, (1000, 1)).astype(np.float32)
    fields = dict(zip(("theta", "theta_dot"), states.T, strict=True))
    seen, rewards, terminated = single_steps(env, fields, actions)
    for i, state in enumerate(states):
        reference.reset(seed=0)
        reference.state = state.astype(np.float64)
        theirs = reference.step(actions[i])
        np.testing.assert_allclose(seen[i], theirs[0], atol=2e-6)
        np.testing.assert_allclose(rewards[i], theirs[1], atol=1e-7)
    assert not terminated.any()
