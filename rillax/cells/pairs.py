"""A complex number as a pair of real arrays: nothing to conjugate, and loops that vectorise."""

import jax.numpy as jnp
from jaxtyping import Array

Pair = tuple[Array, Array]


def multiply(a: Pair, b: Pair) -> Pair:
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def add(*pairs: Pair) -> Pair:
    real, imag = zip(*pairs, strict=True)
    return sum(real[1:], real[0]), sum(imag[1:], imag[0])


def subtract(a: Pair, b: Pair) -> Pair:
    return a[0] - b[0], a[1] - b[1]


def scale(by: Array | float, a: Pair) -> Pair:
    return by * a[0], by * a[1]


def turn(a: Pair) -> Pair:
    """Times i."""
    return -a[1], a[0]


def rows(a: Pair) -> Pair:
    """One number per unit, broadcast along that unit's row of B."""
    return a[0][:, None], a[1][:, None]


def row_sums(a: Pair) -> Pair:
    """Folded in 16 and multiplied by ones: the compiler does not vectorise a sum along a row."""

    def of(part: Array) -> Array:
        if part.shape[-1] % 16 == 0:
            part = sum(jnp.unstack(part.reshape(len(part), -1, 16), axis=1), jnp.zeros(()))
        return part @ jnp.ones_like(part[0])

    return of(a[0]), of(a[1])
