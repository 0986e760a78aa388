"""``rillax results collect`` and ``rillax results show``: what the paper's experiments gave."""

import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.table import Table

from rillax.cli.reproduce import OUT
from rillax.cli.terminal import count, parse, say
from rillax.experiments.store import Root
from rillax.experiments.training import shown
from rillax.paper import collect, figures
from rillax.utils.names import choose

RESULTS = Path("results/paper")
FigureName = Annotated[
    tyro.conf.Positional[str],
    tyro.conf.arg(metavar="NAME", help=f"One of: {', '.join(figures.EVERY)}."),
]
USAGE = """\
usage: rillax results collect [--out DIR] [--to DIR] [--add]
       rillax results show NAME [--results DIR | --out DIR] [--json]

  collect  gather finished jobs into one small Parquet file per figure
  show     print the numbers of a figure

rillax results collect --help and rillax results show --help list the flags."""


@dataclass(frozen=True)
class Collect:
    """Gather the finished jobs of --out into one small Parquet file per figure."""

    out: Path = OUT
    """The directory that rillax reproduce wrote."""
    to: Path | None = None
    """Where the files go; results/PRESET if not given."""
    add: bool = False
    """Keep the jobs that are in the files already and not finished in --out."""


@dataclass(frozen=True)
class Show:
    """Print IQM, standard error, seeds and frames of every job of a figure."""

    name: FigureName
    results: Path = RESULTS
    """The directory that rillax results collect wrote, or rillax reproduce."""
    out: Path | None = None
    """The directory that rillax reproduce writes: show what is finished there so far."""
    json: bool = False
    """Print JSON, for programs."""


def main(argv: list[str]) -> None:
    choices = {"collect": collect_results, "show": show_results}
    if not argv or argv[0] in ("-h", "--help"):
        print(USAGE)
        return
    choose("command of rillax results", argv[0], choices)
    choices[argv[0]](argv[1:])


def collect_results(argv: list[str]) -> None:
    flags = parse(Collect, argv, "rillax results collect")
    root = Root(flags.out)
    to = flags.to or Path("results") / root.manifest()["preset"]
    written = collect.collect(root, to, flags.add)
    if not written:
        raise ValueError(f"no job of {flags.out} is finished yet; rillax reproduce continues it")
    for path in written.values():
        jobs = count(len(collect.load(to, path.stem).jobs), "job")
        say(f"{path}: {jobs}, {path.stat().st_size:,} bytes")


def show_results(argv: list[str]) -> None:
    flags = parse(Show, argv, "rillax results show")
    if flags.out is None:
        results = collect.load(flags.results, flags.name)
    else:
        with tempfile.TemporaryDirectory() as place:
            collect.collect(Root(flags.out), Path(place))
            results = collect.load(Path(place), flags.name, f"finished job in {flags.out}")
    rows = collect.summary(results)
    if flags.json:
        print(json.dumps(rows, indent=2))
    else:
        say(_table(rows))


def _table(rows: list[dict[str, Any]]) -> Table:
    """One line per job.

    A terminal is narrow, so a column is left out if the job's name says the same, or if it holds
    nothing.
    """
    table = Table(box=None)
    columns = [n for n in rows[0] if n not in ("group", "label") and any(row[n] for row in rows)]
    for name in columns:
        if name == "job":
            table.add_column(name, overflow="fold")
        else:
            heading = name.replace("standard_error", "s.e.")
            table.add_column(heading, no_wrap=True, justify="right")
    for row in rows:
        table.add_row(*(_plain(row[name]) for name in columns))
    return table


def _plain(value: object) -> str:
    if value is None or isinstance(value, float):
        return shown(value)
    return f"{value:,}" if isinstance(value, int) else str(value)
