"""``rillax report``: the paper's figures, claims and numbers on one page."""

from dataclasses import dataclass
from pathlib import Path

from rillax.cli.results import RESULTS
from rillax.cli.terminal import parse, say
from rillax.paper import collect, figures, report
from rillax.utils import files


@dataclass(frozen=True)
class Report:
    """Write the report: one HTML page with every figure, claim, number and setting."""

    results: Path = RESULTS
    """The directory that rillax results collect wrote."""
    to: Path = Path("report.html")
    """The page."""


def main(argv: list[str]) -> None:
    flags = parse(Report, argv, "rillax report")
    everything = collect.load_all(flags.results)
    files.write_bytes(flags.to, report.page(everything).encode())
    drawn = [name for name in everything if name in figures.NAMES]
    say(f"{flags.to}: {len(drawn)} of {len(figures.NAMES)} figures")
