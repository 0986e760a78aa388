"""Checks of what comes from outside, before it reaches an agent."""

import numbers
from typing import Any, Literal, get_args

import numpy as np

from rillax import spaces

OnBadInput = Literal["raise", "skip"]
"""What to do about an observation or reward that is not finite."""


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


def as_observation(observation: Any, space: Any) -> np.ndarray:
    """The observation as numbers in the space's shape (for a Discrete, an integer from 0 on).

    A number that is not finite is let through: the caller decides what to do about it.
    """
    usual = type(observation) is np.ndarray and observation.dtype == np.float32
    if usual and observation.shape == space.shape:
        return observation.copy()  # the environment may use its array again
    array = _numbers(observation)
    if array is None:
        raise BadInput(f"an observation must be an array of numbers, got {_shown(observation)}")
    shape = () if spaces.is_discrete(space) else tuple(space.shape)
    if array.shape != shape:
        raise BadInput(f"expected an observation of shape {shape}, got {array.shape}")
    if not spaces.is_discrete(space) or not np.isfinite(array):
        return _single(array)
    index = int(array) - first(space)
    if array != int(array) or not 0 <= index < space.n:
        raise BadInput(f"expected an observation in {space}, got {_shown(observation)}")
    return np.asarray(index, np.int32)


def as_reward(reward: Any) -> np.ndarray:
    """The reward as a single number; one that is not finite is let through."""
    if type(reward) is float:
        return _single(np.asarray(reward))
    array = _numbers(reward)
    if array is None or array.shape != ():
        raise BadInput(f"a reward must be one number, got {_shown(reward)}")
    return _single(array)


def as_flag(name: str, flag: Any) -> bool:
    """True or False; numbers will do, if they are 0 or 1."""
    if type(flag) is bool:
        return flag
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


def first(space: Any) -> int:
    """The smallest element of a Discrete space."""
    return int(getattr(space, "start", 0))


def what_is_wrong(name: str, values: np.ndarray) -> str | None:
    """Which number of an observation or reward is not finite, in words; None if all are."""
    if np.isfinite(values).all():
        return None
    flat = np.atleast_1d(values)
    where = tuple(int(i) for i in np.argwhere(~np.isfinite(flat))[0])
    feature = "" if values.ndim == 0 else f" at feature {where[0] if len(where) == 1 else where}"
    return f"{name} is {flat[where]}{feature}"
