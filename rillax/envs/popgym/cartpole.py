"""CartPole with half of its state hidden, and with noise on the rest.

The physics is gymnax's, which is Gymnasium's.
"""

from typing import Any

import jax
import jax.numpy as jnp
from gymnax.environments import spaces
from gymnax.environments.classic_control import cartpole
from jaxtyping import Array, Float, Int, PRNGKeyArray


class PositionOnlyCartPole(cartpole.CartPole):
    """Balance the pole seeing where the cart and the pole are, but not how fast they move.

    Every step pays ``1 / max_episode_length``, the one on which the pole falls included. The game
    ends when the cart leaves the track or the pole tilts past 12 degrees, and is cut off after
    ``max_episode_length`` steps; both may come at once. The observation is the cart's position and
    the pole's angle, as they are.
    """

    obs_requires_prev_action = False

    def __init__(self, max_episode_length: int = 200):
        super().__init__()
        self.max_episode_length = max_episode_length

    @property
    def default_params(self) -> cartpole.EnvParams:
        return cartpole.EnvParams(max_steps_in_episode=self.max_episode_length)

    def reset_env(
        self, key: PRNGKeyArray, params: Any
    ) -> tuple[Float[Array, "2"], cartpole.EnvState]:
        key_state, key_noise = jax.random.split(key)
        _, state = super().reset_env(key_state, params)
        state = state.replace(time=jnp.int32(0))
        return self.observe(key_noise, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: cartpole.EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        _, state, _, terminated, info = super().step_env(key, state, action, params)
        reward = jnp.float32(1 / self.max_episode_length)
        return self.observe(key, state, action, params), state, reward, terminated, info

    def observe(
        self, key: Any, state: cartpole.EnvState, action: Any, params: Any
    ) -> Float[Array, "2"]:
        return jnp.stack([state.x, state.theta]).astype(jnp.float32)

    def decode(self, observation: Float[Array, "2"]) -> Float[Array, "2"]:
        """The reference's raw observation, which this is."""
        return observation

    def observation_space(self, params: Any = None) -> spaces.Box:
        params = params or self.default_params
        high = 2 * jnp.array([params.x_threshold, params.theta_threshold_radians], jnp.float32)
        return spaces.Box(-high, high, (2,), jnp.float32)

    @property
    def name(self) -> str:
        return type(self).__name__


class VelocityOnlyCartPole(PositionOnlyCartPole):
    """Balance the pole seeing how fast the cart and the pole move, but not where they are.

    As PositionOnlyCartPole, with the two velocities for an observation. At the start of an episode
    the reference shows the two positions in their place, and so does this.
    """

    def observe(
        self, key: Any, state: cartpole.EnvState, action: Any, params: Any
    ) -> Float[Array, "2"]:
        positions = jnp.stack([state.x, state.theta])
        velocities = jnp.stack([state.x_dot, state.theta_dot])
        return jnp.where(state.time == 0, positions, velocities).astype(jnp.float32)

    def observation_space(self, params: Any = None) -> spaces.Box:
        return spaces.Box(-jnp.inf, jnp.inf, (2,), jnp.float32)


class NoisyPositionOnlyCartPole(PositionOnlyCartPole):
    """PositionOnlyCartPole seen through Gaussian noise, clipped to the observation space."""

    def __init__(self, noise_sigma: float = 0.1, max_episode_length: int = 200):
        super().__init__(max_episode_length)
        self.noise_sigma = noise_sigma

    def observe(
        self, key: PRNGKeyArray, state: cartpole.EnvState, action: Any, params: Any
    ) -> Float[Array, "2"]:
        noise = self.noise_sigma * jax.random.normal(key, (2,), jnp.float32)
        space = self.observation_space(params)
        return jnp.clip(super().observe(key, state, action, params) + noise, space.low, space.high)
