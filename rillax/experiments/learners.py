"""One seed of a run on disk, for ``Learner.from_run`` and ``rillax export``."""

from pathlib import Path
from typing import Any

from rillax import envs
from rillax.experiments.description import Run
from rillax.experiments.evaluation import of_seed, trained
from rillax.experiments.training import read_config
from rillax.loops.interface import require_steps

Spaces = tuple[Any, Any]


def settings_of_run(path: Path, trust: bool = False) -> tuple[Run, Spaces]:
    """A run and the spaces of its environment."""
    run, _ = read_config(path, trust)
    require_steps(run.agent, "a Learner needs a run of a streaming agent such as stream_ac")
    return run, envs.spaces_of(envs.make(run.env, **run.env_settings))


def open_run(path: Path, seed: int | None = None, trust: bool = False) -> tuple[Run, Spaces, Any]:
    """A run, its spaces, and the state of one seed's agent."""
    run, spaces = settings_of_run(path, trust)
    at = index_of(run, seed, path)
    return run, spaces, of_seed(trained(path, trust, at)[1], at)


def index_of(run: Run, seed: int | None, path: Path) -> int:
    """Which of a run's seeds this is; the first if not given."""
    chosen = run.seed if seed is None else seed
    at = chosen - run.seed
    if not 0 <= at < run.seeds:
        seeds = f"{run.seed} to {run.seed + run.seeds - 1}"
        raise ValueError(f"{path} has no seed {chosen}; it has {seeds}")
    return at
