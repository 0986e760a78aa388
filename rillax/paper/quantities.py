"""What a figure shows of its jobs: which columns it keeps, and the numbers it makes of them."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Protocol

import numpy as np

from rillax.experiments.results import iqm, number, standard_error
from rillax.experiments.training import shown
from rillax.paper.finished import STALENESS as STALENESS_COLUMN
from rillax.paper.finished import Done

Row = dict[str, Any]


class Quantity(Protocol):
    """What is read of a finished job."""

    @property
    def name(self) -> str: ...

    @property
    def head(self) -> tuple[str, ...]:
        """The columns of a table for people."""
        ...

    def keeps(self, column: str) -> bool:
        """Whether a column of the metrics is needed for it."""
        ...

    def values(self, done: Done) -> np.ndarray:
        """The values that were measured; there may be none."""
        ...

    @property
    def if_none(self) -> float | None:
        """What stands for them if there are none; None if that means that it was not measured."""
        ...

    def rows(self, done: Done) -> list[Row]:
        """The numbers of a job, for programs."""
        ...

    def told(self, row: Row) -> tuple[Any, ...]:
        """One of those rows, together with its group and label, under ``head``."""
        ...

    def point(self, row: Row) -> tuple[Any, float | None]:
        """Where the row lies on its line, and its value."""
        ...


@dataclass(frozen=True)
class PerSeed:
    """One number for each seed, summed up by IQM and standard error."""

    name: str
    columns: tuple[str, ...]
    """Patterns of the columns that are needed for it."""
    read: Callable[[Done], np.ndarray]
    read_start: Callable[[Done], np.ndarray] | None = None
    """The same number in the first tenth of the frames, if that can be told."""
    if_none: float | None = None

    @property
    def head(self) -> tuple[str, ...]:
        return "", "agent", f"{self.name} (IQM)", "s.e.", "seeds", "frames"

    def keeps(self, column: str) -> bool:
        return any(fnmatchcase(column, pattern) for pattern in self.columns)

    def values(self, done: Done) -> np.ndarray:
        return self.read(done)

    def rows(self, done: Done) -> list[Row]:
        values = self.values(done)
        start = np.array([]) if self.read_start is None else self.read_start(done)
        return [
            {
                "start": number(float(iqm(start))) if start.size else None,
                "iqm": number(float(iqm(values))) if values.size else None,
                "standard_error": number(float(standard_error(values))) if values.size else None,
                "seeds": done.job.work.seeds,
                "diverged": done.diverged,
                "frames": done.job.work.frames,
            }
        ]

    def told(self, row: Row) -> tuple[Any, ...]:
        seeds, lost = row["seeds"], row["diverged"]
        return (
            row["group"],
            row["label"],
            shown(row["iqm"]),
            shown(row["standard_error"]),
            f"{seeds - lost} of {seeds}" if lost else seeds,
            f"{row['frames']:,}",
        )

    def point(self, row: Row) -> tuple[Any, float | None]:
        return row["group"], row["iqm"]


@dataclass(frozen=True)
class PerWidth:
    """The time of one update at each width, measured several times over."""

    name: str = "milliseconds"
    columns: tuple[str, ...] = ("seed", "width", "milliseconds")
    head: tuple[str, ...] = ("layer", "hidden width", "ms per update")
    if_none: float | None = None

    def keeps(self, column: str) -> bool:
        return column in self.columns

    def values(self, done: Done) -> np.ndarray:
        return done.columns["milliseconds"]

    def rows(self, done: Done) -> list[Row]:
        return [
            {"width": width, "milliseconds": float(np.median(times)), "repeats": len(times)}
            for width, times in done.milliseconds().items()
        ]

    def told(self, row: Row) -> tuple[Any, ...]:
        return row["label"], row["width"], f"{row['milliseconds']:.4g}"

    def point(self, row: Row) -> tuple[Any, float | None]:
        return row["width"], row["milliseconds"]


RETURN = PerSeed(
    "final return",
    ("seed", "frame", "episodes", "return", "length"),
    Done.final_returns,
    Done.first_returns,
    if_none=-np.inf,  # every seed diverged
)
STALENESS = PerSeed("staleness", ("seed", "frame", f"{STALENESS_COLUMN}*"), Done.staleness)
MILLISECONDS = PerWidth()
