"""``rillax agents``."""

import sys
from dataclasses import dataclass

from rillax.cli.terminal import parse, say


@dataclass(frozen=True)
class Agents:
    """List the agents, each with a line that says what it is.

    `rillax train --agent` takes each of these names, and module:Name for one of your own.
    """


def main(argv: list[str]) -> None:
    parse(Agents, argv, "rillax agents")
    from rillax.agents import AGENTS

    for name, cls in AGENTS.items():
        say(f"{name}: {(sys.modules[cls.__module__].__doc__ or '').splitlines()[0]}")
