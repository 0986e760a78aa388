"""Step-size rules and the optax transformations they are made of, driven by a TD error."""

from rillax.updates.adaptive import adaptive
from rillax.updates.intentional import (
    IntentionalState,
    Preconditioner,
    intentional,
    refused_steps,
)
from rillax.updates.obgd import (
    adaptive_obgd,
    obgd,
    scale_by_adaptive_obgd,
    scale_by_obgd,
)
from rillax.updates.rules import (
    RULES,
    SGD,
    Adaptive,
    AdaptiveObGD,
    DirectionRule,
    Intentional,
    IntentionalPolicy,
    ObGD,
    Rule,
    clip_by_norm,
)
from rillax.updates.traces import TraceState, cut_traces, eligibility_trace

__all__ = [
    "RULES",
    "SGD",
    "Adaptive",
    "AdaptiveObGD",
    "DirectionRule",
    "Intentional",
    "IntentionalPolicy",
    "IntentionalState",
    "ObGD",
    "Preconditioner",
    "Rule",
    "TraceState",
    "adaptive",
    "adaptive_obgd",
    "clip_by_norm",
    "cut_traces",
    "eligibility_trace",
    "intentional",
    "obgd",
    "refused_steps",
    "scale_by_adaptive_obgd",
    "scale_by_obgd",
]
