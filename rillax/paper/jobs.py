"""The jobs of the paper: how they are made from its tables, and how they are changed."""

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from rillax.cells import CellSettings
from rillax.experiments import Job, Run, Timing
from rillax.networks import Architecture
from rillax.paper.tables import BATCHED_AGENTS, BATCHED_SEEDS, Table
from rillax.utils import settings

# Lines that several figures have.
QRC_RTU, AC_RTU, PPO_RTU, QRC_FFN = "QRC(λ)-RTU", "stream AC(λ)-RTU", "PPO-RTU", "QRC(λ)-FFN"
RILL, BROOK = "Rill", "Brook"
"""Our agent, and its sibling for continuous actions."""


def from_table(
    table: Table,
    name: str,
    group: str,
    label: str,
    env: str,
    *,
    env_settings: Mapping[str, Any] | None = None,
    cell: CellSettings | None = None,
    staleness: int | None = None,
) -> Job:
    """A job with the numbers of a table, and another cell if one is given."""
    agent = table.agent_for(table.frames)
    run = Run(
        agent=agent if cell is None else with_cell(agent, cell),
        env=env,
        env_settings=dict(env_settings or {}),
        frames=table.frames,
        seeds=table.seeds,
        staleness=staleness,
    )
    return Job(name, group, label, table.source, run)


def with_ppo(like: Table, name: str, group: str, env: str) -> Job:
    """PPO with RTU, for as many frames as its rivals have."""
    run = Run(agent=BATCHED_AGENTS[like.family], env=env, frames=like.frames, seeds=BATCHED_SEEDS)
    return Job(name, group, PPO_RTU, "Appendix A", run)


def with_ours(like: Table, name: str, group: str, label: str, env: str, agent: Any) -> Job:
    """An agent of ours, for as many frames and seeds as its rivals have."""
    run = Run(agent=agent, env=env, frames=like.frames, seeds=like.seeds)
    return Job(name, group, label, "ours", run)


def with_cell(agent: Any, cell: CellSettings) -> Any:
    """The agent with this cell in its recurrent layer."""
    return dataclasses.replace(agent, network=dataclasses.replace(agent.network, layers=(cell,)))


def with_network(job: Job, network: Architecture) -> Job:
    """The job with another network in its agent."""
    assert isinstance(job.work, Run)
    return _with_work(job, agent=dataclasses.replace(job.work.agent, network=network))


def with_settings(job: Job, **changes: Any) -> Job:
    """The job with other settings of its agent, by their flat names."""
    assert isinstance(job.work, Run)
    return _with_work(job, agent=settings.change(job.work.agent, **changes))


def _with_work(job: Job, **changes: Any) -> Job:
    return dataclasses.replace(job, work=dataclasses.replace(job.work, **changes))


@dataclass(frozen=True)
class Override:
    """Where the preset ``rillax`` departs from the paper, and why."""

    jobs: str
    """A pattern of names."""
    reason: str
    settings: Mapping[str, Any]
    """By their flat names."""

    def __call__(self, job: Job) -> Job:
        return with_settings(job, **self.settings) if matches(job, [self.jobs]) else job


REMEMBERING: Mapping[str, Any] = {
    "r_min": 0.995,
    "r_max": 0.9999,
    "phase_min": 0.5,
    "phase_max": 5.8,
    "gain": False,
    "cell_step": 0.003,
}
"""An RTU that starts out remembering, and changes slowly."""


def matches(job: Job, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(job.name, pattern) for pattern in patterns)


def resize(job: Job, seeds: int | None, frames: int | None) -> Job:
    """Other seeds or frames; epsilon falls over the same share of the run."""
    run = job.work
    if not isinstance(run, Run):
        return job
    changed = _with_work(job, seeds=seeds or run.seeds, frames=frames or run.frames)
    if "epsilon_frames" not in settings.flat(run.agent):
        return changed
    share = run.agent.epsilon_frames / run.frames
    falls = max(1, round(share * changed.work.frames))
    return with_settings(changed, epsilon_frames=falls)


MINIATURE_SEEDS, MINIATURE_FRAMES = 2, 2_000
MINIATURE_ROLLOUTS: Mapping[str, Any] = {"environments": 1, "rollout": 128, "minibatches": 4}
"""A run of so few frames should still see several rollouts."""
MINIATURE_TIMING: Mapping[str, Any] = {"widths": (8, 16, 32), "seconds": 0.05, "repeats": 3}


def miniature(job: Job) -> Job:
    """What a small job of this kind is, before its seeds and frames are chosen."""
    if isinstance(job.work, Timing):
        return _with_work(job, **MINIATURE_TIMING)
    has = settings.flat(job.work.agent)
    return with_settings(job, **{n: v for n, v in MINIATURE_ROLLOUTS.items() if n in has})
