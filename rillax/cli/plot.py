"""``rillax plot``: a figure of the paper."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rillax.cli.results import RESULTS
from rillax.cli.terminal import parse, say
from rillax.paper import collect, drawing, figures
from rillax.utils.names import choose


@dataclass(frozen=True)
class Plot:
    """Draw a figure of the paper from collected results, as SVG, PDF and PNG."""

    name: Annotated[
        tyro.conf.Positional[str],
        tyro.conf.arg(metavar="NAME", help=f"One of: {', '.join(figures.EVERY)}, all."),
    ]
    results: Path = RESULTS
    """The directory that rillax results collect wrote."""
    to: Path | None = None
    """Where the files go; beside the results if not given."""


def main(argv: list[str]) -> None:
    flags = parse(Plot, argv, "rillax plot")
    choose("figure", flags.name, [*figures.EVERY, "all"])
    if flags.name == "all":
        found = list(collect.load_all(flags.results).values())
    else:
        found = [collect.load(flags.results, flags.name)]
    for results in found:
        say(*drawing.save(results, flags.to or flags.results))
