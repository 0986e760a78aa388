"""``rillax reproduce``: the experiments of the paper, as many at once as there are cores."""

import os
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rillax.cli.flags import OptionalInt
from rillax.cli.terminal import (
    FAILED,
    INTERRUPTED,
    console,
    count,
    duration,
    interruptible,
    parse,
    say,
    say_if_slow,
)
from rillax.experiments import Job, Options, engines, runner, trackers
from rillax.experiments.cost import Costs, floor
from rillax.experiments.store import Root
from rillax.experiments.training import shown
from rillax.paper import collect, drawing, figures, report
from rillax.utils import files

OUT = Path("runs/paper")


@dataclass(frozen=True)
class Reproduce:
    """Run the experiments of the paper: one figure, or all.

    Jobs that are finished in --out are skipped, and interrupted ones continue from their
    checkpoint, so the same command continues after a stop. It ends with results, figures and a
    report in --out.
    """

    name: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(
            metavar="NAME",
            help=f"One of: {', '.join(figures.NAMES)}, or all; "
            f"or a study of ours: {', '.join(figures.STUDIES)}.",
        ),
    ]
    preset: figures.Preset = "paper"
    """The paper's numbers, or ours where they are better."""
    seeds: OptionalInt = None
    """Seeds per job, instead of the paper's 5."""
    frames: OptionalInt = None
    """Frames per seed, instead of the paper's."""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="PATTERN...")] = ("*",)
    """Only jobs whose name matches, such as 'fig1b/L8-*'."""
    miniature: bool = False
    """Every figure with few jobs, 2 seeds and a few thousand frames: minutes instead of days."""
    out: Path = OUT
    """Directory for the results; for Ray, one that every node sees."""
    besides: Path | None = None
    """Leave out the jobs that rillax results collect has put into this directory already."""
    dry_run: bool = False
    """List the jobs and what they would cost, and run nothing."""
    engine: Literal["local", "ray"] = "local"
    """Processes on this machine, or tasks of a Ray cluster."""
    address: str = "auto"
    """Address of the Ray cluster."""
    workers: OptionalInt = None
    """Processes of the local engine; one per core if not given."""
    checkpoint_seconds: float = 60.0
    """A checkpoint of each job this often."""
    tensorboard: bool = False
    """Write the metrics of every job for TensorBoard (extra: tensorboard)."""
    wandb: str | None = None
    """Send the metrics of every job to this project of Weights & Biases (extra: wandb)."""


def main(argv: list[str]) -> None:
    flags = parse(Reproduce, argv, "rillax reproduce")
    trackers.require(flags.tensorboard, flags.wandb)
    chosen = figures.select(
        flags.name,
        flags.preset,
        only=flags.only,
        seeds=flags.seeds,
        frames=flags.frames,
        miniature=flags.miniature,
    )
    if flags.besides is not None:
        chosen = collect.missing(chosen, flags.besides)
        if not chosen:
            say(f"every job is in {flags.besides} already")
            return
    jobs, root = figures.jobs_of(chosen), Root(flags.out)
    root.check(flags.preset, jobs)
    costs = Costs(floor())
    for job in jobs:
        costs.observe(job, root.done(job))
    if flags.dry_run:
        _list(chosen, root, costs, _slots(flags))
        return
    say_if_slow()
    try:
        with interruptible() as stop, _Display() as show:
            board = runner.run(root, jobs, flags.preset, _engine(flags, stop), costs, show, stop)
    except engines.EngineLost as lost:
        print(f"rillax: {lost}", file=sys.stderr, flush=True)
        os._exit(FAILED)  # what Ray does at the end of a process would wait for its head
    _finish(root, board)


def _engine(flags: Reproduce, stop: threading.Event) -> Callable[[], engines.Engine]:
    options = Options(flags.checkpoint_seconds, flags.tensorboard, flags.wandb)
    if flags.engine == "ray":
        return lambda: engines.Ray(options, flags.address, stop)
    return lambda: engines.Local(options, flags.workers)


def _slots(flags: Reproduce) -> int:
    """How many jobs would run at once; one for a cluster, which is not asked for its size yet."""
    return engines.Local(Options(), flags.workers).slots if flags.engine == "local" else 1


def _list(chosen: Mapping[str, figures.Figure], root: Root, costs: Costs, slots: int) -> None:
    """The jobs, their frames and their cost."""
    jobs = figures.jobs_of(chosen)
    say(_table(jobs, root, costs))
    for figure in chosen.values():
        say(f"{figure.name}: {count(len(figure.jobs), 'job')}, {count(figure.frames, 'frame')}")
    left = [job for job in jobs if root.done(job) is None]
    seconds, unknown = costs.total(left)
    frames = sum(job.frames for job in jobs)
    say(f"in all: {count(len(jobs), 'job')}, {count(frames, 'frame')}")
    say(
        f"left to do: {count(len(left), 'job')}, about {duration(seconds)} on one core, "
        f"{duration(seconds / slots)} on {slots}"
        + (f", without {count(unknown, 'job')} of unknown speed" if unknown else "")
    )


def _table(jobs: list[Job], root: Root, costs: Costs) -> Table:
    table = Table(box=None)
    table.add_column("job", no_wrap=True)
    for column in ("seeds x frames", "core time"):
        table.add_column(column, justify="right")
    table.add_column("numbers from")
    for job in jobs:
        seconds = costs.seconds(job)
        table.add_row(
            job.name,
            f"{job.work.seeds} x {job.work.frames:,}" if job.work.frames else "",
            "done" if root.done(job) else "?" if seconds is None else duration(seconds),
            job.source,
        )
    return table


class _Display:
    """The live table; where there is no terminal, a line for each job that starts or ends."""

    def __init__(self) -> None:
        live = console().is_terminal
        self._live = Live(console=console(), refresh_per_second=4) if live else None
        self._said: dict[str, str] = {}

    def __enter__(self) -> "_Display":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, board: runner.Board) -> None:
        if self._live:
            self._live.update(_board(board))
            return
        for name, status in board.jobs.items():
            if status.state != self._said.get(name, "waiting") and not status.skipped:
                self._said[name] = status.state
                say(f"{_totals(board)} | {name}: {_state(status)}")


def _board(board: runner.Board) -> Group:
    """The jobs that run and the latest to end; a terminal has no room for all."""
    table = Table("job", "", "frames", "rate", "left", "return", "where", box=None)
    here = list(board.jobs.values())
    ended = [s for s in here if s.state in ("done", "failed", "stopped") and not s.skipped]
    for status in [*ended[-5:], *(s for s in here if s.state == "running")]:
        rate = status.frames_per_second
        left = (1 - status.share) * status.job.frames / rate if rate else None
        table.add_row(
            status.job.name,
            _state(status),
            f"{status.frame:,}/{status.job.work.frames:,}",
            f"{rate:,.0f}/s" if rate else "",
            duration(left) if left is not None and status.state == "running" else "",
            shown(status.value),
            status.host,
        )
    return Group(Text(_totals(board)), table)


def _totals(board: runner.Board) -> str:
    counts = ", ".join(
        f"{number} {state}"
        for state in ("done", "running", "waiting", "failed", "stopped")
        if (number := board.count(state))
    )
    left = board.seconds_left()
    return counts + (f", {duration(left)} left" if left else "")


def _state(status: runner.Status) -> str:
    if status.state == "running":
        return f"{100 * status.share:.0f} %"
    if status.state == "done" and status.value is not None:
        return f"done, return {shown(status.value)}"
    return status.state


def _finish(root: Root, board: runner.Board) -> None:
    """What came of it: results, figures, report; then what failed."""
    skipped = sum(status.skipped for status in board.jobs.values())
    say(
        f"{board.count('done')} of {count(len(board.jobs), 'job')} done"
        + (f" ({skipped} had been done before)" if skipped else "")
    )
    for status in board.failed():
        say(f"failed: {status.job.name}: {status.error} (log: {status.log})")
    results, drawn, page = (root.path / n for n in ("results", "figures", "report.html"))
    everything = {name: collect.load(results, name) for name in collect.collect(root, results)}
    for one in everything.values():
        drawing.save(one, drawn)
    if everything:
        files.write_bytes(page, report.page(everything).encode())
        say(f"results: {results}, figures: {drawn}, report: {page}")
    if board.failed():
        sys.exit(FAILED)
    if board.count("stopped") or board.count("waiting"):
        say("stopped; the same command continues")
        sys.exit(INTERRUPTED)
