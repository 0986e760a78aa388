"""Binned results of a run: gathered on the way, summarised at the end."""

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from scipy import stats

from rillax.loops.interface import EpisodeStatistics
from rillax.utils import files

COUNTED = ("frames", "episodes", "return", "length")
"""What every bin has, beside the agent's metrics."""
FINAL = 0.1
"""The last tenth of a run is what its final return is taken over."""


def iqm(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """The interquartile mean; of five seeds, the mean of the middle three."""
    return stats.trim_mean(values, 0.25, axis=axis)


def standard_error(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Of the mean; zero for a single seed."""
    n = values.shape[axis]
    return np.std(values, axis=axis, ddof=min(n - 1, 1)) / np.sqrt(n)


@dataclass
class Bins:
    """Episode statistics of a run, summed into a fixed number of bins for each seed.

    A run that was extended has as many bins again for what was added.
    """

    frames: int
    count: int = 100
    _sums: list[dict[str, np.ndarray]] = field(default_factory=list)
    extended: tuple[int, ...] = ()
    """The frames it was to have, each time before it was extended."""

    def __post_init__(self) -> None:
        self._edges: list[int] = []
        for first, last in pairwise((0, *self.extended, self.frames)):
            count = min(self.count, last - first)
            self._edges += [first + (last - first) * (b + 1) // count for b in range(count)]

    def edge(self, bin: int) -> int:
        """The frame at which a bin ends."""
        return self._edges[bin]

    def room(self, frame: int) -> int:
        """How many frames are left in the bin that ``frame`` falls into."""
        return self._edges[bisect_right(self._edges, frame)] - frame

    def is_edge(self, frame: int) -> bool:
        """Whether a bin ends at ``frame``."""
        return frame in self._edges

    def put(self, frame: int, statistics: EpisodeStatistics) -> None:
        """What happened from the beginning of a bin up to ``frame``, at most its end."""
        bin = bisect_left(self._edges, frame)
        parts = {
            "frames": statistics.frames,
            "episodes": statistics.episodes,
            "return": statistics.returns,
            "length": statistics.lengths,
            **statistics.metrics,
        }
        sums = {name: np.asarray(value, np.float64) for name, value in parts.items()}
        self._sums[bin:] = [sums]

    def add(self, name: str, values: np.ndarray) -> None:
        """A metric of the newest bin that is not a sum over its frames."""
        self._sums[-1][name] = values * self._sums[-1]["frames"]

    def save(self) -> dict[str, np.ndarray]:
        """The sums as arrays of shape (bins, seeds)."""
        return {name: self._stack(name) for name in self._names()}

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for sums in self._sums for name in sums))

    def _stack(self, name: str) -> np.ndarray:
        """One kind of sums; NaN in bins that have none, as of a metric that was added later."""
        none = np.full_like(self._sums[0]["frames"], np.nan)
        return np.stack([sums.get(name, none) for sums in self._sums])

    def restore(self, arrays: dict[str, np.ndarray], frame: int, seeds: int) -> None:
        """Take back what ``save`` gave at ``frame``; a ValueError if it cannot have."""
        count = bisect_left(self._edges, frame) + 1 if frame else 0
        if count and not set(COUNTED) <= set(arrays):
            raise ValueError(f"it has bins of {sorted(arrays)!s:.80} alone")
        for name, array in arrays.items():
            if array.shape != (count, seeds) or array.dtype.kind != "f":
                raise ValueError(f"its bins of {name[:80]} are not {count} by {seeds} numbers")
        counts = [arrays[name] for name in ("frames", "episodes") if count]
        if not all(((values >= 0) & (values <= frame)).all() for values in counts):
            raise ValueError("its bins count more frames or episodes than there were")
        self._sums = [{name: value[b] for name, value in arrays.items()} for b in range(count)]

    def columns(self, points: int | None = None) -> dict[str, np.ndarray]:
        """Arrays of shape (bins, seeds): sums over episodes or frames made into means.

        With ``points``, neighbouring bins are merged until at most that many are left.
        """
        if not self._sums:
            return {}
        every = math.ceil(len(self._sums) / points) if points else 1
        starts = np.arange(0, len(self._sums), every)
        sums = {name: np.add.reduceat(self._stack(name), starts) for name in self._names()}
        with np.errstate(invalid="ignore", divide="ignore"):
            per_episode = {name: sums[name] / sums["episodes"] for name in ("return", "length")}
            rest = set(sums) - set(COUNTED)
            per_frame = {name: sums[name] / sums["frames"] for name in sorted(rest)}
        return {"frames": sums["frames"], "episodes": sums["episodes"], **per_episode, **per_frame}

    def latest(self) -> dict[str, np.ndarray]:
        """The means of the newest bin, an array over seeds each."""
        newest = Bins(self.frames, self.count, self._sums[-1:]).columns()
        return {name: values[0] for name, values in newest.items() if name != "frames"}

    def latest_return(self) -> float:
        """The mean return of the newest bin in which an episode ended; NaN before the first."""
        for sums in reversed(self._sums[-10:]):
            if sums["episodes"].sum() > 0:
                return float(sums["return"].sum() / sums["episodes"].sum())
        return float("nan")

    def final_returns(self) -> np.ndarray:
        """The mean return of each seed over the last tenth of the run; NaN if no episode ended."""
        last = self._sums[-max(1, self._final_bins()) :]
        if not last:
            return np.array([])
        returns, episodes = (
            np.sum([s[name] for s in last], axis=0) for name in ("return", "episodes")
        )
        with np.errstate(invalid="ignore"):
            return returns / episodes

    def _final_bins(self) -> int:
        """How many bins the last tenth is; they are not of one size if the run was extended."""
        bins = len(self._sums)
        if bins <= self.count:
            return round(FINAL * bins)
        edges = [0, *self._edges[:bins]]
        begins = (1 - FINAL) * edges[-1]
        return sum((a + b) / 2 > begins for a, b in pairwise(edges))

    def table(self, seeds: list[int]) -> pa.Table:
        """One row for each bin and seed; what did not happen in a bin is null."""
        columns = self.columns()
        frame = np.cumsum(columns.pop("frames", np.zeros((0, len(seeds)))), axis=0)
        data: dict[str, Any] = {
            "seed": np.tile(np.array(seeds, np.int64), len(self._sums)),
            "frame": frame.ravel().astype(np.int64),
        }
        for name, values in columns.items():
            flat = values.ravel()
            data[name] = flat.astype(np.int64) if name == "episodes" else flat
        arrays = {name: pa.array(values, from_pandas=True) for name, values in data.items()}
        return pa.table(arrays)


def write_table(path: Path, table: pa.Table) -> None:
    files.write(path, lambda beside: pyarrow.parquet.write_table(table, beside))


def number(value: float) -> float | None:
    """A number for JSON, which has no NaN."""
    return None if not np.isfinite(value) else float(value)
