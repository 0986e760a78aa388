"""``rillax export``: a learner as C, to learn where there is no Python."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from rillax import export
from rillax.cli.flags import Int
from rillax.cli.terminal import parse, say
from rillax.experiments.checkpoints import CHECKPOINT
from rillax.experiments.evaluation import of_seed, trained
from rillax.experiments.learners import index_of, settings_of_run
from rillax.experiments.training import check_memory
from rillax.loops import Learner
from rillax.utils import checkpoint, machine
from rillax.utils.files import OutputError


@dataclass(frozen=True)
class Export:
    """Write a learner as one C file that goes on learning where it stands.

    RUN is the directory of a run, or a file that Learner.save wrote. Writes learner.h, learner.c
    and learner.json, which rillax import needs, into the directory --out.
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    target: Literal["c"] = "c"
    """The language."""
    out: Path = Path("learner")
    """Directory for what is written."""
    seed: Int | None = None
    """Which seed of a run; the first if not given."""
    fresh: bool = False
    """Start as a new learner would, with the settings of the run alone."""
    trust: bool = False
    """Import code that the run names: an agent, cell or rule that is not rillax's."""


def main(argv: list[str]) -> None:
    flags = parse(Export, argv, "rillax export")
    machine.keep_compilations()
    learner = learner_of(flags.run, flags.seed, flags.fresh, flags.trust)
    paths = export.write(
        flags.out,
        learner.agent,
        learner.observation_space,
        learner.action_space,
        checkpoint.flatten(learner.state),
        learner.describe(),
        acted=learner.acted,
    )
    say(*map(str, paths))


def learner_of(path: Path, seed: int | None, fresh: bool, trust: bool) -> Learner:
    """The learner in a file of Learner.save's, or one seed of a run."""
    if not path.is_dir():
        learner = Learner.load(path, trust=trust)
        if not fresh:
            return learner
        spaces = learner.observation_space, learner.action_space
        return Learner(learner.agent, *spaces, seed=seed or 0)
    run, spaces = settings_of_run(path, trust)
    chosen = run.seed if seed is None else seed
    if fresh:
        check_memory(dataclasses.replace(run, seeds=1))
        return Learner(run.agent, *spaces, seed=chosen)
    at = index_of(run, chosen, path)
    if not (path / CHECKPOINT).exists():
        raise OutputError(
            f"{path} has no {CHECKPOINT} to go on from; --fresh starts from its settings alone"
        )
    state = of_seed(trained(path, trust, at)[1], at)
    learner = Learner(run.agent, *spaces, seed=chosen)
    learner.go_on(state)
    return learner
