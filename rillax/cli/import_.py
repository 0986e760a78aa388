"""``rillax import``: what a learner in C has saved, as a checkpoint of a Learner."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from rillax import export
from rillax.cli.terminal import parse, say
from rillax.loops.learner import Learner, described
from rillax.utils import checkpoint


@dataclass(frozen=True)
class Import:
    """Turn what learner_save wrote on a device into a file for Learner.load."""

    saved: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="BYTES")]
    learner: Path = Path("learner")
    """The directory that rillax export wrote."""
    out: Path = Path("learner.rillax")
    """The file to write."""
    trust: bool = False
    """Import code that the description names: an agent, cell or rule that is not rillax's."""


def main(argv: list[str]) -> None:
    flags = parse(Import, argv, "rillax import")
    learner = imported(flags.saved, flags.learner, flags.trust)
    learner.save(flags.out)
    say(str(flags.out))


def imported(saved: Path, directory: Path, trust: bool = False) -> Learner:
    """The learner that a device has saved."""
    try:
        content = saved.read_bytes()
    except OSError as error:
        raise checkpoint.CheckpointError(
            f"cannot read {saved}: {error.strerror or error}"
        ) from error
    meta = export.described(directory)
    try:
        agent, observed, acts = described(meta, trust=trust)
        learner = Learner(agent, observed, acts, on_bad_input=meta["on_bad_input"])
    except Exception as error:  # a file from a stranger may raise anything
        raise checkpoint.CheckpointError(f"{directory} cannot be used: {error}") from error
    like = checkpoint.flatten(learner.state)
    arrays, acted = export.read(content, agent, observed, acts, like, str(saved))
    learner.go_on(checkpoint.unflatten(learner.state, arrays, str(saved)), acted)
    return learner
