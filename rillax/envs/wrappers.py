"""What the player just did, and what it was paid for it, as part of what it sees.

The wrappers hold nothing: both are at hand in the step that makes the observation. At the start of
an episode nothing has been done yet, and zeros say so.
"""

import abc
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.spaces import inner, is_discrete, is_structured


class ObservationWrapper(environment.Environment, abc.ABC):
    """Any environment in JAX, with more at the end of its observation, which becomes a vector."""

    def __init__(self, env: environment.Environment):
        super().__init__()
        self.env: Any = env

    @abc.abstractmethod
    def addition(self, action: Array, reward: Array, params: Any) -> Float[Array, " added"]:
        """What is added to the observation that follows ``action``."""

    @abc.abstractmethod
    def added_space(self, params: Any) -> spaces.Box:
        """The space of what is added; it must hold zeros."""

    @partial(jax.jit, static_argnames="self")
    def step(self, key: PRNGKeyArray, state: Any, action: Array, params: Any = None) -> tuple:
        """The wrapped step, which resets by itself: a new episode starts with nothing added."""
        params = self.default_params if params is None else params
        observation, state, reward, terminated, truncated, info = self.env.step(
            key, state, action, params
        )
        added = self.addition(action, reward, params)
        final = self._join(info["final_observation"], added, params)
        kept = jnp.where(terminated | truncated, 0.0, added)
        observation = self._join(observation, kept, params)
        info = {**info, "final_observation": final}
        return observation, state, reward, terminated, truncated, info

    def step_env(self, key: PRNGKeyArray, state: Any, action: Array, params: Any) -> tuple:
        observation, state, reward, terminated, info = self.env.step_env(key, state, action, params)
        added = self.addition(action, reward, params)
        return self._join(observation, added, params), state, reward, terminated, info

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], Any]:
        observation, state = self.env.reset_env(key, params)
        nothing = jnp.zeros(self.added_space(params).shape, jnp.float32)
        return self._join(observation, nothing, params), state

    def observation_space(self, params: Any = None) -> spaces.Box:
        params = self.default_params if params is None else params
        parts = [_bounds(self.env.observation_space(params)), _bounds(self.added_space(params))]
        low, high = (jnp.concatenate(bound) for bound in zip(*parts, strict=True))
        return spaces.Box(low, high, low.shape, jnp.float32)

    def split(self, observation: Float[Array, " size"], params: Any = None) -> tuple[Array, Array]:
        """The wrapped environment's observation, as a vector, and what was added to it."""
        params = self.default_params if params is None else params
        (added,) = self.added_space(params).shape
        return observation[:-added], observation[-added:]

    def decode(self, observation: Float[Array, " size"]) -> tuple[Any, Array]:
        """What the wrapped environment decodes of its own part, and what was added."""
        seen, added = self.split(observation)
        return self.env.decode(seen), added

    def _join(self, observation: Array, added: Array, params: Any) -> Float[Array, " size"]:
        seen = flatten(self.env.observation_space(params), observation)
        return jnp.concatenate([seen, added])

    @property
    def default_params(self) -> Any:
        return self.env.default_params

    @property
    def name(self) -> str:
        return self.env.name

    @property
    def num_actions(self) -> int:
        return self.env.num_actions

    @property
    def supports_transition_gradients(self) -> bool:
        return self.env.supports_transition_gradients

    @property
    def transition_gradients_enabled(self) -> bool:
        return self.env.transition_gradients_enabled

    def with_transition_gradients(self) -> "ObservationWrapper":
        return type(self)(self.env.with_transition_gradients())

    def action_space(self, params: Any = None) -> spaces.Space:
        return self.env.action_space(self.default_params if params is None else params)

    def state_space(self, params: Any = None) -> spaces.Space:
        return self.env.state_space(self.default_params if params is None else params)

    def is_terminated(self, state: Any, params: Any) -> Bool[Array, ""]:
        return self.env.is_terminated(state, params)

    def is_truncated(self, state: Any, params: Any) -> Bool[Array, ""]:
        return self.env.is_truncated(state, params)

    def discount(self, state: Any, params: Any) -> Float[Array, ""]:
        return self.env.discount(state, params)


class PreviousAction(ObservationWrapper):
    """Adds the action that led here: one-hot if it is discrete, as it is if not."""

    def addition(self, action: Array, reward: Array, params: Any) -> Float[Array, " added"]:
        return flatten(self.action_space(params), action)

    def added_space(self, params: Any) -> spaces.Box:
        low, high = _bounds(self.action_space(params))
        return spaces.Box(jnp.minimum(low, 0), jnp.maximum(high, 0), low.shape, jnp.float32)

    def observe(self, key: Any, state: Any, action: Any, params: Any) -> Float[Array, " size"]:
        observation = self.env.observe(key, state, action, params)
        if action is None:
            added = jnp.zeros(self.added_space(params).shape, jnp.float32)
        else:
            added = self.addition(action, jnp.float32(0), params)
        return self._join(observation, added, params)


class PreviousReward(ObservationWrapper):
    """Adds the reward that came with this observation."""

    def addition(self, action: Array, reward: Array, params: Any) -> Float[Array, "1"]:
        return jnp.asarray(reward, jnp.float32).reshape(1)

    def added_space(self, params: Any) -> spaces.Box:
        return spaces.Box(-jnp.inf, jnp.inf, (1,), jnp.float32)


class Flat(ObservationWrapper):
    """An environment whose observations are of several parts, as one vector."""

    def addition(self, action: Array, reward: Array, params: Any) -> Float[Array, "0"]:
        return jnp.zeros(0, jnp.float32)

    def added_space(self, params: Any) -> spaces.Box:
        return spaces.Box(0.0, 0.0, (0,), jnp.float32)

    def observe(self, key: Any, state: Any, action: Any, params: Any) -> Float[Array, " size"]:
        return flatten(
            self.env.observation_space(params), self.env.observe(key, state, action, params)
        )


def for_agents(env: Any) -> Any:
    """An environment in JAX as agents take it: its observations are arrays."""
    observations, actions = environment.spaces_of(env)
    if is_structured(actions):
        raise ValueError(
            f"an environment in JAX must have Discrete or Box actions, got {actions}; give one of "
            "Gymnasium's for others"
        )
    return Flat(env) if is_structured(observations) else env


def flatten(space: Any, value: Any) -> Float[Array, " size"]:
    """A value of a space as a vector: one-hot if it is discrete, its numbers in order if not."""
    if is_discrete(space):
        return jax.nn.one_hot(value, space.n, dtype=jnp.float32)
    if parts := inner(space):
        return jnp.concatenate([flatten(part, value[name]) for name, part in parts.items()])
    if spaces.is_box(space):
        return jnp.asarray(value, jnp.float32).reshape(-1)
    raise ValueError(f"only Box, Discrete, Tuple and Dict spaces make a vector, got {space}")


def _bounds(space: Any) -> tuple[Float[Array, " size"], Float[Array, " size"]]:
    """The least and the greatest vector that ``flatten`` makes of a value of the space."""
    if is_discrete(space):
        return jnp.zeros(space.n), jnp.ones(space.n)
    if parts := inner(space):
        lows, highs = zip(*map(_bounds, parts.values()), strict=True)
        return jnp.concatenate(lows), jnp.concatenate(highs)
    if spaces.is_box(space):
        bounds = (space.low, space.high)
        low, high = (jnp.broadcast_to(jnp.float32(bound), space.shape) for bound in bounds)
        return low.reshape(-1), high.reshape(-1)
    raise ValueError(f"only Box, Discrete, Tuple and Dict spaces make a vector, got {space}")
