"""Environments that run inside the agent's loop, and ``make`` to get one by name."""

from collections.abc import Callable
from typing import Any

import gymnasium

from rillax.envs import others
from rillax.envs.environment import Environment, is_jax, spaces_of
from rillax.envs.k_memory_chain import KMemoryChain
from rillax.envs.memory_chain import MemoryChain
from rillax.envs.mujoco import NAMES as MUJOCO
from rillax.envs.mujoco import make_mujoco
from rillax.envs.popgym import GAMES
from rillax.envs.trace_conditioning import TraceConditioning
from rillax.envs.wrappers import ObservationWrapper, PreviousAction, PreviousReward
from rillax.utils.own import call, nearest

__all__ = [
    "MUJOCO",
    "POPGYM",
    "Environment",
    "KMemoryChain",
    "MemoryChain",
    "PreviousAction",
    "PreviousReward",
    "TraceConditioning",
    "check",
    "is_gymnasium",
    "is_jax",
    "is_ours",
    "make",
    "names",
    "spaces_of",
]

POPGYM = list(GAMES)

_ENVIRONMENTS: dict[str, Callable[..., Environment]] = {
    "MemoryChain": MemoryChain,
    "KMemoryChain": KMemoryChain,
    "TraceConditioning": TraceConditioning,
    **GAMES,
}


def names() -> list[str]:
    """The names that ``make`` knows: ours, then every environment of gymnax if it is installed.

    Any other id that Gymnasium knows works as well, and ``gymnasium:ID`` names Gymnasium's where
    gymnax has one of the same name. ``module:Name`` is one of your own.
    """
    return [*_ENVIRONMENTS, *MUJOCO, *others.gymnax_names()]


def make(
    name: str,
    *,
    previous_action: bool | None = None,
    previous_reward: bool = False,
    **settings: Any,
) -> Environment | gymnasium.Env:
    """An environment by name: in JAX, or, for MuJoCo and other ids of Gymnasium, theirs.

    ``env.default_params`` of an environment in JAX carries its settings.

    >>> make("MemoryChain", length=16).default_params.memory_length
    16

    ``previous_action`` and ``previous_reward`` append those to the observation, in that order. Left
    to itself, the action is there in the games whose reference declares that it has to be.

    ``make("my_envs:Maze", size=5)`` imports ``my_envs``, from the current directory too, and calls
    its ``Maze`` with the settings; that may be a class or a function, and what it makes in JAX or a
    ``gymnasium.Env``. If the module has nothing of that name, it is taken for an id that importing
    the module registers with Gymnasium.
    """
    env = _make(name, settings)
    if not is_jax(env):
        for wish, granted in {"action": previous_action, "reward": previous_reward}.items():
            if granted:
                raise ValueError(f"previous_{wish} needs an environment in JAX, {name} is none")
        return env
    if previous_action is None:
        previous_action = getattr(env, "obs_requires_prev_action", False)
    if previous_action:
        env = PreviousAction(env)
    if previous_reward:
        env = PreviousReward(env)
    return env


def check(name: str) -> None:
    """Raise a ValueError that says what is near, unless ``make`` knows the name.

    Of ``module:Name`` nothing can be said before the module is imported, which ``make`` does.
    """
    if _is_ours(name) or others.is_own(name) or is_gymnasium(name) or others.is_gymnax(name):
        return
    close = nearest(name, [*names(), *gymnasium.registry])
    hint = f"did you mean {others.either(close)}? " if close else ""
    missing = "" if others.gymnax_is_installed() else f"; gymnax's need {others.INSTALL_GYMNAX}"
    raise ValueError(f"unknown environment {name!r}; {hint}`rillax envs` lists all{missing}")


def is_ours(env: Any) -> bool:
    """Whether an environment is one of this package's, with nothing of anyone else's inside."""
    return type(env).__module__.startswith(f"{__name__}.") and not isinstance(
        env, ObservationWrapper
    )


def is_gymnasium(name: str) -> bool:
    """Whether a name is an id of Gymnasium's, and not one of ours or of gymnax."""
    return not _is_ours(name) and others.is_gymnasium_id(name)


def _is_ours(name: str) -> bool:
    return name in _ENVIRONMENTS or name in MUJOCO


def _make(name: str, settings: dict[str, Any]) -> Any:
    check(name)
    if name in _ENVIRONMENTS:
        return call(name, _ENVIRONMENTS[name], settings)
    if name in MUJOCO:
        return call(name, lambda: make_mujoco(name), settings)
    if others.is_own(name):
        return others.make_own(name, settings)
    if is_gymnasium(name):
        return others.make_gymnasium(name, settings)
    return others.make_gymnax(name, settings)
