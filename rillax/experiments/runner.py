"""Runs the jobs of a grid to their end: what is done is skipped, what was begun goes on."""

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from rillax.experiments.cost import Costs
from rillax.experiments.engines import Engine
from rillax.experiments.jobs import Job
from rillax.experiments.store import LOG, PROGRESS, Root

State = Literal["waiting", "running", "done", "failed", "stopped"]


@dataclass
class Status:
    """Where one job stands."""

    job: Job
    state: State = "waiting"
    skipped: bool = False
    """It had been finished before."""
    frame: int = 0
    frames_per_second: float | None = None
    value: float | None = None
    """The latest return."""
    host: str = ""
    error: str = ""
    log: Path | None = None

    @property
    def share(self) -> float:
        if self.state == "done":
            return 1.0
        return self.frame / self.job.work.frames if self.job.work.frames else 0.0


@dataclass
class Board:
    """Where all jobs stand, and how long the rest will take."""

    jobs: dict[str, Status]
    costs: Costs
    slots: int
    started: float = field(default_factory=time.monotonic)

    def seconds_left(self) -> float | None:
        """By the rates of the jobs that run, else by the estimate; None if there is neither."""
        total, longest = 0.0, 0.0
        for status in self.jobs.values():
            if status.state in ("waiting", "running"):
                left = self._seconds_left(status)
                if left is None:
                    return None
                total, longest = total + left, max(longest, left)
        return max(longest, total / self.slots)

    def _seconds_left(self, status: Status) -> float | None:
        if status.frames_per_second:
            return (1 - status.share) * status.job.frames / status.frames_per_second
        seconds = self.costs.seconds(status.job)
        return None if seconds is None else (1 - status.share) * seconds

    def count(self, state: State) -> int:
        return sum(status.state == state for status in self.jobs.values())

    def failed(self) -> list[Status]:
        return [status for status in self.jobs.values() if status.state == "failed"]


def run(
    root: Root,
    jobs: Iterable[Job],
    preset: str,
    make_engine: Callable[[], Engine],
    costs: Costs,
    show: Callable[[Board], Any] = lambda board: None,
    stop: threading.Event | None = None,
) -> Board:
    """Run every job that is not done; returns where each of them stands in the end.

    A job that fails does not stop the others. ``stop`` ends the jobs under way at a checkpoint.
    """
    stop = stop or threading.Event()
    jobs = list(jobs)
    root.check(preset, jobs)
    with root.owned(preset):
        board = Board({job.name: _status(root, job) for job in jobs}, costs, slots=1)
        waiting = [status.job for status in board.jobs.values() if status.state == "waiting"]
        if not waiting:
            return board
        engine = make_engine()
        board.slots = engine.slots
        try:
            # Alone first: a job that measures time shares the machine with nothing. Then the
            # longest first, so that none of them is left over at the end.
            for job in (j for j in waiting if j.work.alone):
                _run_some(root, [job], engine, board, show, stop)
            rest = [j for j in waiting if not j.work.alone]
            rest.sort(key=lambda job: costs.seconds(job) or job.frames / 1e3, reverse=True)
            _run_some(root, rest, engine, board, show, stop)
        finally:
            engine.close()
    return board


def _status(root: Root, job: Job) -> Status:
    done = root.done(job) is not None
    return Status(job, "done" if done else "waiting", skipped=done, log=root.directory(job) / LOG)


def _run_some(
    root: Root,
    jobs: list[Job],
    engine: Engine,
    board: Board,
    show: Callable[[Board], Any],
    stop: threading.Event,
) -> None:
    waiting, told = list(jobs), False
    running: set[str] = set()
    while (waiting and not stop.is_set()) or running:
        while waiting and engine.room and not stop.is_set():
            job = waiting.pop(0)
            if _start(root, job, engine, board.jobs[job.name]):
                running.add(job.name)
        if stop.is_set() and not told:
            engine.stop()
            told = True
        show(board)
        for name, outcome in engine.wait(0.5).items():
            running.discard(name)
            status = board.jobs[name]
            status.state, status.error = outcome["state"], outcome.get("error", "")
            status.frames_per_second = None
            if summary := outcome.get("summary"):
                status.frame, status.value = summary["frames"], summary["final_return_iqm"]
        for name in running:
            _look(root, board.jobs[name])
    show(board)


def _start(root: Root, job: Job, engine: Engine, status: Status) -> bool:
    """Give a job to the engine; whether that worked."""
    try:
        directory = root.enter(job)
        (directory / PROGRESS).unlink(missing_ok=True)
        engine.start(job.name, directory, alone=job.work.alone)
    except Exception as error:
        status.state, status.error = "failed", str(error)
        return False
    status.state = "running" if engine.at_once else "waiting"
    return True


def _look(root: Root, status: Status) -> None:
    """Read how far a job has come; it says so about once a second."""
    progress = root.progress(status.job)
    if progress is None:
        return
    status.state, status.frame = "running", progress["frame"]
    status.frames_per_second, status.value = progress["frames_per_second"], progress["return"]
    status.host = progress["host"]
