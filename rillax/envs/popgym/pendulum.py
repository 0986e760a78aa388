"""Pendulum with its speed hidden, and with noise on its position.

The physics is Gymnasium's.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from rillax.envs import environment, spaces

WORST = -16.2736044
"""The reward of the worst state and action of Pendulum, by which the reference scales."""


@environment.dataclass
class EnvState(environment.EnvState):
    """The angle from upright, how fast it changes, and the torque that was applied last."""

    theta: Float[Array, ""]
    theta_dot: Float[Array, ""]
    last_u: Float[Array, ""]


@environment.dataclass
class EnvParams(environment.EnvParams):
    """The constants of Gymnasium's Pendulum, by its names."""

    max_speed: float = 8.0
    max_torque: float = 2.0
    dt: float = 0.05
    g: float = 10.0
    m: float = 1.0
    l: float = 1.0  # noqa: E741
    max_steps_in_episode: int = 200


class PositionOnlyPendulum(environment.Environment[EnvState, EnvParams]):
    """Swing a pendulum up and hold it there, seeing where it is but not how fast it turns.

    A step pays Pendulum's reward, moved and scaled from [-16.27, 0] to [-1, 1], over
    ``max_episode_length``. The game never ends by itself; it is cut off after
    ``max_episode_length`` steps. The action is a torque in [-2, 2]; the observation is the angle's
    cosine and sine.
    """

    obs_requires_prev_action = False
    _supports_transition_gradients = True

    def __init__(self, max_episode_length: int = 200):
        self.max_episode_length = max_episode_length

    @property
    def default_params(self) -> EnvParams:
        return EnvParams(max_steps_in_episode=self.max_episode_length)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, "2"], EnvState]:
        key_state, key_noise = jax.random.split(key)
        most = jnp.array([jnp.pi, 1])
        theta, theta_dot = jax.random.uniform(key_state, (2,), minval=-most, maxval=most)
        state = EnvState(
            time=jnp.int32(0), theta=theta, theta_dot=theta_dot, last_u=jnp.zeros_like(theta)
        )
        return self.observe(key_noise, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Float[Array, "1"], params: Any
    ) -> tuple:
        torque = jnp.asarray(action, state.theta.dtype).reshape(())
        torque = jnp.clip(torque, -params.max_torque, params.max_torque)
        reward = (_reward(state, torque) / (-WORST / 2) + 1) / self.max_episode_length
        theta_dot = state.theta_dot + _acceleration(state, torque, params) * params.dt
        theta_dot = jnp.clip(theta_dot, -params.max_speed, params.max_speed)
        theta = state.theta + theta_dot * params.dt
        state = self.detach(
            EnvState(time=state.time + 1, theta=theta, theta_dot=theta_dot, last_u=torque)
        )
        observation = self.observe(key, state, action, params)
        terminated = self.is_terminated(state, params)
        info = {"discount": self.discount(state, params)}
        return observation, state, reward.astype(jnp.float32), terminated, info

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, "2"]:
        return jnp.stack([jnp.cos(state.theta), jnp.sin(state.theta)]).astype(jnp.float32)

    def decode(self, observation: Float[Array, "2"]) -> Float[Array, "2"]:
        """The reference's raw observation, which this is."""
        return observation

    def is_terminated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        return jnp.array(False)

    def action_space(self, params: Any = None) -> spaces.Box:
        torque = (params or self.default_params).max_torque
        return spaces.Box(-torque, torque, (1,), jnp.float32)

    def observation_space(self, params: Any = None) -> spaces.Box:
        return spaces.Box(-1.0, 1.0, (2,), jnp.float32)

    def state_space(self, params: Any = None) -> spaces.Dict:
        most = float(jnp.finfo(jnp.float32).max)
        numbers = dict.fromkeys(
            ("theta", "theta_dot", "last_u"), spaces.Box(-most, most, (), jnp.float32)
        )
        steps = (params or self.default_params).max_steps_in_episode
        return spaces.Dict({**numbers, "time": spaces.Discrete(steps)})


class NoisyPositionOnlyPendulum(PositionOnlyPendulum):
    """PositionOnlyPendulum seen through Gaussian noise, clipped to the observation space."""

    def __init__(self, noise_sigma: float = 0.1, max_episode_length: int = 200):
        super().__init__(max_episode_length)
        self.noise_sigma = noise_sigma

    def observe(
        self, key: PRNGKeyArray, state: EnvState, action: Any, params: Any
    ) -> Float[Array, "2"]:
        noise = self.noise_sigma * jax.random.normal(key, (2,), jnp.float32)
        return jnp.clip(super().observe(key, state, action, params) + noise, -1.0, 1.0)


def _reward(state: EnvState, torque: Float[Array, ""]) -> Float[Array, ""]:
    """Pendulum's own: nothing for standing upright and still, less for anything else."""
    angle = (state.theta + math.pi) % (2 * math.pi) - math.pi
    return -(angle**2 + 0.1 * state.theta_dot**2 + 0.001 * torque**2)


def _acceleration(state: EnvState, torque: Float[Array, ""], params: EnvParams) -> Float[Array, ""]:
    """Of the angle: what gravity does to a rod held at one end, and what the torque does."""
    falling = 3 * params.g / (2 * params.l) * jnp.sin(state.theta)
    return falling + 3.0 / (params.m * params.l**2) * torque
