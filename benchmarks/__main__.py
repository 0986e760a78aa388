"""``make bench``: what a streaming step costs against the floor. Writes ``bench.json``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.floor import like, touch
from benchmarks.timing import microseconds_per_frame
from rillax.agents import QRC
from rillax.envs import MemoryChain
from rillax.stream import Life, begin, live

OUT = Path("bench.json")


class Loop:
    """A life that goes on from call to call."""

    def __init__(self, agent: Any, env: Any, seeds: int = 1):
        keys = jax.vmap(jax.random.key)(np.arange(seeds))
        self.agent, self.env = agent, env
        self.life: Life = jax.jit(jax.vmap(lambda key: begin(agent, env, key)))(keys)

    def __call__(self, frames: int) -> Any:
        self.life, tally = live(self.agent, self.env, self.life, frames)
        return tally


def touched(state: Any) -> Any:
    """What changes at every step of QRC: parameters, traces, sensitivities."""
    streams = (state.q, state.h)
    return (
        [stream.network for stream in streams],
        state.traces,
        [stream.memory.sensitivity for stream in streams],
    )


def floor(state: Any) -> Callable[[int], Any]:
    arrays = like(touched(state))
    return lambda frames: touch(arrays, frames)


def megabytes(tree: Any) -> float:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)) / 1e6


def main() -> None:
    loop = Loop(QRC(), MemoryChain(8))
    times = microseconds_per_frame({"qrc": loop, "floor": floor(loop.life.agent)})
    size = megabytes(touched(loop.life.agent))
    results = {
        "qrc": {
            "us_per_step": times["qrc"],
            "floor_us_per_step": times["floor"],
            "ratio_to_floor": times["qrc"] / times["floor"],
            "megabytes_touched": size,
        }
    }
    table = Table("step, 64-192-64, one seed", "us", "floor us", "ratio", "MB touched")
    for name, row in results.items():
        table.add_row(
            name,
            f"{row['us_per_step']:.1f}",
            f"{row['floor_us_per_step']:.1f}",
            f"{row['ratio_to_floor']:.2f}",
            f"{row['megabytes_touched']:.2f}",
        )
    console = Console(highlight=False)
    console.print(table)
    OUT.write_text(json.dumps(results, indent=2) + "\n")
    console.print(f"wrote {OUT}")


main()
