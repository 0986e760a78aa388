"""How staleness grows with the size of the updates, without and with a correction.

A linear RTU reads random inputs while its parameters take random steps of a given size. At the end
the carried S is compared with a replay. ``python -m rillax.paper.order`` draws the picture in
docs/staleness.md.
"""

import dataclasses
import sys
from functools import partial
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray

from rillax import staleness
from rillax._jax import enable_x64
from rillax.cells import RTU, Correction, LinearRTUCell
from rillax.experiments.curves import STYLES
from rillax.utils import files

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

    def cell(self, key: PRNGKeyArray, correction: Correction) -> LinearRTUCell:
        rtu = RTU(self.units, r_min=self.r_min, r_max=self.r_max, correction=correction)
        return rtu.build(key, self.inputs)


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
    flat, shaped = ravel_pytree(cell)
    noise = jax.random.normal(key_walk, (study.steps, flat.size))
    persistence = _PERSISTENCE[study.walk]

    def one(carry: Any, x_noise: Any) -> tuple[Any, None]:
        cell, memory, heading = carry
        x, noise = x_noise
        heading = persistence * heading + (1 - persistence**2) ** 0.5 * noise
        step = shaped(size * heading / jnp.linalg.norm(heading))
        after = jax.tree.map(jnp.add, cell, step)
        return (after, cell.transport(cell.advance(memory, x), after), heading), None

    start = cell, cell.initial_memory(), noise[-1]
    (cell, memory, _), _ = jax.lax.scan(one, start, (xs, noise))
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


def draw(path: Path, study: Study, sizes: np.ndarray, seeds: int) -> None:
    """Median staleness against the size of an update, for every correction, log-log."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    labels: dict[Correction, str] = {
        "none": "none",
        "diagonal": "diagonal (the paper's)",
        "exact": "exact",
    }
    with plt.rc_context({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
        for (correction, label), (colour, line) in zip(labels.items(), STYLES, strict=False):
            values = table(study, correction, sizes, seeds)
            low, middle, high = np.quantile(values, [0, 0.5, 1], axis=1)
            axes.fill_between(sizes, low, high, color=colour, alpha=0.2, lw=0)
            axes.plot(sizes, middle, color=colour, ls=line, lw=2, label=label)
        axes.set(
            xscale="log",
            yscale="log",
            xlabel="norm of each update",
            ylabel="staleness, relative",
            title=f"{study.steps} inputs, an update after each: median and range of {seeds} seeds",
        )
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
        files.write(path, lambda beside: figure.savefig(beside, format="png", dpi=150))
        plt.close(figure)


def main(path: str = "docs/staleness-order.png") -> None:
    with enable_x64(True):
        draw(Path(path), Study(), np.logspace(-5, 0, 21), seeds=20)
    print(f"wrote {path}")


if __name__ == "__main__":
    main(*sys.argv[1:])
