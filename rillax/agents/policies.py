"""Policies: a distribution over actions, made of what an actor's network puts out."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax import spaces
from rillax.networks import pick

LEAST_DEVIATION = 1e-3
"""Of a Gaussian whose network puts it out: without it, a policy that is certain is not finite."""


class Softmax(NamedTuple):
    """A policy over discrete actions."""

    logits: Float[Array, " actions"]

    def sample(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.categorical(key, self.logits).astype(jnp.int32)

    def mode(self) -> Int[Array, ""]:
        """The likeliest action."""
        return jnp.argmax(self.logits).astype(jnp.int32)

    def log_probability(self, action: Int[Array, ""]) -> Float[Array, ""]:
        return pick(jax.nn.log_softmax(self.logits), action)

    def entropy(self) -> Float[Array, ""]:
        log_p = jax.nn.log_softmax(self.logits)
        return -jnp.sum(jnp.exp(log_p) * log_p)


class Gaussian(NamedTuple):
    """A policy over vectors."""

    mean: Float[Array, " actions"]
    log_deviation: Float[Array, " actions"]

    def sample(self, key: PRNGKeyArray) -> Float[Array, " actions"]:
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_deviation) * noise

    def mode(self) -> Float[Array, " actions"]:
        """The likeliest action."""
        return self.mean

    def log_probability(self, action: Float[Array, " actions"]) -> Float[Array, ""]:
        standard = (action - self.mean) * jnp.exp(-self.log_deviation)
        return jnp.sum(-0.5 * jnp.square(standard) - self.log_deviation - 0.5 * jnp.log(2 * jnp.pi))

    def entropy(self) -> Float[Array, ""]:
        return jnp.sum(self.log_deviation + 0.5 * jnp.log(2 * jnp.pi * jnp.e))


Policy = Softmax | Gaussian


class Actions(NamedTuple):
    """What an actor needs to know of the actions it may take."""

    outputs: int
    """Of its network."""
    log_deviation: Float[Array, " actions"] | None
    """A parameter; None for discrete actions, and where the network puts it out."""
    bounds: tuple[Array, Array] | None
    """What a continuous action is clipped to, for the environment."""
    first: Array
    """An action before there has been any."""


def actions_of(space: Any, state_deviation: bool = False) -> Actions:
    """With ``state_deviation`` the network puts out a deviation beside each mean."""
    if spaces.is_discrete(space):
        if state_deviation:
            raise ValueError(f"state_deviation is for continuous actions, got {space}")
        return Actions(spaces.action_count(space), None, None, jnp.int32(0))
    bounds = spaces.action_bounds(space)
    size = bounds[0].size
    if state_deviation:
        return Actions(2 * size, None, bounds, jnp.zeros(size))
    return Actions(size, jnp.zeros(size), bounds, jnp.zeros(size))


def make_policy(
    out: Float[Array, " outputs"], log_deviation: Array | None, state_deviation: bool = False
) -> Policy:
    """Discrete actions have no deviation; of others it is a parameter or half of the outputs."""
    if state_deviation:
        mean, raw = jnp.split(out, 2)
        return Gaussian(mean, jnp.log(jax.nn.softplus(raw) + LEAST_DEVIATION))
    return Softmax(out) if log_deviation is None else Gaussian(out, log_deviation)


def clip_action(action: Float[Array, " actions"], bounds: tuple[Array, Array]) -> Array:
    """A sample as the environment takes it: in its shape and within its bounds."""
    low, high = bounds
    return jnp.clip(action.reshape(low.shape), low, high)
