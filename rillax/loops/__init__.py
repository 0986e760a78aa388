"""Loops, in which an agent meets an environment: compiled, beside Gymnasium, or your own."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rillax.loops.compiled import begin, run
    from rillax.loops.inputs import BadInput
    from rillax.loops.interface import EpisodeStatistics, Loop, LoopState
    from rillax.loops.learner import Learner
    from rillax.loops.make import make_loop

__all__ = [
    "BadInput",
    "EpisodeStatistics",
    "Learner",
    "Loop",
    "LoopState",
    "begin",
    "make_loop",
    "run",
]

_MODULES = {
    "BadInput": "inputs",
    "EpisodeStatistics": "interface",
    "Learner": "learner",
    "Loop": "interface",
    "LoopState": "interface",
    "begin": "compiled",
    "make_loop": "make",
    "run": "compiled",
}


def __getattr__(name: str) -> Any:
    # A Learner needs none of the environments, whose imports take most of the time.
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
