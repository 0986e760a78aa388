"""Streaming deep reinforcement learning under partial observability, in JAX."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rillax.loops.learner import BadInput, Learner

__version__ = "0.1.0"
__all__ = ["BadInput", "Learner"]


def __getattr__(name: str) -> Any:
    # Importing JAX takes a second; ``rillax --help`` need not wait for it.
    if name in __all__:
        from rillax.loops import learner

        return getattr(learner, name)
    raise AttributeError(f"module 'rillax' has no attribute {name!r}")
