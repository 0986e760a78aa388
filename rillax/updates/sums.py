"""Sums over whole trees of parameters, as fast as their arrays can be read."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def sum_of(function: Callable[..., Array], *trees: Any) -> Float[Array, ""]:
    """The sum of a function of corresponding numbers of some trees.

    >>> float(sum_of(lambda x, y: x * y, (jnp.ones(2),), (jnp.array([3.0, 8.0]),)))
    11.0
    """
    leaves = zip(*map(jax.tree.leaves, trees), strict=True)
    return sum((_sum(function, *(x.ravel() for x in arrays)) for arrays in leaves), jnp.zeros(()))


def _sum(function: Callable[..., Array], *vectors: Array) -> Float[Array, ""]:
    """Folded in 16 again and again.

    A compiler may not reorder a sum, so it adds one number at a time; 16 neighbours with 16 others
    it adds as fast as they can be read.
    """
    size = vectors[0].size
    whole = size // 256 * 256
    if not whole:
        return jnp.sum(function(*vectors))
    folds = [jnp.unstack(x[:whole].reshape(-1, 16, 16), axis=1) for x in vectors]
    parts = [function(*part) for part in zip(*folds, strict=True)]
    while len(parts) > 1:
        parts = [a + b for a, b in zip(parts[::2], parts[1::2], strict=True)]
    folded = _sum(lambda x: x, parts[0].ravel())
    return folded + jnp.sum(function(*(x[whole:] for x in vectors))) if whole < size else folded
