"""``rillax compare``: several runs in one picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rillax.cli.terminal import console, parse, say
from rillax.experiments import comparison
from rillax.experiments.curves import draw_curves
from rillax.experiments.training import shown


@dataclass(frozen=True)
class Compare:
    """Draw the curves of several runs in one picture, with a legend of what differs."""

    runs: Annotated[
        tyro.conf.Positional[tuple[Path, ...]],
        tyro.conf.arg(metavar="RUN...", help="The directories of the runs."),
    ]
    out: Path = Path("compare.png")
    """The picture."""
    title: str = ""
    """Its title; what the runs have in common if not given."""


def main(argv: list[str]) -> None:
    flags = parse(Compare, argv, "rillax compare")
    if not flags.runs:
        raise ValueError("there is nothing to compare: give the directories of some runs")
    outcomes = [comparison.read(out) for out in flags.runs]
    names = comparison.names(outcomes)
    _print_table(names, outcomes)
    curves = {name: o.curve for name, o in zip(names, outcomes, strict=True)}
    flags.out.parent.mkdir(parents=True, exist_ok=True)
    draw_curves(flags.out, curves, flags.title or _title(outcomes))
    say(f"wrote {flags.out}")


def _title(outcomes: list[comparison.Outcome]) -> str:
    environments = dict.fromkeys(str(outcome.run["env"]) for outcome in outcomes)
    return " and ".join(environments)


def _print_table(names: list[str], outcomes: list[comparison.Outcome]) -> None:
    from rich.table import Table

    table = Table("run", box=None, pad_edge=False)
    for head in ("final return", "s.e.", "seeds", "frames"):
        table.add_column(head, justify="right")
    for name, outcome in zip(names, outcomes, strict=True):
        summary = outcome.summary
        returns = (summary.get(f"final_return_{of}") for of in ("iqm", "standard_error"))
        counts = (f"{summary.get(of, 0):,}" for of in ("seeds", "frames"))
        table.add_row(name, *map(shown, returns), *counts)
    console().print(table)
