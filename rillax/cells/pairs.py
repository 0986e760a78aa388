"""A complex number as a pair of real arrays: nothing to conjugate, and loops that vectorise."""

from jax import lax
from jaxtyping import Array

Pair = tuple[Array, Array]


def multiply(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def rows(a: Pair) -> Pair:
    """One number per unit, broadcast along that unit's row of B."""
    return a[0][:, None], a[1][:, None]


def together(a: Pair) -> Array:
    """One complex array: for the few numbers of a unit, where a formula should be readable."""
    return lax.complex(*a)


def apart(a: Array) -> Pair:
    return a.real, a.imag
