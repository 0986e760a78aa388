"""Settings are checked where they are given: a number is in its range, or the error names both.

A settings dataclass calls ``check`` in its ``__post_init__``, with a range for each number:

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Mine:
...     discount: float = 0.9
...     clip: float | None = None
...     def __post_init__(self):
...         check(self, discount=SHARE, clip=POSITIVE)
>>> Mine(discount=2)
Traceback (most recent call last):
ValueError: discount must be in [0, 1], got 2
"""

import math
import numbers
from typing import Any, NamedTuple


class Range(NamedTuple):
    """The numbers that a setting may be; the ends belong to it unless they are ``open``."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False

    def __contains__(self, value: Any) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, bool):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number of hundreds of digits
            return False
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return above and below and math.isfinite(number)

    def __str__(self) -> str:
        if self.high == math.inf:
            return f"{'more than' if self.open_low else 'at least'} {self.low:g}"
        ends = "(" if self.open_low else "[", ")" if self.open_high else "]"
        return f"in {ends[0]}{self.low:g}, {self.high:g}{ends[1]}"


SHARE = Range(0, 1)
DECAY = Range(0, 1, open_high=True)
POSITIVE = Range(0, open_low=True)
NOT_NEGATIVE = Range(0)
COUNT = Range(1)
WHOLE = Range(1, whole=True)
SEED = Range(-1e15, 1e15, whole=True)


def check(settings: Any, **ranges: Range) -> None:
    """Raise a ValueError unless each of some settings is in its range.

    None means that there is no such setting, where that is its default or its type allows it.
    """
    for name, range in ranges.items():
        value = getattr(settings, name)
        if value is not None and value not in range:
            raise ValueError(f"{name} must be {range}, got {value!r:.40}")
        if range.whole and value is not None and not isinstance(value, numbers.Integral):
            raise ValueError(f"{name} must be a whole number, got {value!r:.40}")


def check_type(settings: Any, name: str, kind: Any, what: str) -> None:
    """Raise a ValueError unless a setting is of a type, which is called ``what`` in words."""
    value = getattr(settings, name)
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be {what}, got {value!r:.40}")
