"""Recurrent cells: what they remember, how memory advances, how a gradient reads it."""

from rillax.cells.cell import Cell, Gradient, Memory, past, recall, remember
from rillax.cells.dense import GRU, LSTM
from rillax.cells.feedforward import FeedForward
from rillax.cells.rtu import LinearRTU, NonlinearRTU
from rillax.cells.transport import Correction

__all__ = [
    "GRU",
    "LSTM",
    "Cell",
    "Correction",
    "FeedForward",
    "Gradient",
    "LinearRTU",
    "Memory",
    "NonlinearRTU",
    "past",
    "recall",
    "remember",
]
