"""Environments from elsewhere: Gymnasium's, gymnax's, and those of a user's own module.

gymnax is an optional extra, and slow to import: that happens where a name can only be one of its.
"""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import gymnasium

from rillax.envs.environment import Environment, is_jax
from rillax.utils.own import call, import_own, nearest

INSTALL_GYMNAX = "pip install 'rillax[gymnax]'"

SHARED = (
    "Acrobot-v1",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
)
"""Names that gymnax and Gymnasium both have. They are gymnax's, whether it is installed or not."""

_NEEDED = ("default_params", "reset", "step", "action_space", "observation_space")


# Gymnasium.


def is_gymnasium_id(name: str) -> bool:
    """Whether a name is Gymnasium's and not gymnax's; ``gymnasium:ID`` always is."""
    if name.startswith("gymnasium:"):
        return True
    return name in gymnasium.registry and not is_gymnax(name)


def make_gymnasium(name: str, settings: dict[str, Any]) -> gymnasium.Env:
    id = name.removeprefix("gymnasium:")
    try:
        return gymnasium.make(id, **settings)
    except (gymnasium.error.Error, TypeError) as error:
        raise ValueError(f"Gymnasium cannot make {id}: {error}") from error


# gymnax.


def gymnax_is_installed() -> bool:
    return find_spec("gymnax") is not None


def gymnax_names() -> list[str]:
    """The names that gymnax knows; none where it is not installed."""
    return list(_gymnax().registered_envs) if gymnax_is_installed() else []


def is_gymnax(name: str) -> bool:
    return name in SHARED or name in gymnax_names()


def make_gymnax(name: str, settings: dict[str, Any]) -> Environment:
    if not gymnax_is_installed():
        raise ValueError(
            f"{name} is gymnax's, which is not installed: {INSTALL_GYMNAX}, "
            f"or gymnasium:{name} for Gymnasium's"
        )
    return call(name, type(_gymnax().make(name)[0]), settings)


def _gymnax() -> ModuleType:
    return import_module("gymnax")


# A user's own.


def is_own(name: str) -> bool:
    """Whether a name is of the form ``module:Name``."""
    return ":" in name and not name.startswith("gymnasium:")


def names_code(name: str) -> bool:
    """Whether to make this environment imports a module that its name says."""
    return ":" in name.removeprefix("gymnasium:")


def make_own(reference: str, settings: dict[str, Any]) -> Environment | gymnasium.Env:
    """What ``Name`` of the module makes, or the environment that it registered with Gymnasium."""
    module, name = import_own(reference)
    if not hasattr(module, name):
        if name in gymnasium.registry:
            return make_gymnasium(name, settings)
        raise ValueError(_nothing_there(module, name))
    factory = getattr(module, name)
    if not callable(factory):
        raise ValueError(
            f"{reference} is of type {type(factory).__name__}: expected a class or a function that "
            "makes an environment"
        )
    return _checked(reference, call(reference, factory, settings))


def _nothing_there(module: ModuleType, name: str) -> str:
    public = [n for n, value in vars(module).items() if callable(value) and n[0] != "_"]
    close = nearest(name, [*public, *gymnasium.registry])
    return (
        f"{module.__name__} ({getattr(module, '__file__', None) or 'a package'}) has no {name!r}, "
        "and importing it did not register that id with Gymnasium"
        f"{f'; did you mean {either(close)}?' if close else ''}"
    )


def _checked(reference: str, env: Any) -> Environment | gymnasium.Env:
    if isinstance(env, gymnasium.Env):
        return env
    kind = type(env).__name__
    what = f"the class {env.__name__}" if isinstance(env, type) else f"something of type {kind}"
    if isinstance(env, type) or not is_jax(env):
        raise ValueError(
            f"{reference} made {what}, which is no environment: expected an instance of "
            "rillax.envs.environment.Environment (or gymnax's) or of gymnasium.Env"
        )
    missing = [name for name in _NEEDED if not hasattr(env, name)]
    if missing:
        raise ValueError(
            f"{reference} made {what}, which has no {' and no '.join(missing)}: "
            "rillax.envs.environment.Environment says what an environment needs"
        )
    return env


def either(names: list[str]) -> str:
    """Names for a reader to choose from: ``a, b or c``."""
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
