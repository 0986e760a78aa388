"""Checks of what comes from outside, before it reaches an agent."""

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


def refuse(on_bad_input: OnBadInput, message: str) -> None:
    """Raise ``BadInput``, unless bad input is to be skipped."""
    if on_bad_input == "raise":
        raise BadInput(message)


def as_observation(observation: Any, space: Any) -> np.ndarray:
    """The observation as numbers in the space's shape (for a Discrete, an integer from 0 on)."""
    usual = type(observation) is np.ndarray and observation.dtype == np.float32
    if usual and observation.shape == space.shape:
        return observation.copy()  # the environment may use its array again
    try:
        array = np.asarray(observation)
        numeric = array.dtype.kind in "fiub"
    except ValueError:
        numeric = False
    if not numeric:
        raise BadInput(f"an observation must be an array of numbers, got {observation!r:.80}")
    shape = () if spaces.is_discrete(space) else tuple(space.shape)
    if array.shape != shape:
        raise BadInput(f"expected an observation of shape {shape}, got {array.shape}")
    if not spaces.is_discrete(space):
        return array.astype(np.float32)
    index = int(array) - first(space)
    if array != int(array) or not 0 <= index < space.n:
        raise BadInput(f"expected an observation in {space}, got {observation}")
    return np.asarray(index, np.int32)


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
