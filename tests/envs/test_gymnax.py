"""Ours in gymnax's tools, gymnax's in our loops."""

import gymnasium
import gymnax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnax.environments.classic_control import cartpole, pendulum
from gymnax.experimental import RolloutWrapper
from gymnax.wrappers import (
    FlattenObservationWrapper,
    GymnaxToDmEnvWrapper,
    GymnaxToGymWrapper,
    LogWrapper,
    StickyActionWrapper,
)

from rillax.agents import QRC
from rillax.cells import RTU
from rillax.envs import check, is_gymnasium, make, names, others
from rillax.envs.gymnax_adapter import GymnaxAdapter
from rillax.loops import make_loop
from rillax.networks import Architecture

from .rollouts import quick_jit, unroll


def test_gymnaxes_log_counts_our_episodes():
    env = LogWrapper(make("MemoryChain", length=2))
    params = env.default_params
    _, state = env.reset(jax.random.key(0), params)
    for t in range(6):
        cue = state.env_state.context[0]
        _, state, *_, info = env.step(jax.random.key(t), state, cue, params)
        assert info["returned_episode"] == (t % 3 == 2)
    assert info["returned_episode_returns"] == 1
    assert info["returned_episode_lengths"] == 3


def test_gymnaxes_rollouts_play_our_game():
    rollouts = RolloutWrapper(env=make("RepeatFirstEasy"), num_env_steps=51)
    keys = jax.random.split(jax.random.key(0), 4)
    observations, actions, rewards, _, done, returns = rollouts.batch_rollout(keys, None)
    assert observations.shape == (4, 51, 4)
    assert set(np.unique(actions)) == {0, 1, 2, 3}
    np.testing.assert_array_equal(done, np.tile(np.arange(51) == 50, (4, 1)))
    np.testing.assert_allclose(returns[:, 0], rewards.sum(axis=1), rtol=1e-5)


def test_gymnaxes_dm_env_plays_our_game():
    env = GymnaxToDmEnvWrapper(make("KMemoryChain", memory=1, episode_length=3))
    step = env.reset(jax.random.key(0))
    discounts = []
    for t in range(3):
        step = env.step(jax.random.key(t), step, 0)
        discounts.append(float(step.discount))
    assert discounts == [1, 1, 0]


def test_what_looks_at_the_class_of_a_space_takes_the_adapter():
    adapter = GymnaxAdapter(make("AutoencodeEasy"))
    env = GymnaxToGymWrapper(adapter)
    assert env.action_space == gymnasium.spaces.Discrete(4)
    assert env.observation_space.shape == (6,)
    observation, _ = env.reset(seed=1)
    assert env.observation_space.contains(np.asarray(observation))

    flat = FlattenObservationWrapper(StickyActionWrapper(adapter, sticky_action_prob=0.5))
    assert flat.observation_space(flat.default_params).shape == (6,)
    _, state = flat.reset(jax.random.key(0))
    flat.step(jax.random.key(1), state, 2)
    assert set(adapter.state_space().spaces) == {"time", "cards", "left"}


def test_an_environment_of_gymnaxes_runs_in_our_loop():
    agent = QRC(network=Architecture(cell=RTU(6), width=8))
    loop = make_loop(agent, make("CartPole-v1"), [0])
    statistics = loop.run(60)
    assert statistics.frames[0] == 60
    assert statistics.episodes[0] >= 1


@pytest.mark.parametrize(
    ("name", "theirs", "module"),
    [
        ("PositionOnlyCartPoleEasy", cartpole.CartPole(), cartpole),
        ("PositionOnlyPendulumEasy", pendulum.Pendulum(), pendulum),
    ],
)
def test_the_physics_is_gymnaxes_to_the_bit(name, theirs, module):
    ours, params = make(name), module.EnvParams(max_steps_in_episode=200)
    _, start = ours.reset(jax.random.key(3))
    keys = jax.random.split(jax.random.key(4), 60)
    actions = jax.vmap(ours.action_space().sample)(keys)

    def states(env, params, state):
        def step(state, given):
            key, action = given
            _, state, _, terminated, _ = env.step_env(key, state, action, params)
            return state, (vars(state), terminated)

        return quick_jit(jax.lax.scan, static_argnums=0)(step, state, (keys, actions))[1]

    one = states(ours, ours.default_params, start)
    other = states(theirs, params, module.EnvState(**vars(start)))
    assert one[1].any() == (name == "PositionOnlyCartPoleEasy")
    jax.tree.map(np.testing.assert_array_equal, one, other)


def test_names_that_both_have_are_gymnaxes():
    assert set(others.SHARED) == set(gymnax.registered_envs) & set(gymnasium.registry)
    for name in others.SHARED:
        assert name in names()
        assert not is_gymnasium(name)
        assert is_gymnasium(f"gymnasium:{name}")


def test_an_environment_registered_with_gymnax_is_known(monkeypatch):
    monkeypatch.setattr(gymnax.registration, "_registry", dict(gymnax.registration._registry))
    monkeypatch.setattr(gymnax, "registered_envs", [*gymnax.registered_envs, "Mine"])
    gymnax.registration._registry["Mine"] = cartpole.CartPole
    check("Mine")
    assert make("Mine").action_space().n == 2
    with pytest.raises(ValueError, match="Mine has no setting 'size'; it has none"):
        make("Mine", size=3)


def test_gradients_go_through_our_pendulum_as_through_theirs():
    def slope(env):
        _, state = env.reset(jax.random.key(0))

        def angle(action):
            return env.step_env(jax.random.key(1), state, action, env.default_params)[1].theta_dot

        return float(jax.grad(angle)(jnp.float32(0.5)))

    env = make("PositionOnlyPendulumEasy")
    assert slope(env) == 0
    assert slope(env.with_transition_gradients()) != 0
    assert not env.transition_gradients_enabled


def test_a_rollout_of_gymnaxes_is_what_it_was():
    """Through our ``make``, an environment of gymnax's is gymnax's own."""
    ours, theirs = make("Catch-bsuite"), gymnax.make("Catch-bsuite")[0]
    keys = jax.random.split(jax.random.key(0), 30)
    actions = np.random.default_rng(0).integers(3, size=30)
    jax.tree.map(
        np.testing.assert_array_equal, unroll(ours, keys, actions), unroll(theirs, keys, actions)
    )
