"""Pendulum with its speed hidden, and with noise on its position.

The physics is gymnax's, which is Gymnasium's.
"""

from typing import Any

import jax
import jax.numpy as jnp
from gymnax.environments import spaces
from gymnax.environments.classic_control import pendulum
from jaxtyping import Array, Float, PRNGKeyArray

WORST = -16.2736044
"""The reward of the worst state and action of Pendulum, by which the reference scales."""


class PositionOnlyPendulum(pendulum.Pendulum):
    """Swing a pendulum up and hold it there, seeing where it is but not how fast it turns.

    A step pays Pendulum's reward, moved and scaled from [-16.27, 0] to [-1, 1], over
    ``max_episode_length``. The game never ends by itself; it is cut off after
    ``max_episode_length`` steps. The action is a torque in [-2, 2]; the observation is the angle's
    cosine and sine.
    """

    obs_requires_prev_action = False

    def __init__(self, max_episode_length: int = 200):
        super().__init__()
        self.max_episode_length = max_episode_length

    @property
    def default_params(self) -> pendulum.EnvParams:
        return pendulum.EnvParams(max_steps_in_episode=self.max_episode_length)

    def reset_env(
        self, key: PRNGKeyArray, params: Any
    ) -> tuple[Float[Array, "2"], pendulum.EnvState]:
        key_state, key_noise = jax.random.split(key)
        _, state = super().reset_env(key_state, params)
        state = state.replace(time=jnp.int32(0), last_u=jnp.zeros_like(state.theta))
        return self.observe(key_noise, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: pendulum.EnvState, action: Float[Array, "1"], params: Any
    ) -> tuple:
        action = jnp.asarray(action, state.theta.dtype)
        _, state, reward, terminated, info = super().step_env(key, state, action, params)
        reward = (reward / (-WORST / 2) + 1) / self.max_episode_length
        observation = self.observe(key, state, action, params)
        return observation, state, reward.astype(jnp.float32), terminated, info

    def observe(
        self, key: Any, state: pendulum.EnvState, action: Any, params: Any
    ) -> Float[Array, "2"]:
        return jnp.stack([jnp.cos(state.theta), jnp.sin(state.theta)]).astype(jnp.float32)

    def decode(self, observation: Float[Array, "2"]) -> Float[Array, "2"]:
        """The reference's raw observation, which this is."""
        return observation

    def observation_space(self, params: Any = None) -> spaces.Box:
        return spaces.Box(-1.0, 1.0, (2,), jnp.float32)

    @property
    def name(self) -> str:
        return type(self).__name__


class NoisyPositionOnlyPendulum(PositionOnlyPendulum):
    """PositionOnlyPendulum seen through Gaussian noise, clipped to the observation space."""

    def __init__(self, noise_sigma: float = 0.1, max_episode_length: int = 200):
        super().__init__(max_episode_length)
        self.noise_sigma = noise_sigma

    def observe(
        self, key: PRNGKeyArray, state: pendulum.EnvState, action: Any, params: Any
    ) -> Float[Array, "2"]:
        noise = self.noise_sigma * jax.random.normal(key, (2,), jnp.float32)
        return jnp.clip(super().observe(key, state, action, params) + noise, -1.0, 1.0)
