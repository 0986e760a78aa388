"""Observation and action spaces, as gymnasium and gymnax both describe them.

An agent sees arrays. A Box is seen as it is and a Discrete one-hot. Anything else (MultiDiscrete,
MultiBinary, and a Dict or Tuple of them all) is structured: an observation of it is one vector, in
the order of ``gymnasium.spaces.flatten``, and an action is one vector too, first what is chosen
among several, then what is a number.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

KINDS = "Box, Discrete, MultiDiscrete or MultiBinary, or a Dict or Tuple of these"

MOST_CHOICES = 10_000
"""Of an action; a file may claim any number of them."""


def is_discrete(space: Any) -> bool:
    return hasattr(space, "n") and not getattr(space, "shape", ())  # a MultiBinary has a shape


def is_box(space: Any) -> bool:
    return hasattr(space, "low") and hasattr(space, "high")


def is_structured(space: Any) -> bool:
    """Whether it is neither a Box nor a Discrete."""
    return not (is_box(space) or is_discrete(space))


def inner(space: Any) -> dict[Any, Any] | None:
    """The parts of a Dict or Tuple, by name or place; None of anything else."""
    parts = getattr(space, "spaces", None)
    if parts is None:
        return None
    return dict(parts) if isinstance(parts, Mapping) else dict(enumerate(parts))


def leaves(space: Any, what: str = "a") -> Iterator[Any]:
    """The spaces that a space is made of; one that is not known is refused by its name."""
    parts = inner(space)
    if parts is not None and type(space).__name__ != "OneOf":
        for part in parts.values():
            yield from leaves(part, what)
    elif is_box(space) or is_discrete(space) or is_multi_discrete(space) or is_binary(space):
        yield space
    else:
        raise ValueError(f"{what} space must be {KINDS}, got {space}")


def is_multi_discrete(space: Any) -> bool:
    return hasattr(space, "nvec")


def is_binary(space: Any) -> bool:
    return hasattr(space, "n") and bool(getattr(space, "shape", ()))


# ---- observations


def observation_shape(space: Any) -> tuple[int, ...]:
    """The shape of an encoded observation: that of a Box, and a vector for anything else."""
    parts = list(leaves(space, "an observation"))
    if is_box(space):
        return tuple(space.shape)
    if not parts:
        raise ValueError(f"an observation space must have at least one part, got {space}")
    return (sum(map(encoded_size, parts)),)


def encoded_size(leaf: Any) -> int:
    """How many numbers a Box, Discrete, MultiDiscrete or MultiBinary is as a vector."""
    if is_discrete(leaf):
        return int(leaf.n)
    return int(np.sum(leaf.nvec)) if is_multi_discrete(leaf) else math.prod(leaf.shape)


def one_hots(indices: Any, sizes: Any) -> np.ndarray:
    """One-hot vectors of some indices, end to end.

    >>> one_hots([1, 0], [2, 3]).tolist()
    [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    sizes = np.asarray(sizes).ravel()
    flat = np.zeros(int(sizes.sum()), np.float32)
    flat[np.cumsum(sizes) - sizes + np.asarray(indices).ravel()] = 1
    return flat


def encode(observation: Array, shape: tuple[int, ...]) -> Float[Array, "..."]:
    """An observation as an array of the encoded shape: an integer becomes one-hot."""
    observation = jnp.asarray(observation)
    if observation.shape == shape:
        return observation.astype(float)
    if observation.ndim == 0 and jnp.issubdtype(observation.dtype, jnp.integer):
        return jax.nn.one_hot(observation, shape[0])
    raise ValueError(f"expected an observation of shape {shape}, got {observation.shape}")


# ---- actions


def first(space: Any) -> int:
    """The smallest element of a Discrete space."""
    return int(getattr(space, "start", 0))


def action_count(space: Any) -> int:
    if not is_discrete(space):
        raise ValueError(
            f"this agent needs a Discrete action space, got {space}; stream_ac and ppo take others"
        )
    return int(space.n)


def action_bounds(space: Any) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Low and high of a Box, in its own shape; infinite where it has no bound."""
    if not is_box(space):
        raise ValueError(f"an action space must be Box or Discrete here, got {space}")
    low, high = (
        jnp.broadcast_to(jnp.asarray(b, float), space.shape) for b in (space.low, space.high)
    )
    return low, high


class Factors(NamedTuple):
    """An action of a structured space: choices among so many each, then numbers within bounds."""

    sizes: tuple[int, ...]
    low: np.ndarray
    high: np.ndarray


def factors(space: Any) -> Factors:
    """What an action of a structured space is made of."""
    sizes: list[int] = []
    lows, highs = [np.zeros(0, np.float32)], [np.zeros(0, np.float32)]
    for leaf in leaves(space, "an action"):
        if is_box(leaf):
            low, high = (np.broadcast_to(np.asarray(b), leaf.shape) for b in (leaf.low, leaf.high))
            lows.append(low.ravel())
            highs.append(high.ravel())
        else:
            sizes += _choices(leaf)
    low, high = (np.concatenate(bounds).astype(np.float32) for bounds in (lows, highs))
    return Factors(tuple(sizes), low, high)


def _choices(leaf: Any) -> list[int]:
    if is_discrete(leaf):
        return [int(leaf.n)]
    if is_multi_discrete(leaf):
        return [int(n) for n in np.ravel(leaf.nvec)]
    count = math.prod(leaf.shape)
    if count > MOST_CHOICES:
        raise ValueError(f"an action may have at most {MOST_CHOICES:,} choices, got {leaf}")
    return [2] * count


def action_size(space: Any) -> int:
    """How many numbers an action is as an input, its choices one-hot."""
    if not is_structured(space):
        return encoded_size(space)
    parts = factors(space)
    return sum(parts.sizes) + parts.low.size


def action_form(space: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of an action as agents give it."""
    if is_discrete(space):
        return (), np.int32
    if is_box(space):
        return tuple(space.shape), np.float32
    parts = factors(space)
    return (len(parts.sizes) + parts.low.size,), np.float32


def neutral_action(space: Any) -> np.ndarray:
    """An action as agents give it, before any has been chosen: the first, the middle of a box."""
    if is_discrete(space):
        return np.zeros((), np.int32)
    if is_box(space):
        low, high = (np.broadcast_to(b, space.shape) for b in (space.low, space.high))
        return _middle(low, high).astype(np.float32)
    parts = factors(space)
    return np.concatenate([np.zeros(len(parts.sizes)), _middle(parts.low, parts.high)], dtype="f4")


def _middle(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.nan_to_num((low + high) / 2, nan=0.0, posinf=0.0, neginf=0.0)


def giver(space: Any) -> Callable[[Any], Any]:
    """What makes of an action as agents give it one that the environment takes."""
    if is_discrete(space):
        start = first(space)
        return lambda action: np.asarray(action) + start
    if is_box(space):
        return np.asarray
    split = len(factors(space).sizes)

    def rebuild(action: Any) -> Any:
        array = np.asarray(action)
        return _rebuilt(space, iter(array[:split]), iter(array[split:]))

    return rebuild


def _rebuilt(space: Any, choices: Iterator[Any], numbers: Iterator[Any]) -> Any:
    parts = inner(space)
    if parts is not None:
        made = {name: _rebuilt(part, choices, numbers) for name, part in parts.items()}
        return made if isinstance(space.spaces, Mapping) else tuple(made.values())
    if is_discrete(space):
        return np.int64(next(choices)) + first(space)
    source = numbers if is_box(space) else choices
    flat = np.array([next(source) for _ in range(math.prod(space.shape))], np.float32)
    array = flat.reshape(space.shape).astype(space.dtype)
    return array + getattr(space, "start", 0) if is_multi_discrete(space) else array


# ---- JSON


def describe(space: Any) -> dict[str, Any]:
    """A space as JSON can hold it."""
    parts = inner(space)
    if parts is not None:
        kind = "dict" if isinstance(space.spaces, Mapping) else "tuple"
        named = {str(name): describe(part) for name, part in parts.items()}
        return {kind: named if kind == "dict" else list(named.values())}
    if is_discrete(space):
        return {"n": int(space.n), "start": first(space)}
    if is_multi_discrete(space):
        start = np.broadcast_to(getattr(space, "start", 0), space.shape)
        return {"nvec": np.asarray(space.nvec).tolist(), "start": start.tolist()}
    if is_binary(space):
        return {"binary": list(space.shape)}
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
    made = gymnasium.spaces
    if "dict" in description:
        # Gymnasium sorts a plain dict, and the order of the parts is that of the vector.
        return made.Dict(OrderedDict((n, rebuild(part)) for n, part in description["dict"].items()))
    if "tuple" in description:
        return made.Tuple([rebuild(part) for part in description["tuple"]])
    if "nvec" in description:
        return made.MultiDiscrete(np.array(description["nvec"]), start=description["start"])
    if "binary" in description:
        shape = tuple(description["binary"])
        return made.MultiBinary(shape[0] if len(shape) == 1 else shape)
    if "n" in description:
        return made.Discrete(description["n"], start=description["start"])
    shape = tuple(description["shape"])
    low, high = (
        np.array([float.fromhex(b) for b in description[name]], np.float32).reshape(shape)
        for name in ("low", "high")
    )
    return made.Box(low, high, shape, np.float32)
