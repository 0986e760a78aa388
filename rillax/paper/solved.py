"""Frames until a task is solved: ours and batched PPO, on three that ask for memory alone.

A seed has solved a task in the first bin of its run, a hundredth of the frames, in which its return
is at least 0.9 of the perfect player's 1 in the mean, and in the next bin, too. It is a study of
ours and not a figure of the paper, so it is no part of ``all``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rillax.experiments import Job, Run
from rillax.experiments.results import number
from rillax.paper.drawing import band, legend, panels
from rillax.paper.figure import Figure, Preset, Results
from rillax.paper.finished import Done
from rillax.paper.quantities import Row
from rillax.paper.suite import FIRST_SEED, OURS, PPO, on_games
from rillax.paper.tables import SEEDS

TASKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "RepeatPrevious": ("RepeatPreviousEasy", {}),
    "RepeatFirst": ("RepeatFirstEasy", {}),
    "MemoryChain 64": ("MemoryChain", {"length": 64}),
}
FRAMES = 500_000
ENOUGH = 0.9


def jobs(preset: Preset) -> list[Job]:
    agents = on_games()
    return [
        _job(task, label, Run(agents[label], env, dict(how), FRAMES, SEEDS, FIRST_SEED))
        for task, (env, how) in TASKS.items()
        for label in (OURS, PPO)
    ]


def _job(task: str, label: str, run: Run) -> Job:
    return Job(f"solved/{task.replace(' ', '')}-{label.lower()}", task, label, "ours", run)


@dataclass(frozen=True)
class Until:
    """Frames until a task is solved, the median over seeds."""

    name: str = "frames until solved"
    head: tuple[str, ...] = ("task", "agent", "median", "least", "most", "solved by", "frames")
    if_none: float | None = np.inf

    def keeps(self, column: str) -> bool:
        return column in ("seed", "frame", "episodes", "return", "length")

    def values(self, done: Done) -> np.ndarray:
        """Of each seed; infinite if it has not solved it."""
        frames, returns = done.curve()
        enough = np.nan_to_num(returns, nan=-np.inf) >= ENOUGH
        stays = enough[:-1] & enough[1:]
        first = np.where(stays.any(axis=0), frames[np.argmax(stays, axis=0)], np.inf)
        return np.append(first, np.full(done.job.work.seeds - len(first), np.inf))

    def rows(self, done: Done) -> list[Row]:
        values = self.values(done)
        told = {"median": np.median(values), "least": values.min(), "most": values.max()}
        return [
            {
                **{name: number(float(n)) if np.isfinite(n) else None for name, n in told.items()},
                "solved": int(np.isfinite(values).sum()),
                "seeds": done.job.work.seeds,
                "frames": done.job.work.frames,
            }
        ]

    def told(self, row: Row) -> tuple[Any, ...]:
        each = (
            "never" if row[n] is None else f"{row[n]:,.0f}" for n in ("median", "least", "most")
        )
        solved = f"{row['solved']} of {row['seeds']}"
        return row["group"], row["label"], *each, solved, f"{row['frames']:,}"

    def point(self, row: Row) -> tuple[Any, float | None]:
        return row["group"], row["median"]


def draw(results: Results, columns: int | None) -> Any:
    """A panel for each task: return against frames, on a scale that shows the beginning."""
    tasks = [task for task in TASKS if task in results.groups]
    figure, every = panels(len(tasks), columns or len(tasks))
    for task, axes in zip(tasks, every, strict=True):
        for label in results.labels:
            if (done := results.at(task, label)) is not None:
                band(axes, *done.curve(), label, False)
        axes.set_title(task, fontsize=9)
        axes.set_xscale("log")
        axes.set_xlabel("frames")
    every[0].set_ylabel("return")
    legend(figure, every)
    return figure


FIGURE = Figure(
    name="solved",
    number="Ours",
    title="Frames until a task is solved",
    make_jobs=jobs,
    quantity=Until(),
    draw=draw,
    miniature=("solved/RepeatPrevious-*",),
)
