"""Recurrent cells: what they remember, how memory advances, how a gradient reads it.

A cell is chosen by its settings: ``RTU(units=192)``, ``GRU(32)``. ``build`` makes the cell.
"""

from collections.abc import Callable

from rillax.cells.cell import (
    Cell,
    CellSettings,
    Defaults,
    Gradient,
    Memory,
    past,
    recall,
    remember,
)
from rillax.cells.dense import GRU, LSTM, DenseCell, GRUCell, LSTMCell
from rillax.cells.feedforward import FeedForward, FeedForwardCell
from rillax.cells.mingru import MinGRU, MinGRUCell
from rillax.cells.rtu import RTU, LinearRTUCell, NonlinearRTU, NonlinearRTUCell
from rillax.cells.transport import Correction

__all__ = [
    "CELLS",
    "GRU",
    "LSTM",
    "RTU",
    "Cell",
    "CellSettings",
    "Correction",
    "Defaults",
    "DenseCell",
    "FeedForward",
    "FeedForwardCell",
    "GRUCell",
    "Gradient",
    "LSTMCell",
    "LinearRTUCell",
    "Memory",
    "MinGRU",
    "MinGRUCell",
    "NonlinearRTU",
    "NonlinearRTUCell",
    "past",
    "recall",
    "remember",
]

CELLS: dict[str, Callable[..., CellSettings]] = {
    "rtu": RTU,
    "rtu_nonlinear": NonlinearRTU,
    "mingru": MinGRU,
    "gru": GRU,
    "lstm": LSTM,
    "feedforward": FeedForward,
}
"""The settings of our cells, by the names that the command line has for them."""
