"""What jobs will cost: measured rates as multiples of a floor, times the floor of this machine.

The floor is a kernel that reads and writes as many numbers as a streaming step touches. How many
floors a step of each kind takes is in ``rates.json`` (``python -m benchmarks.rates`` measures it
anew); the floor is measured when it is needed, in under a second.
"""

import json
import math
import time
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np

from rillax import agents
from rillax.cells import CELLS
from rillax.experiments.description import Run
from rillax.experiments.jobs import Job
from rillax.experiments.timing import Timing

NUMBERS = 250_000
"""About what two networks of 64-192-64 with traces and sensitivities hold."""


def kind(run: Run) -> str:
    """Runs of a kind cost about the same per frame."""
    memory = "+".join(_kind_of_cell(cell) for cell in run.agent.network.layers)
    stale = "" if run.staleness is None else " with staleness"
    return f"{agents.name_of(run.agent)} {memory} {run.env}{stale}"


def _kind_of_cell(cell: Any) -> str:
    name = next((n for n, cls in CELLS.items() if type(cell) is cls), type(cell).__name__)
    gradient, correction = (getattr(cell, n, None) for n in ("gradient", "correction"))
    parts = [name, gradient, None if correction == "none" else correction]
    return "-".join(part for part in parts if part is not None)


def measured() -> dict[str, Any]:
    """``floors`` per frame and seed of each kind, and the seconds until a job's first frame."""
    return json.loads(resources.files("rillax.experiments").joinpath("rates.json").read_text())


def touch(numbers: np.ndarray) -> None:
    """Read and write every number; NumPy, so that asking what it costs compiles nothing."""
    np.multiply(numbers, 0.999, out=numbers)
    np.add(numbers, 0.001, out=numbers)


def floor(seconds: float = 0.3) -> float:
    """Microseconds of ``touch`` on this machine: the best of many, as others may be using it."""
    numbers = np.ones(NUMBERS, np.float32)
    best, end = math.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        for _ in range(20):
            touch(numbers)
        best = min(best, (time.perf_counter() - started) / 20)
    return 1e6 * best


class Costs:
    """Seconds that jobs take on one core."""

    def __init__(self, floor_us: float, rates: Mapping[str, Any] | None = None):
        rates = measured() if rates is None else rates
        self.floor_us = floor_us
        self.floors: dict[str, float] = rates["floors"]
        self.start: float = rates["seconds_to_start"]
        self.observed: dict[str, float] = {}

    def observe(self, job: Job, done: Mapping[str, Any] | None) -> None:
        """A finished job tells the rate of its kind better than any estimate."""
        summary = (done or {}).get("summary") or {}
        rate = summary.get("frames_per_second")
        if isinstance(job.work, Run) and rate:
            self.observed[kind(job.work)] = 1e6 / rate

    def microseconds(self, run: Run) -> float | None:
        """Per frame and seed; None if the kind was never measured."""
        name = kind(run)
        if name in self.observed:
            return self.observed[name]
        return self.floors[name] * self.floor_us if name in self.floors else None

    def seconds(self, job: Job) -> float | None:
        work = job.work
        if isinstance(work, Timing):
            # Each width compiles, then fills 0.2 s as often as it is repeated.
            each = self.start / 2 + (work.repeats + 2) * min(0.2, work.seconds)
            return self.start + len(work.widths) * each
        us = self.microseconds(work)
        return None if us is None else self.start + 1e-6 * us * job.frames

    def total(self, jobs: Iterable[Job]) -> tuple[float, int]:
        """Seconds of the jobs whose rate is known, and how many others there are."""
        seconds = [self.seconds(job) for job in jobs]
        known = [value for value in seconds if value is not None]
        return sum(known), len(seconds) - len(known)
