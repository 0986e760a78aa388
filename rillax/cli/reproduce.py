"""The paper as commands: ``rillax reproduce``, ``results``, ``plot`` and ``report``."""

import dataclasses
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rillax.cli.terminal import INTERRUPTED, console, interruptible, parse, say
from rillax.experiments import engines, runner, trackers
from rillax.experiments.run import shown
from rillax.experiments.store import Root
from rillax.experiments.work import Options
from rillax.paper import collect, cost, figures, grid, report
from rillax.utils import files
from rillax.utils.names import choose

FAILED = 1
OUT = Path("runs/paper")
RESULTS = Path("results/paper")
_FIGURE = f"One of: {', '.join(grid.EVERY)}."


@dataclass(frozen=True)
class _Reproduce:
    """Run the experiments of the paper: one figure, or all.

    Cells that are finished in --out are skipped, interrupted ones go on from their checkpoint; the
    same command again is all it takes. Ends with results, figures and a report in --out.
    """

    name: tyro.conf.Positional[str]
    """fig1a, fig1b, popgym, mujoco, staleness, kmemory, or all; or choices, a study of ours."""
    preset: grid.Preset = "paper"
    """The paper's numbers, or ours where they are better."""
    seeds: int | None = None
    """Seeds per cell, instead of the paper's 5."""
    frames: int | None = None
    """Frames per seed, instead of the paper's."""
    only: Annotated[tuple[str, ...], tyro.conf.arg(metavar="PATTERN...")] = ("*",)
    """Only cells whose name matches, such as 'fig1b/L8-*'."""
    miniature: bool = False
    """Every figure, few cells, 2 seeds, a few thousand frames: minutes instead of days."""
    out: Path = OUT
    """Directory for the results; for Ray, one that every node sees."""
    dry_run: bool = False
    """List the cells and what they would cost, and run nothing."""
    engine: Literal["local", "ray"] = "local"
    """Processes on this machine, or tasks of a Ray cluster."""
    address: str = "auto"
    """Of the Ray cluster."""
    workers: int | None = None
    """Processes of the local engine; one per core if not given."""
    checkpoint_seconds: float = 60.0
    """A checkpoint of each cell this often."""
    tensorboard: bool = False
    """Write the metrics of every cell for TensorBoard (extra: tensorboard)."""
    wandb: str | None = None
    """Send the metrics of every cell to this project of Weights & Biases (extra: wandb)."""


def _reproduce(argv: list[str]) -> None:
    flags = parse(_Reproduce, argv, "rillax reproduce", _Reproduce(name=tyro.MISSING))
    trackers.require(flags.tensorboard, flags.wandb)
    chosen = grid.select(
        flags.name,
        flags.preset,
        only=flags.only,
        seeds=flags.seeds,
        frames=flags.frames,
        miniature=flags.miniature,
    )
    cells, root = grid.cells_of(chosen), Root(flags.out)
    root.check(flags.preset, cells)
    costs = cost.Costs(cost.floor())
    for cell in cells:
        costs.observe(cell, root.done(cell))
    if flags.dry_run:
        _list(chosen, root, costs, _slots(flags))
        return
    with interruptible() as stop, _display() as show:
        make = _engine(flags)
        board = runner.run(root, cells, flags.preset, make, costs, show, stop)
    _finish(root, board)


def _engine(flags: _Reproduce) -> Callable[[], engines.Engine]:
    options = Options(flags.checkpoint_seconds, flags.tensorboard, flags.wandb)
    if flags.engine == "ray":
        return lambda: engines.Ray(options, flags.address)
    return lambda: engines.Local(options, flags.workers)


def _slots(flags: _Reproduce) -> int:
    """How many cells would run at once; of a cluster that is not asked yet, one."""
    return engines.Local(Options(), flags.workers).slots if flags.engine == "local" else 1


def _list(chosen: dict[str, grid.Figure], root: Root, costs: cost.Costs, slots: int) -> None:
    """The cells, their frames and their cost."""
    table = Table(box=None)
    table.add_column("cell", no_wrap=True)
    for column in ("seeds x frames", "core time"):
        table.add_column(column, justify="right")
    table.add_column("numbers from")
    for cell in grid.cells_of(chosen):
        seconds = costs.seconds(cell)
        table.add_row(
            cell.name,
            f"{cell.work.seeds} x {cell.work.frames:,}" if cell.work.frames else "",
            "done" if root.done(cell) else "?" if seconds is None else _duration(seconds),
            cell.source,
        )
    say(table)
    for figure in chosen.values():
        say(f"{figure.name}: {len(figure.cells)} cells, {figure.frames:,} frames")
    cells = grid.cells_of(chosen)
    left = [cell for cell in cells if root.done(cell) is None]
    seconds, unknown = costs.total(left)
    say(f"in all: {len(cells)} cells, {sum(cell.frames for cell in cells):,} frames")
    say(
        f"left to do: {len(left)} cells, about {_duration(seconds)} on one core, "
        f"{_duration(seconds / slots)} on {slots}"
        + (f", without {unknown} cells whose rate was never measured" if unknown else "")
    )


def _duration(seconds: float | None) -> str:
    """A time as a person says it.

    >>> _duration(42), _duration(4242), _duration(424242)
    ('42 s', '1 h 10 min', '4 d 21 h')
    """
    if seconds is None:
        return "unknown"
    minutes, hours, days = (int(seconds // n) for n in (60, 3600, 86400))
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {int(seconds) % 60} s" if minutes else f"{seconds:.0f} s"


class _display:
    """The live table; where there is no terminal, a line for each cell that starts or ends."""

    def __init__(self) -> None:
        self._live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
        self._said: dict[str, str] = {}

    def __enter__(self) -> "_display":
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
        for name, status in board.cells.items():
            if status.state != self._said.get(name, "waiting") and not status.skipped:
                self._said[name] = status.state
                say(f"{_totals(board)} | {name}: {_state(status)}")


def _board(board: runner.Board) -> Group:
    """Cells under way and the latest to end; a terminal has no room for all."""
    table = Table("cell", "", "frames", "rate", "left", "return", "where", box=None)
    here = list(board.cells.values())
    ended = [s for s in here if s.state in ("done", "failed", "stopped") and not s.skipped]
    for status in [*ended[-5:], *(s for s in here if s.state == "running")]:
        rate = status.frames_per_second
        left = (1 - status.share) * status.cell.frames / rate if rate else None
        table.add_row(
            status.cell.name,
            _state(status),
            f"{status.frame:,}/{status.cell.work.frames:,}",
            f"{rate:,.0f}/s" if rate else "",
            _duration(left) if left is not None and status.state == "running" else "",
            shown(status.value),
            status.host,
        )
    return Group(Text(_totals(board)), table)


def _totals(board: runner.Board) -> str:
    counts = ", ".join(
        f"{count} {state}"
        for state in ("done", "running", "waiting", "failed", "stopped")
        if (count := board.count(state))
    )
    left = board.seconds_left()
    return counts + (f", {_duration(left)} left" if left else "")


def _state(status: runner.Status) -> str:
    if status.state == "running":
        return f"{100 * status.share:.0f} %"
    if status.state == "done" and status.value is not None:
        return f"done, return {shown(status.value)}"
    return status.state


def _finish(root: Root, board: runner.Board) -> None:
    """What came of it: results, figures, report; then what failed."""
    skipped = sum(status.skipped for status in board.cells.values())
    say(
        f"{board.count('done')} of {len(board.cells)} cells done"
        + (f" ({skipped} had been before)" if skipped else "")
    )
    for status in board.failed():
        say(f"failed: {status.cell.name}: {status.error} (log: {status.log})")
    written = collect.collect(root, root.path / "results")
    everything = {name: collect.load(root.path / "results", name) for name in written}
    for results in everything.values():
        figures.save(results, root.path / "figures")
    if everything:
        page = root.path / "report.html"
        files.write_bytes(page, report.page(everything).encode())
        say(f"results: {root.path / 'results'}, figures: {root.path / 'figures'}, report: {page}")
    if board.failed():
        sys.exit(FAILED)
    if board.count("stopped") or board.count("waiting"):
        say("stopped; the same command goes on")
        sys.exit(INTERRUPTED)


@dataclass(frozen=True)
class _Collect:
    """Gather the finished cells of --out into one small Parquet file per figure."""

    out: Path = OUT
    """The directory that rillax reproduce wrote."""
    to: Path | None = None
    """Where the files go; results/PRESET if not given."""


@dataclass(frozen=True)
class _Show:
    """Print IQM, standard error, seeds and frames of every cell of a figure."""

    name: tyro.conf.Positional[str] = dataclasses.field(metadata={"help": _FIGURE})
    results: Path = RESULTS
    """The directory that rillax results collect wrote."""
    json: bool = False
    """For programs."""


def _results(argv: list[str]) -> None:
    """``rillax results collect`` and ``rillax results show NAME``."""
    choices = {"collect": _results_collect, "show": _results_show}
    what = argv[0] if argv else ""
    if what in ("-h", "--help"):
        say("rillax results collect [--out DIR] [--to DIR]\nrillax results show NAME [--json]")
        return
    choose("command of rillax results", what, choices)
    choices[what](argv[1:])


def _results_collect(argv: list[str]) -> None:
    flags = parse(_Collect, argv, "rillax results collect", _Collect())
    root = Root(flags.out)
    to = flags.to or Path("results") / root.manifest()["preset"]
    written = collect.collect(root, to)
    if not written:
        raise ValueError(
            f"no cell of {flags.out} is finished yet; rillax reproduce goes on with it"
        )
    for path in written.values():
        say(
            f"{path}: {len(collect.load(to, path.stem).cells)} cells, {path.stat().st_size:,} bytes"
        )


def _results_show(argv: list[str]) -> None:
    flags = parse(_Show, argv, "rillax results show", _Show(name=tyro.MISSING))
    rows = collect.summary(collect.load(flags.results, flags.name))
    if flags.json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(box=None)
    # A terminal has room for what is not told by the cell's name and not the same nothing in all.
    told = [n for n in rows[0] if n not in ("group", "label") and any(row[n] for row in rows)]
    for name in told:
        if name == "cell":
            table.add_column(name, overflow="fold")
        else:
            column = name.replace("standard_error", "s.e.")
            table.add_column(column, no_wrap=True, justify="right")
    for row in rows:
        table.add_row(*(_plain(row[name]) for name in told))
    say(table)


def _plain(value: object) -> str:
    if value is None or isinstance(value, float):
        return shown(value)
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True)
class _Plot:
    """Draw a figure of the paper from collected results, as SVG, PDF and PNG."""

    name: tyro.conf.Positional[str] = dataclasses.field(metadata={"help": _FIGURE})
    results: Path = RESULTS
    """The directory that rillax results collect wrote."""
    to: Path | None = None
    """Where the files go; beside the results if not given."""


def _plot(argv: list[str]) -> None:
    flags = parse(_Plot, argv, "rillax plot", _Plot(name=tyro.MISSING))
    choose("figure", flags.name, [*grid.EVERY, "all"])
    if flags.name == "all":
        found = list(collect.load_all(flags.results).values())
    else:
        found = [collect.load(flags.results, flags.name)]
    for results in found:
        paths = figures.save(results, flags.to or flags.results)
        say(" ".join(map(str, paths)))


@dataclass(frozen=True)
class _Report:
    """Write the report: one HTML page with every figure, claim, number and setting."""

    results: Path = RESULTS
    """The directory that rillax results collect wrote."""
    to: Path = Path("report.html")
    """The page."""


def _report(argv: list[str]) -> None:
    flags = parse(_Report, argv, "rillax report", _Report())
    everything = collect.load_all(flags.results)
    files.write_bytes(flags.to, report.page(everything).encode())
    drawn = [name for name in everything if name in grid.NAMES]
    say(f"{flags.to}: {len(drawn)} of {len(grid.NAMES)} figures")


COMMANDS = {"reproduce": _reproduce, "results": _results, "plot": _plot, "report": _report}
