"""Environments that run inside the agent's loop, and ``make`` to get one by name."""

import inspect
from collections.abc import Callable
from typing import Any

import gymnasium
import gymnax
from gymnax.environments.environment import Environment

from rillax.envs.environment import is_jax
from rillax.envs.k_memory_chain import KMemoryChain
from rillax.envs.memory_chain import MemoryChain
from rillax.envs.mujoco import NAMES as MUJOCO
from rillax.envs.mujoco import make_mujoco
from rillax.envs.popgym import GAMES
from rillax.envs.wrappers import ObservationWrapper, PreviousAction, PreviousReward
from rillax.utils.names import choose

__all__ = [
    "MUJOCO",
    "POPGYM",
    "KMemoryChain",
    "MemoryChain",
    "PreviousAction",
    "PreviousReward",
    "is_jax",
    "is_ours",
    "make",
    "names",
]

POPGYM = list(GAMES)

_ENVIRONMENTS: dict[str, Callable[..., Environment]] = {
    "MemoryChain": MemoryChain,
    "KMemoryChain": KMemoryChain,
    **GAMES,
}


def names() -> list[str]:
    """The names that ``make`` knows: ours, then every environment of gymnax.

    Any other id that Gymnasium knows works as well, and ``gymnasium:ID`` names Gymnasium's where
    gymnax has one of the same name.
    """
    return [*_ENVIRONMENTS, *MUJOCO, *gymnax.registered_envs]


def make(
    name: str,
    *,
    previous_action: bool | None = None,
    previous_reward: bool = False,
    **settings: Any,
) -> Environment | gymnasium.Env:
    """An environment by name: a gymnax one, or, for MuJoCo and other ids of Gymnasium, theirs.

    ``env.default_params`` of a gymnax environment carries its settings.

    >>> make("MemoryChain", length=16).default_params.memory_length
    16

    ``previous_action`` and ``previous_reward`` append those to the observation, in that order. Left
    to itself, the action is there in the games whose reference declares that it has to be.
    """
    if name in MUJOCO or is_gymnasium(name):
        return _make_gymnasium(name, settings)
    env: Environment = _make(name, settings)
    if previous_action is None:
        previous_action = getattr(env, "obs_requires_prev_action", False)
    if previous_action:
        env = PreviousAction(env)
    if previous_reward:
        env = PreviousReward(env)
    return env


def is_ours(env: Any) -> bool:
    """Whether an environment is one of this package's, with nothing of anyone else's inside."""
    return type(env).__module__.startswith(f"{__name__}.") and not isinstance(
        env, ObservationWrapper
    )


def is_gymnasium(name: str) -> bool:
    """Whether a name is an id of Gymnasium's, and not one of ours or of gymnax."""
    if name.startswith("gymnasium:"):
        return True
    return name not in names() and name in gymnasium.registry


def _make_gymnasium(name: str, settings: dict[str, Any]) -> gymnasium.Env:
    if name in MUJOCO:
        if settings:
            raise ValueError(f"{name} has no setting {next(iter(settings))!r}; it has none")
        return make_mujoco(name)
    id = name.removeprefix("gymnasium:")
    try:
        return gymnasium.make(id, **settings)
    except (gymnasium.error.Error, TypeError) as error:
        raise ValueError(f"Gymnasium cannot make {id}: {error}") from error


def _make(name: str, settings: dict[str, Any]) -> Environment:
    choose("environment", name, names())
    factory = _ENVIRONMENTS.get(name) or type(gymnax.make(name)[0])
    accepted = inspect.signature(factory).parameters
    for setting in settings:
        if setting not in accepted:
            has = f"it has: {', '.join(accepted)}" if accepted else "it has none"
            raise ValueError(f"{name} has no setting {setting!r}; {has}")
    return factory(**settings)
