"""What the POPGym games share, as environments in JAX.

The ``popgym`` package is the definition of every game here, its odd corners included; the names are
its names. A discrete observation is encoded one-hot for a network, and ``decode`` gives back what
the reference would have shown.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from rillax.envs import environment, spaces


class Game(environment.Environment):
    """A game of ``episode_length`` steps at most, observed as one-hot vectors of ``sizes``."""

    obs_requires_prev_action = False
    """Whether the reference says that a player has to see its previous action; ``make`` adds it."""

    sizes: tuple[int, ...]
    episode_length: int

    @property
    def default_params(self) -> environment.EnvParams:
        return environment.EnvParams(max_steps_in_episode=self.episode_length)

    def observation_space(self, params: Any = None) -> spaces.Box:
        return spaces.Box(0.0, 1.0, (sum(self.sizes),), jnp.float32)

    def is_terminated(self, state: Any, params: Any) -> Bool[Array, ""]:
        """Whether the game is over; here, when its length is played out."""
        return state.time >= self.episode_length

    def is_truncated(self, state: Any, params: Any) -> Bool[Array, ""]:
        """Out of time, unless the game is over: most games in the reference never report both."""
        return (state.time >= params.max_steps_in_episode) & ~self.is_terminated(state, params)

    def encode(self, *values: Int[Array, ""]) -> Float[Array, " size"]:
        """The reference's discrete observations as one vector, one-hot each."""
        pairs = zip(values, self.sizes, strict=True)
        return jnp.concatenate([one_hot(value, size) for value, size in pairs])

    def decode(self, observation: Float[Array, " size"]) -> Int[Array, "..."]:
        """The reference's raw observation: an integer, or several in its order."""
        ends = [sum(self.sizes[: i + 1]) for i in range(len(self.sizes))]
        values = [
            observation[end - n : end].argmax() for n, end in zip(self.sizes, ends, strict=True)
        ]
        return values[0] if len(values) == 1 else jnp.stack(values)

    def finish(self, key: Array, state: Any, action: Array, reward: Array, params: Any) -> tuple:
        """What ``step_env`` returns, once the next state and the reward are known."""
        observation = self.observe(key, state, action, params)
        terminated = self.is_terminated(state, params)
        return observation, state, reward, terminated, {"discount": self.discount(state, params)}


def one_hot(value: Int[Array, "..."], size: int) -> Float[Array, "... size"]:
    return jax.nn.one_hot(value, size, dtype=jnp.float32)


def plus_or_minus(scale: float, right: Bool[Array, ""]) -> Float[Array, ""]:
    """The reward of most games here: ``scale`` for a right answer, ``-scale`` for a wrong one."""
    return jnp.where(right, jnp.float32(scale), jnp.float32(-scale))
