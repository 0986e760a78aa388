"""Policies: a distribution over actions, made of what an actor's network puts out."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax.networks import pick


class Softmax(NamedTuple):
    """A policy over discrete actions."""

    logits: Float[Array, " actions"]

    def sample(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.categorical(key, self.logits).astype(jnp.int32)

    def log_probability(self, action: Int[Array, ""]) -> Float[Array, ""]:
        return pick(jax.nn.log_softmax(self.logits), action)

    def entropy(self) -> Float[Array, ""]:
        log_p = jax.nn.log_softmax(self.logits)
        return -jnp.sum(jnp.exp(log_p) * log_p)


class Gaussian(NamedTuple):
    """A policy over vectors; its deviation does not depend on the observation."""

    mean: Float[Array, " actions"]
    log_deviation: Float[Array, " actions"]

    def sample(self, key: PRNGKeyArray) -> Float[Array, " actions"]:
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_deviation) * noise

    def log_probability(self, action: Float[Array, " actions"]) -> Float[Array, ""]:
        standard = (action - self.mean) * jnp.exp(-self.log_deviation)
        return jnp.sum(-0.5 * jnp.square(standard) - self.log_deviation - 0.5 * jnp.log(2 * jnp.pi))

    def entropy(self) -> Float[Array, ""]:
        return jnp.sum(self.log_deviation + 0.5 * jnp.log(2 * jnp.pi * jnp.e))


Policy = Softmax | Gaussian


def make_policy(out: Float[Array, " outputs"], log_deviation: Array | None) -> Policy:
    """Discrete actions have no deviation."""
    return Softmax(out) if log_deviation is None else Gaussian(out, log_deviation)


def clip_action(action: Float[Array, " actions"], bounds: tuple[Array, Array]) -> Array:
    """A sample as the environment takes it: in its shape and within its bounds."""
    low, high = bounds
    return jnp.clip(action.reshape(low.shape), low, high)
