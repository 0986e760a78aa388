"""A finished job of a figure: what it was, its rows, and what is read from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rillax.experiments import Job
from rillax.experiments.results import FINAL

STALENESS = "staleness"
"""How the columns of metrics that hold a staleness begin; there is one for each network."""


@dataclass(frozen=True)
class Done:
    """A finished job: what it was, its rows, and how it ended."""

    job: Job
    columns: Mapping[str, np.ndarray]
    outcome: Mapping[str, Any]

    @property
    def seeds(self) -> int:
        return len(np.unique(self.columns["seed"]))

    @property
    def frames(self) -> int:
        """Of each seed."""
        return self.job.work.frames

    @property
    def diverged(self) -> int:
        return len(self.summary.get("diverged", []))

    @property
    def summary(self) -> Mapping[str, Any]:
        return self.outcome.get("summary") or {}

    def final_returns(self) -> np.ndarray:
        """Of each seed that did not diverge, over the last tenth of its frames."""
        values = np.array(self.summary.get("final_return_per_seed", []), float)
        return values[np.isfinite(values)]

    def first_returns(self) -> np.ndarray:
        """Of each seed that finished an episode in the first tenth of its frames: their mean."""
        _, returns = self.curve()
        _, episodes = self.curve("episodes")
        first = max(1, round(FINAL * len(returns)))
        total = np.nansum(returns[:first] * episodes[:first], axis=0)
        count = episodes[:first].sum(axis=0)
        return total[count > 0] / count[count > 0]

    def curve(self, column: str = "return") -> tuple[np.ndarray, np.ndarray]:
        """Frames (bins,) and values (bins, seeds); NaN where nothing happened."""
        frames = np.unique(self.columns["frame"])
        return frames, self.columns[column].reshape(len(frames), -1)

    def staleness(self) -> np.ndarray:
        """Of each seed: the mean over its networks and over the last tenth of its frames."""
        names = [name for name in self.columns if name.startswith(STALENESS)]
        last = self.columns["frame"] > (1 - FINAL) * self.job.work.frames
        values = np.array([self.columns[name] for name in names]).reshape(len(names), len(last))
        seeds = self.columns["seed"]
        each = (values[:, last & (seeds == seed)] for seed in np.unique(seeds))
        return np.array([np.nanmean(mine) for mine in each if np.isfinite(mine).any()])

    def milliseconds(self) -> dict[int, np.ndarray]:
        """Of one update, at each width."""
        widths = self.columns["width"]
        return {int(w): self.columns["milliseconds"][widths == w] for w in np.unique(widths)}


def find(finished: Mapping[str, Done], group: str, label: str) -> Done | None:
    """The job of one line at one point or in one panel, if it is finished."""
    found = (d for d in finished.values() if (d.job.group, d.job.label) == (group, label))
    return next(found, None)
