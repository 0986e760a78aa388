"""Checks of what comes from outside, before it reaches an agent."""

import numbers
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from rillax import spaces

OnBadInput = Literal["raise", "skip"]
"""What to do about an observation or reward that is not finite."""


LARGEST = 3.4e38
"""Almost the largest number in single precision."""


class BadInput(ValueError):
    """An observation or reward that no agent should learn from; the agent is as it was before."""


def check_policy(on_bad_input: str) -> None:
    """Raise a ValueError unless this is a way to treat bad input."""
    choices = get_args(OnBadInput)
    if on_bad_input not in choices:
        names = " or ".join(map(repr, choices))
        raise ValueError(f"on_bad_input must be {names}, got {on_bad_input!r}")


def refuse(on_bad_input: OnBadInput, message: str, kind: type[BadInput] = BadInput) -> None:
    """Raise ``BadInput``, unless bad input is to be skipped."""
    if on_bad_input == "raise":
        raise kind(message)


def reader(space: Any) -> Callable[[Any], np.ndarray]:
    """``as_observation`` for one space, quick with what is of its form already."""
    if not spaces.is_box(space):
        return partial(as_observation, space=space)
    shape, single = tuple(space.shape), np.dtype(np.float32)

    def read(observation: Any) -> np.ndarray:
        usual = type(observation) is np.ndarray and observation.dtype is single
        if usual and observation.shape == shape:
            return observation.copy()  # the environment may use its array again
        return as_observation(observation, space)

    return read


def as_observation(observation: Any, space: Any) -> np.ndarray:
    """The observation as numbers in the space's shape (for a Discrete, an integer from 0 on).

    One of a structured space (``rillax.spaces``) becomes a vector.

    A number that is not finite is let through: the caller decides what to do about it.
    """
    if spaces.is_structured(space):
        return np.concatenate(_flat(observation, space))
    array = _numbers(observation)
    if array is None:
        raise BadInput(f"an observation must be an array of numbers, got {_shown(observation)}")
    shape = () if spaces.is_discrete(space) else tuple(space.shape)
    if array.shape != shape:
        raise BadInput(f"expected an observation of shape {shape}, got {array.shape}")
    if not spaces.is_discrete(space) or not np.isfinite(array):
        return _single(array)
    index = int(array) - spaces.first(space)
    if array != int(array) or not 0 <= index < space.n:
        raise BadInput(f"expected an observation in {space}, got {_shown(observation)}")
    return np.asarray(index, np.int32)


def _flat(observation: Any, space: Any, where: str = "the observation") -> list[np.ndarray]:
    """The parts of an observation of a structured space as vectors."""
    parts = spaces.inner(space)
    if parts is not None:
        given = _parts(observation, space, where)
        names = parts.items()
        return [v for n, part in names for v in _flat(given[n], part, f"{where}[{n!r}]")]
    try:
        return [_encoded(observation, space).ravel()]
    except BadInput as error:
        raise BadInput(f"{where}: {error}") from None


def _parts(observation: Any, space: Any, where: str) -> Any:
    """The parts of an observation, which must be those of the space."""
    try:
        return _as_parts(observation, space, where)
    except BadInput:
        raise
    except Exception as error:  # of a mapping of the user's, which may raise anything
        said = f"{type(error).__name__}: {error!s:.60}"
        raise BadInput(f"{where} cannot be read ({said}), got {_shown(observation)}") from error


def _as_parts(observation: Any, space: Any, where: str) -> Any:
    parts = list(spaces.inner(space) or ())
    if isinstance(space.spaces, Mapping):
        if isinstance(observation, Mapping) and set(observation) == set(parts):
            return {name: observation[name] for name in parts}
        names = ", ".join(map(str, parts))
        found = list(observation) if isinstance(observation, Mapping) else observation
        raise BadInput(f"{where} must have the parts {names}, got {_shown(found)}")
    if isinstance(observation, tuple | list) and len(observation) == len(parts):
        return observation
    raise BadInput(f"{where} must be a tuple of {len(parts)}, got {_shown(observation)}")


def _encoded(observation: Any, leaf: Any) -> np.ndarray:
    """One part of an observation in numbers; what is not finite is let through."""
    if spaces.is_box(leaf):
        return as_observation(observation, leaf)
    if spaces.is_discrete(leaf):
        index = as_observation(observation, leaf)
        one = index.dtype == np.int32
        return spaces.one_hots(index, [leaf.n]) if one else np.full(int(leaf.n), index)
    array = _numbers(observation)
    if array is None or array.shape != tuple(leaf.shape):
        raise BadInput(f"expected an array of shape {tuple(leaf.shape)}, got {_shown(observation)}")
    if not np.isfinite(array).all():
        return np.full(spaces.encoded_size(leaf), array.ravel()[~np.isfinite(array).ravel()][0])
    several = spaces.is_multi_discrete(leaf)
    index = array - (getattr(leaf, "start", 0) if several else 0)
    if (index < 0).any() or (index >= (leaf.nvec if several else 2)).any() or (index % 1).any():
        raise BadInput(f"expected an element of {leaf}, got {_shown(observation)}")
    return spaces.one_hots(index.astype(int), leaf.nvec) if several else _single(index)


def blank(space: Any) -> np.ndarray:
    """What ``as_observation`` makes of an observation of zeros."""
    if spaces.is_discrete(space):
        return np.zeros((), np.int32)
    return np.zeros(spaces.observation_shape(space), np.float32)


def as_reward(reward: Any) -> Any:
    """The reward as a single number; one that is not finite is let through."""
    if isinstance(reward, float) and -LARGEST < reward < LARGEST:
        return np.float32(reward)
    array = _numbers(reward)
    if array is None or array.shape != ():
        raise BadInput(f"a reward must be one number, got {_shown(reward)}")
    return _single(array)


def as_flag(name: str, flag: Any) -> bool:
    """True or False; numbers will do, if they are 0 or 1."""
    if type(flag) is bool or type(flag) is np.bool_:
        return bool(flag)
    array = _numbers(flag)
    if array is None or array.shape != () or array not in (0, 1):
        raise BadInput(f"{name} must be True or False, got {_shown(flag)}")
    return bool(array)


def _numbers(value: Any) -> np.ndarray | None:
    """A value as an array of real numbers; None if it is not one."""
    if isinstance(value, numbers.Number | str | bytes) and not isinstance(
        value, bool | int | float | np.number
    ):
        return None
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return None  # it says itself that a number is missing
    try:
        array = np.asarray(value)
    except Exception:  # whatever an object of the user's raises, it is not an array
        return None
    return array if array.dtype.kind in "fiub" else None


def _single(array: np.ndarray) -> np.ndarray:
    """In single precision, where a number that is too large is infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32)


def _shown(value: Any) -> str:
    """The beginning of a value, for a message."""
    try:
        text = repr(value)
    except Exception:  # an integer of very many digits, or an object that cannot say what it is
        text = f"something of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."


def what_is_wrong(name: str, values: Any) -> str | None:
    """Which number of an observation or reward is not finite, in words; None if all are."""
    if np.count_nonzero(np.isfinite(values)) == values.size:
        return None
    flat = np.atleast_1d(values)
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(flat))[0])
    feature = "" if values.ndim == 0 else f" at feature {where[0] if len(where) == 1 else where}"
    return f"{name} is {flat[where]}{feature}"
