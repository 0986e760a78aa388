"""Streaming deep reinforcement learning under partial observability, in JAX."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rillax.agents import PPO, QRC, StreamAC
    from rillax.cells import GRU, LSTM, RTU, FeedForward, NonlinearRTU
    from rillax.envs import make
    from rillax.experiments import Run
    from rillax.experiments.door import train
    from rillax.loops import BadInput, Learner
    from rillax.networks import Architecture
    from rillax.updates import SGD, AdaptiveObGD, ObGD

__version__ = "0.1.0"
__all__ = [
    "GRU",
    "LSTM",
    "PPO",
    "QRC",
    "RTU",
    "SGD",
    "AdaptiveObGD",
    "Architecture",
    "BadInput",
    "FeedForward",
    "Learner",
    "NonlinearRTU",
    "ObGD",
    "Run",
    "StreamAC",
    "make",
    "train",
]

_EXPORTS = {
    "agents": ("PPO", "QRC", "StreamAC"),
    "cells": ("GRU", "LSTM", "RTU", "FeedForward", "NonlinearRTU"),
    "envs": ("make",),
    "experiments": ("Run",),
    "experiments.door": ("train",),
    "loops": ("BadInput", "Learner"),
    "networks": ("Architecture",),
    "updates": ("SGD", "AdaptiveObGD", "ObGD"),
}
"""The packages, and what each of them lends to this one."""
_PACKAGES = [package for package in _EXPORTS if "." not in package]
_HOME = {name: package for package, names in _EXPORTS.items() for name in names}


def __getattr__(name: str) -> Any:
    # Importing JAX takes a second, and ``rillax --help`` need not wait for it.
    if name in _PACKAGES:
        return importlib.import_module(f"rillax.{name}")
    if name in _HOME:
        value = getattr(importlib.import_module(f"rillax.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'rillax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
