"""How stale is a carried sensitivity?

(placeholder)
"""
from typing import Any
import jax, jax.numpy as jnp
from jaxtyping import Array, Float, Int
from rillax.cells import Cell, Memory

def replay(cell: Cell, inputs: Array, count: Int[Array, ""] | int | None = None) -> Memory:
    """The memory after the first ``count`` inputs (all, if None) of an episode, made afresh."""
    count = len(inputs) if count is None else count

    def one(memory: Memory, t_x: tuple[Array, Array]) -> tuple[Memory, None]:
        t, x = t_x
        after = cell.advance(memory, x)
        return jax.tree.map(lambda new, old: jnp.where(t < count, new, old), after, memory), None

    blank = cell.initial_memory()._replace(second=None)
    return jax.lax.scan(one, blank, (jnp.arange(len(inputs)), inputs))[0]


def distance(cell: Cell, memory: Memory, reference: Memory) -> Float[Array, ""]:
    """||S - S*|| / ||S*||."""
    live, true = (cell.jacobian(m.sensitivity) for m in (memory, reference))
    difference = jax.tree.map(jnp.subtract, live, true)
    return norm(difference) / norm(true)


def norm(tree: Any) -> Float[Array, ""]:
    """The root of the sum of all squares."""
    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))
