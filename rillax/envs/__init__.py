"""Environments that run inside the agent's loop, and ``make`` to get one by name."""

import inspect
from collections.abc import Callable
from typing import Any

import gymnax
from gymnax.environments.environment import Environment

from rillax.envs.k_memory_chain import KMemoryChain
from rillax.envs.memory_chain import MemoryChain
from rillax.envs.popgym import GAMES
from rillax.envs.wrappers import PreviousAction, PreviousReward
from rillax.names import choose

__all__ = ["KMemoryChain", "MemoryChain", "PreviousAction", "PreviousReward", "make", "names"]

_ENVIRONMENTS: dict[str, Callable[..., Environment]] = {
    "MemoryChain": MemoryChain,
    "KMemoryChain": KMemoryChain,
    **GAMES,
}


def names() -> list[str]:
    """The names that ``make`` knows: ours first, then every environment of gymnax."""
    return [*_ENVIRONMENTS, *gymnax.registered_envs]


def make(
    name: str,
    *,
    previous_action: bool | None = None,
    previous_reward: bool = False,
    **settings: Any,
) -> Environment:
    """An environment by name; ``env.default_params`` carries its settings.

    >>> make("MemoryChain", length=16).default_params.memory_length
    16

    ``previous_action`` and ``previous_reward`` append those to the observation, in that order. Left
    to itself, the action is there in the games whose reference declares that it has to be.
    """
    env = _make(name, settings)
    if previous_action is None:
        previous_action = getattr(env, "obs_requires_prev_action", False)
    if previous_action:
        env = PreviousAction(env)
    if previous_reward:
        env = PreviousReward(env)
    return env


def _make(name: str, settings: dict[str, Any]) -> Environment:
    choose("environment", name, names())
    factory = _ENVIRONMENTS.get(name) or type(gymnax.make(name)[0])
    accepted = inspect.signature(factory).parameters
    for setting in settings:
        if setting not in accepted:
            has = f"it has: {', '.join(accepted)}" if accepted else "it has none"
            raise ValueError(f"{name} has no setting {setting!r}; {has}")
    return factory(**settings)
