"""CartPole with half of its state hidden, and with noise on the rest.

The physics is Gymnasium's: that of Barto, Sutton and Anderson (1983), without friction.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces

START = 0.05
"""An episode starts with each number of the state drawn uniformly between this and minus this."""


@environment.dataclass
class EnvState(environment.EnvState):
    """Where the cart and the pole are, and how fast they move."""

    x: Float[Array, ""]
    x_dot: Float[Array, ""]
    theta: Float[Array, ""]
    theta_dot: Float[Array, ""]


@environment.dataclass
class EnvParams(environment.EnvParams):
    """The constants of Gymnasium's CartPole, by its names; ``length`` is half of the pole's."""

    gravity: float = 9.8
    masscart: float = 1.0
    masspole: float = 0.1
    total_mass: float = 1.1
    length: float = 0.5
    polemass_length: float = 0.05
    force_mag: float = 10.0
    tau: float = 0.02
    theta_threshold_radians: float = 12 * 2 * math.pi / 360
    x_threshold: float = 2.4
    max_steps_in_episode: int = 200


class PositionOnlyCartPole(environment.Environment[EnvState, EnvParams]):
    """Balance the pole seeing where the cart and the pole are, but not how fast they move.

    Every step pays ``1 / max_episode_length``, the one on which the pole falls included. The game
    ends when the cart leaves the track or the pole tilts past 12 degrees, and is cut off after
    ``max_episode_length`` steps; both may come at once. The observation is the cart's position and
    the pole's angle, as they are.
    """

    obs_requires_prev_action = False

    def __init__(self, max_episode_length: int = 200):
        self.max_episode_length = max_episode_length

    @property
    def default_params(self) -> EnvParams:
        return EnvParams(max_steps_in_episode=self.max_episode_length)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, "2"], EnvState]:
        key_state, key_noise = jax.random.split(key)
        x, x_dot, theta, theta_dot = jax.random.uniform(
            key_state, (4,), minval=-START, maxval=START
        )
        state = EnvState(time=jnp.int32(0), x=x, x_dot=x_dot, theta=theta, theta_dot=theta_dot)
        return self.observe(key_noise, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        x_acceleration, theta_acceleration = _accelerations(state, action, params)
        state = EnvState(
            time=state.time + 1,
            x=state.x + params.tau * state.x_dot,
            x_dot=state.x_dot + params.tau * x_acceleration,
            theta=state.theta + params.tau * state.theta_dot,
            theta_dot=state.theta_dot + params.tau * theta_acceleration,
        )
        state = self.detach(state)
        reward = jnp.float32(1 / self.max_episode_length)
        observation = self.observe(key, state, action, params)
        terminated = self.is_terminated(state, params)
        return observation, state, reward, terminated, {"discount": self.discount(state, params)}

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, "2"]:
        return jnp.stack([state.x, state.theta]).astype(jnp.float32)

    def decode(self, observation: Float[Array, "2"]) -> Float[Array, "2"]:
        """The reference's raw observation, which this is."""
        return observation

    def is_terminated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        off_the_track = jnp.abs(state.x) > params.x_threshold
        return off_the_track | (jnp.abs(state.theta) > params.theta_threshold_radians)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(2)

    def observation_space(self, params: Any = None) -> spaces.Box:
        params = params or self.default_params
        high = 2 * jnp.array([params.x_threshold, params.theta_threshold_radians], jnp.float32)
        return spaces.Box(-high, high, (2,), jnp.float32)

    def state_space(self, params: Any = None) -> spaces.Dict:
        params = params or self.default_params
        most = float(jnp.finfo(jnp.float32).max)
        x, theta = 2 * params.x_threshold, 2 * params.theta_threshold_radians
        bounds = {"x": x, "x_dot": most, "theta": theta, "theta_dot": most}
        numbers = {name: spaces.Box(-b, b, (), jnp.float32) for name, b in bounds.items()}
        return spaces.Dict({**numbers, "time": spaces.Discrete(params.max_steps_in_episode)})


class VelocityOnlyCartPole(PositionOnlyCartPole):
    """Balance the pole seeing how fast the cart and the pole move, but not where they are.

    As PositionOnlyCartPole, with the two velocities for an observation. At the start of an episode
    the reference shows the two positions in their place, and so does this.
    """

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, "2"]:
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
        self, key: PRNGKeyArray, state: EnvState, action: Any, params: Any
    ) -> Float[Array, "2"]:
        noise = self.noise_sigma * jax.random.normal(key, (2,), jnp.float32)
        space = self.observation_space(params)
        return jnp.clip(super().observe(key, state, action, params) + noise, space.low, space.high)


def _accelerations(
    state: EnvState, action: Int[Array, ""], params: EnvParams
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Of the cart, and of the pole's angle, while the cart is pushed left (0) or right (1)."""
    force = jnp.where(action == 1, params.force_mag, -params.force_mag)
    sine, cosine = jnp.sin(state.theta), jnp.cos(state.theta)
    swing = params.polemass_length * state.theta_dot**2 * sine
    push = (force + swing) / params.total_mass
    lever = params.length * (4.0 / 3.0 - params.masspole * cosine**2 / params.total_mass)
    pole = (params.gravity * sine - cosine * push) / lever
    return push - params.polemass_length * pole * cosine / params.total_mass, pole
