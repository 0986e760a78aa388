"""Settings as flags: every number of a settings value is a flag, by its short name.

``settings.flat`` names what there is. ``flag_class`` makes a dataclass of it that tyro can parse,
and ``settings.change`` puts what was given back into the value. Each kind of setting is read by a
``Reader``, so that a mistake is told in our words.
"""

import collections.abc
import dataclasses
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import tyro
from tyro.constructors import PrimitiveConstructorSpec

from rillax.utils import settings
from rillax.utils.names import choose
from rillax.utils.settings import Leaf


@dataclass(frozen=True)
class Reader:
    """Text to a value, and what the help calls such a value."""

    metavar: str
    read: Callable[[str], Any]


def read_int(text: str) -> int:
    """A whole number.

    >>> read_int("100_000") == read_int("1e5") == 100_000
    True
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = 0.5
    if not number.is_integer():
        raise ValueError(f"{text!r} is not a whole number")
    return int(number)


def _read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None


def _read_bool(text: str) -> bool:
    values = {"true": True, "false": False}
    choose("truth value", text.lower(), values)
    return values[text.lower()]


def _read_none(text: str) -> None:
    if text.lower() != "none":
        raise ValueError(f"{text!r} is not None")


def read_code(place: str) -> Callable[..., Any]:
    """A function or class of the user's, by ``module:Name``."""
    if ":" not in place:
        raise ValueError(f"{place!r} is not a place in a module: give it as module:Name")
    found = settings.find(place, trust=True)
    if not callable(found):
        raise ValueError(f"{place} is not a function or class")
    return found


_READERS: dict[Any, Reader] = {
    bool: Reader("True|False", _read_bool),
    int: Reader("INT", read_int),
    float: Reader("FLOAT", _read_float),
    str: Reader("STR", str),
    Path: Reader("PATH", Path),
    type(None): Reader("None", _read_none),
    collections.abc.Callable: Reader("MODULE:NAME", read_code),
}


def reader(hint: Any, what: str = "value") -> Reader | None:
    """What reads values of a type; None if a flag cannot hold them. Errors name ``what``."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return _one_of(what, inner) if all(isinstance(i, str) for i in inner) else None
    if origin in (typing.Union, types.UnionType):
        found = [reader(member, what) for member in inner]
        return None if None in found else _any_of([r for r in found if r is not None])
    if origin is tuple and inner[1:] == (...,):
        one = reader(inner[0], what)
        return None if one is None else _list_of(one)
    return next((r for kind, r in _READERS.items() if (origin or hint) is kind), None)


def _list_of(one: Reader) -> Reader:
    """Values with commas between them; nothing at all is the empty list.

    >>> _list_of(_READERS[int]).read("64,128"), _list_of(_READERS[int]).read("")
    ((64, 128), ())
    """

    def read(text: str) -> tuple[Any, ...]:
        return tuple(one.read(part) for part in text.split(",")) if text else ()

    return Reader(f"{one.metavar},...", read)


def _one_of(what: str, choices: tuple[str, ...]) -> Reader:
    def read(text: str) -> str:
        choose(what, text, choices)
        return text

    return Reader(f"{{{','.join(choices)}}}", read)


def _any_of(readers: list[Reader]) -> Reader:
    """The first that can read it; else what the first of them has against it."""

    def read(text: str) -> Any:
        wrong: list[ValueError] = []
        for one in readers:
            try:
                return one.read(text)
            except ValueError as error:
                wrong.append(error)
        raise wrong[0]

    return Reader("|".join(one.metavar for one in readers), read)


def flag_type(hint: Any, what: str = "value") -> Any:
    """A type as tyro parses it; None if a flag cannot hold it.

    A plain bool (--flag, --no-flag), several values, and what is annotated already are left to
    tyro.
    """
    several = get_origin(hint) is tuple and all(i in (int, float, str, ...) for i in get_args(hint))
    if hint is bool or several or get_origin(hint) is Annotated:
        return hint
    found = reader(hint, what)
    # The reader knows what comes of it, so tyro need not understand the type.
    return None if found is None else Annotated[Any, _spec(found)]


def _spec(reader: Reader) -> PrimitiveConstructorSpec[Any]:
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=reader.metavar,
        instance_from_str=lambda texts: reader.read(texts[0]),
        is_instance=lambda value: True,  # a default is what the settings say
        str_from_instance=lambda value: [_text(value)],
    )


def _text(value: Any) -> str:
    """A default as it would be given."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return settings.place_of(value) if callable(value) else str(value)


Int = Annotated[int, _spec(_READERS[int])]
OptionalInt = Annotated[int | None, _spec(_any_of([_READERS[int], _READERS[type(None)]]))]
"""For flags that are written down as a dataclass."""


@dataclass(frozen=True)
class Flag:
    """A flag: the heading it is under, and which setting of which value it gives."""

    heading: str
    owner: str
    setting: str
    leaf: Leaf


def flags_of(leaves: Mapping[str, Leaf], owner: str, heading: str) -> dict[str, Flag]:
    """A flag for every setting that a flag can hold."""
    return {
        name: Flag(heading, owner, name, leaf)
        for name, leaf in leaves.items()
        if flag_type(leaf.type) is not None
    }


def flag_class(flags: Mapping[str, Flag], headings: Iterable[str], about: str) -> Any:
    """A dataclass for tyro, with a part for every heading."""
    grouped = {h: {n: f for n, f in flags.items() if f.heading == h} for h in headings}
    parts = [(heading, _part(inside)) for heading, inside in grouped.items() if inside]
    made = dataclasses.make_dataclass("Flags", parts, frozen=True)
    made.__doc__ = about
    return made


def _part(flags: Mapping[str, Flag]) -> type:
    fields = []
    for name, flag in flags.items():
        leaf = flag.leaf
        text = " ".join(leaf.help.split()) or None
        kind = flag_type(leaf.type, name)
        annotated: Any = Annotated[kind, tyro.conf.arg(help=text)]
        # A factory, as a default that can change is not allowed as such.
        default = dataclasses.field(default_factory=partial(getattr, leaf, "value"))
        fields.append((name, annotated, default))
    return dataclasses.make_dataclass("Part", fields, frozen=True)


def given(parsed: Any, flags: Mapping[str, Flag], owner: str) -> dict[str, Any]:
    """The settings of one owner that are not at their defaults, from a parsed ``flag_class``."""
    values = {
        flag.setting: (getattr(getattr(parsed, flag.heading), name), flag.leaf.value)
        for name, flag in flags.items()
        if flag.owner == owner
    }
    return {name: value for name, (value, default) in values.items() if value != default}
