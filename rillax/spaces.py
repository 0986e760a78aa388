"""Observation and action spaces, as gymnasium and gymnax both describe them."""

from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def is_discrete(space: Any) -> bool:
    return hasattr(space, "n")


def observation_shape(space: Any) -> tuple[int, ...]:
    """The shape of an encoded observation: that of a Box, or a one-hot vector for a Discrete."""
    if is_discrete(space):
        return (int(space.n),)
    if hasattr(space, "spaces") or getattr(space, "shape", None) is None:
        raise ValueError(f"an observation space must be Box or Discrete, got {space}")
    return tuple(space.shape)


def action_count(space: Any) -> int:
    if not is_discrete(space):
        raise ValueError(f"this agent needs a Discrete action space, got {space}")
    return int(space.n)


def encode(observation: Array, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """An observation as an array of the encoded shape: an integer becomes one-hot."""
    observation = jnp.asarray(observation)
    if observation.shape == shape:
        return observation.astype(float)
    if observation.ndim == 0 and jnp.issubdtype(observation.dtype, jnp.integer):
        return jax.nn.one_hot(observation, shape[0])
    raise ValueError(f"expected an observation of shape {shape}, got {observation.shape}")


def action_bounds(space: Any) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Low and high of a Box, in its own shape; infinite where it has no bound."""
    if hasattr(space, "spaces") or getattr(space, "shape", None) is None:
        raise ValueError(f"an action space must be Box or Discrete, got {space}")
    low, high = (
        jnp.broadcast_to(jnp.asarray(b, float), space.shape) for b in (space.low, space.high)
    )
    return low, high


def describe(space: Any) -> dict[str, Any]:
    """A Box or Discrete space as JSON can hold it."""
    if is_discrete(space):
        return {"n": int(space.n), "start": int(getattr(space, "start", 0))}
    low, high = (
        np.broadcast_to(np.asarray(b, np.float64), space.shape) for b in (space.low, space.high)
    )
    return {
        "low": [float(b).hex() for b in low.ravel()],
        "high": [float(b).hex() for b in high.ravel()],
        "shape": list(space.shape),
    }


def rebuild(description: dict[str, Any]) -> Any:
    """The space that was described, as gymnasium's."""
    if "n" in description:
        return gymnasium.spaces.Discrete(description["n"], start=description["start"])
    shape = tuple(description["shape"])
    low, high = (
        np.array([float.fromhex(b) for b in description[name]], np.float32).reshape(shape)
        for name in ("low", "high")
    )
    return gymnasium.spaces.Box(low, high, shape, np.float32)
