"""``rillax envs``."""

from dataclasses import dataclass

from rillax.cli.terminal import parse, say


@dataclass(frozen=True)
class Envs:
    """List the environments.

    `rillax train --env` takes each of these names, any id of Gymnasium, and module:Name for one of
    your own.
    """


def main(argv: list[str]) -> None:
    parse(Envs, argv, "rillax envs")
    from rillax import envs

    say("\n".join(envs.names()))
