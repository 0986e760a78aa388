"""The C of each recurrent cell: what it learns and remembers, its step, its gradient."""

from collections.abc import Callable
from typing import Any

from rillax.cells import RTU, FeedForward, MinGRU
from rillax.export.cells.cell import CellText, Leaf
from rillax.export.cells.feedforward import feedforward
from rillax.export.cells.mingru import mingru
from rillax.export.cells.rtu import rtu

__all__ = ["CellText", "Leaf", "cell_text"]

_CELLS: dict[type, Callable[[Any, str, int, str], CellText]] = {
    RTU: rtu,
    MinGRU: mingru,
    FeedForward: feedforward,
}


def cell_text(settings: Any, name: str, inputs: int, activation: str) -> CellText:
    """A recurrent layer in C; a ``ValueError`` names what cannot be exported."""
    if type(settings) not in _CELLS:
        raise ValueError(
            f"the cell {type(settings).__name__} has no form in C; RTU, MinGRU and FeedForward "
            "have one"
        )
    return _CELLS[type(settings)](settings, name, inputs, activation)
