"""Settings are values: frozen dataclasses that go to JSON and back, and have flat names.

An agent is made of parts (a network, its recurrent layers, step-size rules), and each part is a
frozen dataclass. The same value is the argument in Python, the entry in ``config.json``, the flags
of the command line and the job of a grid:

- ``to_json`` and ``from_json``: a dataclass is an object with its fields and its ``kind``, the
  place it is imported from: ``rillax.cells:RTU``, or ``my_cells:Mine`` for one of a user's.
- ``flat`` and ``change``: every number by a short name. The fields of a network and of its
  recurrent layers go by their own names, those of any other part by the part's name as well:
  ``width``, ``units``, ``actor_kappa``.
"""

import ast
import dataclasses
import inspect
import sys
import textwrap
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from rillax.utils.names import choose
from rillax.utils.own import import_own

KIND, CODE, MAPPING = "kind", "code", "mapping"
LARGEST = 1e15
"""No setting in a file may be a larger number."""
PLAIN = ("network", "layers")
"""Parts whose settings go by their own names."""
Path = tuple[str | int, ...]


class Untrusted(ValueError):
    """A file names code that this program has not imported and was not told to trust."""


def is_settings(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


# ---- JSON


def to_json(value: Any) -> Any:
    """A settings value as JSON can hold it.

    >>> @dataclass(frozen=True)
    ... class Mine:
    ...     size: int = 3
    >>> to_json((Mine(), None))
    [{'kind': 'rillax.utils:Mine', 'size': 3}, None]

    A field with ``metadata={"quiet": True}`` is left out at its default.
    """
    if is_settings(value):
        told = [f for f in dataclasses.fields(value) if not _is_quiet(f, getattr(value, f.name))]
        fields = {f.name: to_json(getattr(value, f.name)) for f in told}
        return {KIND: place_of(type(value)), **fields}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, Mapping):
        items = {name: to_json(item) for name, item in value.items()}
        # A name of the user's that means something here: an environment's setting "kind".
        return {MAPPING: items} if {KIND, CODE, MAPPING} & items.keys() else items
    if callable(value):
        return {CODE: place_of(value)}
    return value


def _is_quiet(field: Any, value: Any) -> bool:
    return bool(field.metadata.get("quiet")) and value == field.default


def from_json(value: Any, trust: bool = False) -> Any:
    """The value that was described; lists become tuples, as settings never change.

    A kind outside of rillax is code of a user's. It is taken from a module that the program has
    imported already; another module is imported only if the caller trusts the file.
    """
    if isinstance(value, list):
        return tuple(from_json(item, trust) for item in value)
    if not isinstance(value, dict):
        return value
    if CODE in value:
        return _function(value[CODE], trust)
    if KIND not in value:
        value = value.get(MAPPING, value)
        return {name: from_json(item, trust) for name, item in value.items()}
    parts = dict(value)
    place = parts.pop(KIND)
    cls = find(place, trust)
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise ValueError(f"{place} is not a dataclass, and so no settings")
    if not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise ValueError(f"{place} is a dataclass that can change: settings must be frozen")
    fields = [field.name for field in dataclasses.fields(cls)]
    for name in parts:
        choose(f"setting of {cls.__name__}", name, fields)
    return cls(**{name: from_json(item, trust) for name, item in parts.items()})


def _function(place: str, trust: bool) -> Callable[..., Any]:
    """A function that a file names would be called with arguments of the file's choosing."""
    require_trust(place, trust)
    found = find(place, trust)
    if not callable(found):
        raise ValueError(f"{place} is not a function or class")
    return found


_UNTRUSTED = (
    "this needs code of a user's, {place}, and a file alone may not run it: import {module} first, "
    "give the agent itself, or say that you trust the file (--trust; trust=True in Python)"
)


def place_of(thing: Any) -> str:
    """Where a class or function is imported from: ``module:Name``, for ours the package's."""
    module, name = thing.__module__, getattr(thing, "__qualname__", repr(thing))
    if module.startswith("rillax."):
        module = ".".join(module.split(".")[:2])
    return f"{module}:{name}"


def check_trust(place: str, trust: bool) -> None:
    """Raise an error unless the code at ``module:Name`` may be taken on a file's word."""
    module = place.partition(":")[0]
    ours = module == "rillax" or module.startswith("rillax.")
    if not (ours or trust or module in sys.modules):
        raise Untrusted(_UNTRUSTED.format(place=place, module=module))


def require_trust(place: str, trust: bool) -> None:
    """Raise an error unless a file may have the code at ``module:Name`` called as it likes.

    That the module is imported already is not enough: Python's own have functions that run
    programs.
    """
    if not trust:
        raise Untrusted(_UNTRUSTED.format(place=place, module=place.partition(":")[0]))


def check_numbers(value: Any, name: str = "the value") -> None:
    """Raise an error if a number in a settings value is not finite, or beyond all reason."""
    if is_settings(value):
        for field in dataclasses.fields(value):
            check_numbers(getattr(value, field.name), field.name)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            check_numbers(item, str(key))
    elif isinstance(value, tuple | list):
        for item in value:
            check_numbers(item, name)
    elif isinstance(value, int | float) and not abs(value) <= LARGEST:
        raise ValueError(f"{name} must be a number of at most {LARGEST:g}, got {str(value)[:20]}")


def find(place: str, trust: bool = False) -> Any:
    """The class or function at ``module:Name``."""
    module, _, name = str(place).partition(":")
    check_trust(str(place), trust)
    found: Any = sys.modules.get(module) or import_own(place)[0]
    for part in name.split("."):
        if part == "<locals>" or not hasattr(found, part):
            raise ValueError(
                f"there is no {name} in {module}: it must be defined at the top of that module"
            )
        found = getattr(found, part)
    return found


def all_ours(value: Any) -> bool:
    """Whether every part of a settings value, and every function in it, is rillax's."""
    if is_settings(value):
        ours = type(value).__module__.startswith("rillax.")
        return ours and all(all_ours(getattr(value, f.name)) for f in dataclasses.fields(value))
    if isinstance(value, tuple):
        return all(all_ours(item) for item in value)
    return not callable(value)


# ---- flat names


@dataclass(frozen=True)
class Leaf:
    """A setting by its short name. Equal layers share one, so it may stand in several places."""

    paths: tuple[Path, ...]
    type: Any
    value: Any
    help: str


def flat(value: Any) -> dict[str, Leaf]:
    """Every setting that is not itself a part, by its short name."""
    found: dict[str, Leaf] = {}
    for path, owner in sorted(_parts(value), key=lambda part: len(part[0])):
        cls: Any = type(owner)
        hints, helps = _hints(cls), help_texts(cls)
        for field in dataclasses.fields(owner):
            inner = getattr(owner, field.name)
            if _is_part(inner):
                continue
            name = _short(path, field.name)
            here = (*path, field.name)
            if name in found and _without_index(found[name].paths[0]) != _without_index(here):
                name = f"cell_{name}"  # a recurrent layer's; the network's own has the short name
            if name in found:
                found[name] = dataclasses.replace(found[name], paths=(*found[name].paths, here))
            else:
                leaf = Leaf((here,), hints[field.name], inner, helps.get(field.name, ""))
                found[name] = leaf
    return found


def change(value: Any, **settings: Any) -> Any:
    """The same value with other settings, by their short names.

    >>> from rillax.agents import StreamAC
    >>> change(StreamAC(), actor_kappa=2.0, units=32).actor.kappa
    2.0
    """
    names = flat(value)
    by_path: dict[Path, Any] = {}
    for name, new in settings.items():
        choose(f"setting of {type(value).__name__}", name, names)
        by_path |= dict.fromkeys(names[name].paths, new)
    return _put(value, by_path)


def parts(value: Any) -> dict[str, Any]:
    """The direct parts of a value that could be of another kind, by field: layers, rules."""
    return {
        path[0]: part  # type: ignore[misc]
        for path, part in _parts(value)
        if len(path) == 1 and path[0] not in PLAIN
    }


def _is_part(value: Any) -> bool:
    several = isinstance(value, tuple) and bool(value) and all(map(is_settings, value))
    return is_settings(value) or several


def _parts(value: Any, at: Path = ()) -> Iterator[tuple[Path, Any]]:
    """A settings value and all its parts, with their paths."""
    if isinstance(value, tuple):
        for i, item in enumerate(value):
            yield from _parts(item, (*at, i))
        return
    yield at, value
    for field in dataclasses.fields(value):
        inner = getattr(value, field.name)
        if _is_part(inner):
            yield from _parts(inner, (*at, field.name))


def _put(value: Any, by_path: Mapping[Path, Any], at: Path = ()) -> Any:
    if isinstance(value, tuple):
        return tuple(_put(item, by_path, (*at, i)) for i, item in enumerate(value))
    new = {}
    for field in dataclasses.fields(value):
        here, inner = (*at, field.name), getattr(value, field.name)
        if here in by_path:
            new[field.name] = by_path[here]
        elif _is_part(inner):
            new[field.name] = _put(inner, by_path, here)
    return dataclasses.replace(value, **new)


def _short(path: Path, name: str) -> str:
    return "_".join([str(p) for p in path if p not in PLAIN and not isinstance(p, int)] + [name])


def _without_index(path: Path) -> Path:
    return tuple(p for p in path if not isinstance(p, int))


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def help_texts(cls: Any) -> dict[str, str]:
    """What the string under each field of a dataclass says, for help texts."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not dataclasses.is_dataclass(base):
            continue
        source: Any = base
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(source))).body
        except (OSError, TypeError, SyntaxError):
            continue
        assert isinstance(tree, ast.ClassDef)
        for field, text in zip(tree.body, tree.body[1:], strict=False):
            match field, text:
                case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(words))):
                    texts[name] = inspect.cleandoc(words)
    return texts


def resolve(what: str, name: str, ours: Mapping[str, Callable[..., Any]]) -> Any:
    """A kind that a person named: one of ours, or their own as ``module:Name``."""
    if ":" in name:
        return find(name, trust=True)
    choose(what, name, ours)
    return ours[name]
