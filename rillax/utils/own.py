"""A user's own part by ``module:Name``, and the errors of those who hand one in.

The module is looked for in the current directory too, as ``python -m`` would.
"""

import difflib
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any


def import_own(reference: str) -> tuple[ModuleType, str]:
    """The module of ``module:Name``, imported, and the name."""
    module, _, name = reference.partition(":")
    if not module or not name:
        raise ValueError(f"{reference!r} is not of the form module:Name, such as my_parts:Mine")
    if module.endswith(".py") or os.sep in module:
        meant = module.removesuffix(".py").replace(os.sep, ".").strip(".")
        raise ValueError(f"{module} is a path, and not a module's name: write {meant}:{name}")
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module), name
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and _is_part(error.name, module):
            raise ValueError(
                f"there is no module {module}, neither in the current directory ({os.getcwd()}) "
                "nor among the installed packages: stand where the file is, or install it"
            ) from error
        raise ValueError(
            f"importing {module} failed: {type(error).__name__}: {error}; "
            f"python -c 'import {module}' shows where"
        ) from error


def call(name: str, factory: Callable[..., Any], settings: Mapping[str, Any]) -> Any:
    """What the factory makes of the settings; an error says which of them does not fit."""
    try:
        accepted = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # a few of those written in C do not say what they take
        return factory(**settings)
    named = [p for p in accepted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    if not any(p.kind is p.VAR_KEYWORD for p in accepted):
        for setting in (s for s in settings if s not in {p.name for p in named}):
            has = f"it has: {', '.join(p.name for p in named)}" if named else "it has none"
            raise ValueError(f"{name} has no setting {setting!r}; {has}")
    for parameter in named:
        if parameter.default is parameter.empty and parameter.name not in settings:
            raise ValueError(f"{name} needs the setting {parameter.name!r}, which is not given")
    return factory(**settings)


def nearest(name: str, choices: Iterable[str], most: int = 5) -> list[str]:
    """The choices that look most like a name, the nearest first; capitals make no difference.

    >>> nearest("memorychain", ["KMemoryChain", "Battleship", "MemoryChain"])
    ['MemoryChain', 'KMemoryChain']
    """
    lowered = {choice.lower(): choice for choice in choices}
    return [lowered[n] for n in difflib.get_close_matches(name.lower(), lowered, n=most)]


def _is_part(missing: str | None, module: str) -> bool:
    return missing is not None and f"{module}.".startswith(f"{missing}.")
