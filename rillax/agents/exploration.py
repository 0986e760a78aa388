"""Epsilon-greedy actions."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray


def epsilon_greedy(
    key: PRNGKeyArray, values: Float[Array, " actions"], epsilon: Array | float
) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """An action, random with probability epsilon, and whether no action has a larger value."""
    whether, which = jax.random.uniform(key, (2,))
    random = jnp.int32(which * values.size)
    best = jnp.argmax(values).astype(jnp.int32)
    action = jnp.where(whether < epsilon, random, best)
    return action, values[action] >= jnp.max(values)


def falling(start: float, end: float, frames: int, step: Int[Array, ""]) -> Float[Array, ""]:
    """Epsilon after so many steps: it falls in a straight line."""
    return jnp.asarray(optax.linear_schedule(start, end, frames)(step))
