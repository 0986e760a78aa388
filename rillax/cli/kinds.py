"""Choices among kinds: which agent, which recurrent cell, which step-size rules.

They are read before the other flags, as they decide which flags there are. Each is one of ours or
the user's own, as ``module:Name``. What the chosen kind has in common with the one it takes the
place of keeps its value: ``--cell gru`` has as many units as the RTU would have had.
"""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from rillax.cells import CELLS, FeedForward, Gradient
from rillax.cli.arguments import peek, take
from rillax.cli.flags import read_int
from rillax.updates import RULES
from rillax.utils import settings
from rillax.utils.names import choose
from rillax.utils.settings import Leaf, is_settings

Kinds = Mapping[str, Any]
OWN = "or module:Name for one of your own"


def own_agent(place: str) -> Any:
    """An agent of the user's, with its own defaults."""
    return _value("agent", place, settings.find(place, trust=True), {}, ("init", "act"))


def choose_parts(agent: Any, argv: list[str]) -> tuple[Any, list[str]]:
    """The agent with the cell, the layers and the rules that were asked for, and the arguments."""
    new = {name: _with_layers(part, argv) for name, part in _networks(agent)}
    for flag in ("--cell", "--layers"):
        if peek(argv, flag) is not None and not new:
            raise ValueError(
                f"{flag} is for agents with a network, and {type(agent).__name__} has none"
            )
    for name, part in _others(agent):
        if (kind := peek(argv, f"--{name.replace('_', '-')}")) is not None:
            new[name] = _exchange(part, kind, *_kinds(part))
    agent = dataclasses.replace(agent, **new)
    return agent, _without_gradient(agent, argv)


def choices(agent: Any) -> dict[str, Leaf]:
    """The flags above, with what is chosen as their default."""
    kind: type = type(agent)
    texts = settings.help_texts(kind)
    found = {n: _choice(part, _kinds(part)[1], texts.get(n, "")) for n, part in _others(agent)}
    for _, network in _networks(agent):
        found["cell"] = _choice(network.layers[0], CELLS, "The recurrent cell.")
        several = len(network.layers)
        found["layers"] = Leaf((), int, several, "How many recurrent layers, one like the other.")
    return found


def _choice(part: Any, ours: Kinds, text: str) -> Leaf:
    return Leaf((), str, name_of(part, ours), f"{text} Choose from: {', '.join(ours)}, {OWN}.")


def name_of(value: Any, ours: Kinds) -> str:
    """What a person types for the kind of a value."""
    kind = type(value)
    return next((n for n, cls in ours.items() if cls is kind), settings.place_of(kind))


def _kinds(part: Any) -> tuple[str, Kinds]:
    """What a part is called, and ours of its sort."""
    is_cell = type(part) in CELLS.values()
    return ("cell", CELLS) if is_cell else ("step-size rule", RULES)


def _networks(agent: Any) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(agent):
        layers = getattr(part := getattr(agent, field.name), "layers", None)
        if is_settings(part) and isinstance(layers, tuple) and layers:
            yield field.name, part


def _others(agent: Any) -> Iterator[tuple[str, Any]]:
    """The parts that are not networks: step-size rules."""
    networks = dict(_networks(agent))
    for name, part in settings.parts(agent).items():
        if name not in networks and hasattr(part, "build"):
            yield name, part


def _with_layers(network: Any, argv: list[str]) -> Any:
    layers = network.layers
    if (kind := peek(argv, "--cell")) is not None:
        layers = tuple(_exchange(layer, kind, "cell", CELLS) for layer in layers)
    if (number := peek(argv, "--layers")) is not None:
        layers = _how_many(number) * layers[:1]
    return dataclasses.replace(network, layers=layers)


def _how_many(text: str) -> int:
    try:
        number = read_int(text)
    except ValueError as error:
        raise ValueError(f"--layers: {error}") from None
    if number < 1:
        raise ValueError(f"layers must be at least 1, got {number}")
    return number


def _exchange(part: Any, kind: str, what: str, ours: Kinds) -> Any:
    """A part of another kind; settings that both kinds have keep their values."""
    found = settings.resolve(what, kind, ours)
    if found is type(part):
        return part
    kept = {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.init}
    return _value(what, kind, found, kept, ("build",))


def _value(what: str, name: str, found: Any, kept: Kinds, needs: tuple[str, ...]) -> Any:
    """Settings of a kind that was named: a frozen dataclass, or one that is made already."""
    if not is_settings(found):
        if not (isinstance(found, type) and dataclasses.is_dataclass(found)):
            raise ValueError(f"{name} cannot be the {what}: it is not a dataclass")
        fields = {f.name for f in dataclasses.fields(found) if f.init}
        try:
            found = found(**{n: value for n, value in kept.items() if n in fields})
        except TypeError as error:
            raise ValueError(
                f"{name} cannot be the {what}: give each of its fields a default ({error})"
            ) from error
    if not type(found).__dataclass_params__.frozen:
        raise ValueError(f"{name} cannot be the {what}: its dataclass must be frozen")
    for method in needs:
        if not hasattr(found, method):
            raise ValueError(f"{name} cannot be the {what}: it has no {method}")
    return found


def _without_gradient(agent: Any, argv: list[str]) -> list[str]:
    """Without --gradient where nothing recurs: there it means nothing, and does no harm."""
    layers = [layer for _, network in _networks(agent) for layer in network.layers]
    if not layers or not all(isinstance(layer, FeedForward) for layer in layers):
        return argv
    gradient, rest = take(argv, "--gradient")
    if gradient is not None:
        choose("gradient", gradient, get_args(Gradient))
    return rest
