"""The tables in docs/environments.md, read back."""

import re
from pathlib import Path
from typing import NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "environments.md"


class Estimate(NamedTuple):
    mean: float
    error: float

    def agrees_with(self, other: "Estimate") -> bool:
        """Within four standard errors of the difference, or of rounding where there are none."""
        return abs(self.mean - other.mean) <= 4 * (self.error**2 + other.error**2) ** 0.5 + 1e-5


class Row(NamedTuple):
    steps: int
    actions: str
    observation: int
    random: Estimate
    perfect: Estimate


def read_tables() -> dict[str, Row]:
    rows = re.findall(r"^\| `(\w+)` \|(.+)\|$", PAGE.read_text(), re.MULTILINE)
    return {name: _row(*(cell.strip() for cell in cells.split("|"))) for name, cells in rows}


def _row(steps: str, actions: str, observation: str, random: str, perfect: str) -> Row:
    return Row(int(steps), actions, int(observation), _estimate(random), _estimate(perfect))


def _estimate(cell: str) -> Estimate:
    mean, _, error = cell.partition("±")
    return Estimate(float(mean), float(error or 0))
