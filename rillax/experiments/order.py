"""How staleness grows with the size of the updates, without and with a correction.

A linear RTU reads random inputs while its parameters take random steps of a given size; at the end
the carried S is compared with a replay. ``python -m rillax.experiments.order`` draws the picture in
docs/staleness.md.
"""

import dataclasses
from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from rillax import staleness
from rillax.cells import Correction, LinearRTU

Walk = Literal["random", "persistent", "straight"]
"""How one step relates to the one before: not at all, nearly the same, the same."""
_PERSISTENCE = {"random": 0.0, "persistent": 0.9, "straight": 1.0}


@dataclasses.dataclass(frozen=True)
class Study:
    """A unit and what happens to it. The defaults are those of the picture."""

    units: int = 32
    inputs: int = 8
    steps: int = 200
    r_min: float = 0.9
    r_max: float = 0.99
    walk: Walk = "random"

    def cell(self, key: PRNGKeyArray, correction: Correction) -> LinearRTU:
        return LinearRTU(
            self.inputs,
            self.units,
            key=key,
            r_min=self.r_min,
            r_max=self.r_max,
            correction=correction,
        )


@partial(jax.jit, static_argnums=(0, 1))
def drift(
    study: Study, correction: Correction, size: Float[Array, ""], key: PRNGKeyArray
) -> Float[Array, ""]:
    """Relative staleness after ``study.steps`` inputs, each followed by an update of norm ``size``.

    With the same key, every correction meets the same unit, inputs and updates.
    """
    key_cell, key_x, key_walk = jax.random.split(key, 3)
    cell = study.cell(key_cell, correction)
    xs = jax.random.normal(key_x, (study.steps, study.inputs))
    persistence = _PERSISTENCE[study.walk]

    def direction(t: Array) -> LinearRTU:
        leaves, tree = jax.tree.flatten(cell)
        keys = jax.random.split(jax.random.fold_in(key_walk, t), len(leaves))
        noise = (
            jax.random.normal(k, leaf.shape, leaf.dtype)
            for k, leaf in zip(keys, leaves, strict=True)
        )
        return jax.tree.unflatten(tree, noise)

    def one(carry: Any, t_x: Any) -> tuple[Any, None]:
        cell, memory, heading = carry
        t, x = t_x
        fresh = direction(t)
        heading = jax.tree.map(
            lambda old, new: persistence * old + (1 - persistence**2) ** 0.5 * new, heading, fresh
        )
        norm = jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(heading)))
        memory = cell.advance(memory, x)
        after = jax.tree.map(lambda p, d: p + size * d / norm, cell, heading)
        return (after, cell.transport(memory, after), heading), None

    first = direction(jnp.int32(study.steps))
    start = cell, cell.initial_memory(), first
    (cell, memory, _), _ = jax.lax.scan(one, start, (jnp.arange(study.steps), xs))
    return staleness.distance(cell, memory, staleness.replay(cell, xs))


def table(
    study: Study, correction: Correction, sizes: np.ndarray, seeds: int
) -> Float[np.ndarray, "sizes seeds"]:
    """``drift`` for every size and seed."""
    keys = jax.vmap(jax.random.key)(np.arange(seeds))
    each = jax.vmap(partial(drift, study, correction), in_axes=(None, 0))
    return np.stack([np.asarray(each(size, keys)) for size in sizes])


def slope(sizes: np.ndarray, values: np.ndarray) -> float:
    """Of the logarithms: the order of the error."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
