"""Optax transformations for streaming learners."""

from rillax.updates.traces import TraceState, eligibility_trace

__all__ = ["TraceState", "eligibility_trace"]
