"""A state packed into few arrays, for programs that the host calls step by step.

Every array that enters and leaves a compiled program costs about two microseconds, whatever its
size. An agent's state has some eighty, most of them tiny. Packing lays those end to end, by type.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

SMALL = 2048
"""Arrays up to this size are packed; to copy a larger one costs more than it saves."""


class Packing:
    """How a tree of arrays is packed, and the way back; both work inside a compiled program."""

    def __init__(self, tree: Any):
        leaves, self._tree = jax.tree.flatten(tree)
        self._keys = [jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) for leaf in leaves]
        plain = [
            jax.eval_shape(jax.random.key_data, leaf) if key else leaf
            for leaf, key in zip(leaves, self._keys, strict=True)
        ]
        self._shapes = [leaf.shape for leaf in plain]
        self._groups: dict[str, list[int]] = {}
        for i, leaf in enumerate(plain):
            name = str(leaf.dtype) if leaf.size <= SMALL else str(i)
            self._groups.setdefault(name, []).append(i)

    def pack(self, tree: Any) -> list[jax.Array]:
        leaves = [
            jax.random.key_data(leaf) if key else jnp.asarray(leaf)
            for leaf, key in zip(jax.tree.leaves(tree), self._keys, strict=True)
        ]
        return [
            jnp.concatenate([leaves[i].ravel() for i in group])
            if len(group) > 1
            else leaves[group[0]]
            for group in self._groups.values()
        ]

    def pack_on_host(self, tree: Any) -> list[jax.Array]:
        """As ``pack``, of arrays and not in a program: nothing is compiled for it."""
        leaves = [
            np.asarray(jax.random.key_data(leaf) if key else leaf)
            for leaf, key in zip(jax.tree.leaves(tree), self._keys, strict=True)
        ]
        return [
            jnp.array(
                np.concatenate([leaves[i].ravel() for i in group])
                if len(group) > 1
                else leaves[group[0]]
            )
            for group in self._groups.values()
        ]

    def unpack(self, packed: list[jax.Array]) -> Any:
        leaves: list[Any] = [None] * len(self._keys)
        for group, array in zip(self._groups.values(), packed, strict=True):
            if len(group) == 1 and not self._keys[group[0]]:
                leaves[group[0]] = array  # as it is, so that a program sees what it leaves alone
                continue
            sizes = [int(np.prod(self._shapes[i])) for i in group]
            parts = jnp.split(array.ravel(), np.cumsum(sizes)[:-1])
            for i, part in zip(group, parts, strict=True):
                leaf = part.reshape(self._shapes[i])
                leaves[i] = jax.random.wrap_key_data(leaf) if self._keys[i] else leaf
        return jax.tree.unflatten(self._tree, leaves)
