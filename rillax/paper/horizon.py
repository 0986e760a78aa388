"""How long a chain intentional Q(lambda) can learn, by recurrence, gradient and trace decay.

MemoryChain with the published constants of the intentional update (Sharifnassab et al., 2026) and
the recurrence's plain start: what remembers over hundreds of steps has to be learned. An episode
counts as solved where the final return is above a half. It is a study of ours and not a figure of
the paper, so it is no part of ``all``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rillax.agents import StreamQ
from rillax.cells import RTU, CellSettings, Gradient, MinGRU
from rillax.experiments import Job, Run
from rillax.experiments.results import number
from rillax.experiments.training import shown
from rillax.networks import Architecture
from rillax.paper.drawing import panels
from rillax.paper.figure import Figure, Preset, Results
from rillax.paper.finished import Done
from rillax.paper.quantities import Row
from rillax.paper.tables import SEEDS, UNITS
from rillax.updates import Intentional

LENGTHS, LAMBDAS, FRAMES = (32, 64, 128, 256, 512), (0.8, 0.98), 500_000
SOLVED = 0.5
"""A seed has solved the chain if its final return is above this."""
CELLS: dict[str, Callable[[Gradient], CellSettings]] = {
    "rtu": lambda gradient: RTU(UNITS, gradient, features="tanh"),
    "mingru": lambda gradient: MinGRU(UNITS, gradient, features="tanh"),
}
GRADIENTS: tuple[Gradient, ...] = ("rtrl", "tbptt")
TITLES = {"rtu": "RTU", "mingru": "minGRU", "rtrl": "RTRL", "tbptt": "TBPTT(1)"}


def jobs(preset: Preset) -> list[Job]:
    return [
        _job(length, cell, gradient, trace_decay)
        for length in LENGTHS
        for cell in CELLS
        for gradient in GRADIENTS
        for trace_decay in LAMBDAS
    ]


def _job(length: int, cell: str, gradient: Gradient, trace_decay: float) -> Job:
    agent = StreamQ(
        network=Architecture(cell=CELLS[cell](gradient), width=64),
        discount=0.99,
        trace_decay=trace_decay,
        q=Intentional(eta=0.25),
        epsilon_frames=FRAMES // 10,
        previous_action=True,
        previous_reward=True,
    )
    run = Run(agent, "MemoryChain", {"length": length}, FRAMES, SEEDS)
    name = f"horizon/L{length}-{cell}-{gradient}-{trace_decay:g}"
    return Job(name, f"{length}", label(cell, gradient, trace_decay), "ours", run)


def label(cell: str, gradient: Gradient, trace_decay: float) -> str:
    return f"{TITLES[cell]}, {TITLES[gradient]}, λ {trace_decay:g}"


@dataclass(frozen=True)
class SolveRate:
    """The share of seeds whose final return is above a half; one that diverged has not solved."""

    name: str = "solve rate"
    head: tuple[str, ...] = ("chain", "agent", "solve rate", "mean return", "seeds", "frames")
    if_none: float | None = 0.0

    def keeps(self, column: str) -> bool:
        return column in ("seed", "frame", "episodes", "return", "length")

    def values(self, done: Done) -> np.ndarray:
        """1 for each seed that has solved it, 0 for each that has not."""
        solved = done.final_returns() > SOLVED
        return np.append(solved, np.zeros(done.job.work.seeds - len(solved))).astype(float)

    def rows(self, done: Done) -> list[Row]:
        returns = done.final_returns()
        return [
            {
                "solve_rate": number(float(np.mean(self.values(done)))),
                "mean_return": number(float(np.mean(returns))) if returns.size else None,
                "seeds": done.job.work.seeds,
                "frames": done.job.work.frames,
            }
        ]

    def told(self, row: Row) -> tuple[Any, ...]:
        shares = shown(row["solve_rate"]), shown(row["mean_return"])
        return row["group"], row["label"], *shares, row["seeds"], f"{row['frames']:,}"

    def point(self, row: Row) -> tuple[Any, float | None]:
        return row["group"], row["solve_rate"]


RATE = SolveRate()


def draw(results: Results, columns: int | None) -> Any:
    """A grid for each recurrence and gradient: solve rate by chain length and trace decay."""
    kinds = [(cell, gradient) for cell in CELLS for gradient in GRADIENTS]
    figure, every = panels(len(kinds), columns or len(kinds), width=1.9, height=2.4)
    for axes, (cell, gradient) in zip(every, kinds, strict=True):
        grid = np.full((len(LENGTHS), len(LAMBDAS)), np.nan)
        for row, length in enumerate(LENGTHS):
            for column, trace_decay in enumerate(LAMBDAS):
                done = results.at(f"{length}", label(cell, gradient, trace_decay))
                if done is not None:
                    grid[row, column] = np.mean(RATE.values(done))
        axes.imshow(grid, cmap="viridis", vmin=0, vmax=1, aspect="auto")
        for (row, column), value in np.ndenumerate(grid):
            if np.isfinite(value):
                shade = "white" if value < 0.5 else "black"
                axes.text(column, row, f"{value:.1f}", ha="center", va="center", color=shade)
        axes.set_xticks(range(len(LAMBDAS)), [f"{value:g}" for value in LAMBDAS])
        axes.set_yticks(range(len(LENGTHS)), [f"{value}" for value in LENGTHS])
        axes.set_title(f"{TITLES[cell]}, {TITLES[gradient]}", fontsize=9)
        axes.set_xlabel("trace decay λ")
        axes.grid(False)
    every[0].set_ylabel("chain length L")
    return figure


FIGURE = Figure(
    name="horizon",
    number="Ours",
    title="MemoryChain, intentional Q(λ): share of seeds that solve a chain of L",
    make_jobs=jobs,
    quantity=RATE,
    draw=draw,
    miniature=("horizon/L32-*-0.8",),
    caption=f"A seed solves a chain if its final return is above {SOLVED}.",
)
