"""Recurrent cells: what they remember, how memory advances, how a gradient reads it."""

from rillax.cells.cell import Cell, Gradient, Memory, recall, remember
from rillax.cells.dense import GRU, LSTM
from rillax.cells.feedforward import FeedForward
from rillax.cells.rtu import LinearRTU, NonlinearRTU

__all__ = [
    "GRU",
    "LSTM",
    "Cell",
    "FeedForward",
    "Gradient",
    "LinearRTU",
    "Memory",
    "NonlinearRTU",
    "recall",
    "remember",
]
