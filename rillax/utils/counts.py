"""Counting for ever, in 32 bits: counters in two words, counters that stop, and exact sums.

A 32-bit counter is full after 38 hours at full speed. A sum in single precision stops growing even
sooner: what is added to it rounds away.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

LAST = 2**31 - 1
"""Where a counter stops that is for a schedule: by then every schedule is over."""
WORD = 2**30


def next_until_last(count: Int[Array, ""]) -> Int[Array, ""]:
    """One more, or ``LAST`` for good.

    >>> next_until_last(jnp.int32(LAST)).item() == LAST
    True
    """
    return jnp.minimum(count, LAST - 1) + 1


class Count(NamedTuple):
    """A counter that is never full, in two words of 30 bits."""

    high: Int[Array, ""]
    low: Int[Array, ""]


def nothing() -> Count:
    return Count(jnp.int32(0), jnp.int32(0))


def one_more(count: Count) -> Count:
    """The next number.

    >>> float(as_float(one_more(Count(jnp.int32(4), jnp.int32(WORD - 1))))) == 5 * WORD
    True
    """
    low = count.low + 1
    full = low >= WORD
    return Count(count.high + full, jnp.where(full, 0, low))


def as_float(count: Count) -> Float[Array, ""]:
    return count.high.astype(float) * WORD + count.low


def add(high: Array, low: Array, x: Array) -> tuple[Array, Array]:
    """A number in two words, and x; what the sum rounds away goes into the second word.

    >>> high, low = add(jnp.float32(2**24), jnp.float32(0), jnp.float32(1))
    >>> int(high) + int(low) == 2**24 + 1
    True
    """
    low = low + x
    total = high + low
    # Exact where the first word is the larger one; no worse than a plain sum where it is not.
    return total, low - (total - high)
