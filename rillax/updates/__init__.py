"""Optax transformations for streaming learners, driven by a TD error."""

from rillax.updates.obgd import (
    adaptive_obgd,
    obgd,
    scale_by_adaptive_obgd,
    scale_by_obgd,
)
from rillax.updates.traces import TraceState, cut_traces, eligibility_trace

__all__ = [
    "TraceState",
    "adaptive_obgd",
    "cut_traces",
    "eligibility_trace",
    "obgd",
    "scale_by_adaptive_obgd",
    "scale_by_obgd",
]
