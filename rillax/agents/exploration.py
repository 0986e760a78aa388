"""Actions by their values: the best one, or likelier the better, and now and then any."""

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


def softmax_choice(
    key: PRNGKeyArray, values: Float[Array, " actions"], epsilon: Array | float, temperature: float
) -> tuple[Int[Array, ""], Bool[Array, ""]]:
    """An action, random with probability epsilon, else from a softmax; and whether it was that."""
    key_random, key_softmax = jax.random.split(key)
    whether, which = jax.random.uniform(key_random, (2,))
    drawn = jax.random.categorical(key_softmax, values / temperature).astype(jnp.int32)
    follows = whether >= epsilon
    return jnp.where(follows, drawn, jnp.int32(which * values.size)), follows


def value_of(values: Float[Array, " actions"], temperature: float) -> Float[Array, ""]:
    """What is to be had where actions have these values: the most, or the mean of a softmax."""
    if temperature == 0:
        return jnp.max(values)
    return jnp.sum(jax.nn.softmax(values / temperature) * values)


def falling(start: float, end: float, frames: int, step: Int[Array, ""]) -> Float[Array, ""]:
    """Epsilon after so many steps: it falls in a straight line."""
    real = jnp.asarray(step, float)  # of an integer JAX would make single precision
    return jnp.asarray(optax.linear_schedule(start, end, frames)(real))
