"""A figure of the paper as one object: its jobs, what it shows of them, its picture, its claims."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rillax.experiments import Job, Run
from rillax.paper import presets
from rillax.paper.claims import Claim, Reader, Verdict, decide
from rillax.paper.finished import Done, find
from rillax.paper.jobs import Override, matches
from rillax.paper.quantities import Quantity
from rillax.utils.names import choose

Preset = Literal["paper", "rillax"]
"""The paper's numbers, or ours where they are better."""


@dataclass(frozen=True)
class Figure:
    """A figure: what it shows, and how. ``with_jobs(preset)`` gives it its jobs."""

    name: str
    number: str
    title: str
    make_jobs: Callable[[Preset], Iterable[Job]]
    quantity: Quantity
    """What is read of a finished job."""
    draw: Callable[["Results", int | None], Any]
    """Its picture, as a matplotlib figure, with the panels in so many columns if it has several."""
    claims: tuple[Claim, ...] = ()
    own_claims: tuple[Claim, ...] | None = None
    """What the preset ``rillax`` is to show, where its lines are others than the paper's."""
    overrides: tuple[Override, ...] = ()
    """What the preset ``rillax`` changes. docs/results.md says what each brings."""
    miniature: tuple[str, ...] = ()
    """Patterns of the jobs that a miniature of the paper has: every line, few points."""
    caption: str | None = None
    """What stands under the picture, if it is not about seeds."""
    jobs: tuple[Job, ...] = ()

    @property
    def frames(self) -> int:
        return sum(job.frames for job in self.jobs)

    def with_jobs(self, preset: str) -> "Figure":
        """The figure with the jobs that it has in a preset."""
        choose("preset", preset, get_args(Preset))
        jobs = self.make_jobs(preset)  # type: ignore[arg-type] # it is one of them
        figure = dataclasses.replace(self, jobs=tuple(jobs))
        if preset == "paper":
            return figure
        claims = self.claims if self.own_claims is None else self.own_claims
        return dataclasses.replace(figure, claims=claims).change(_bounded, *self.overrides)

    def change(self, *changes: Callable[[Job], Job]) -> "Figure":
        """The figure with each of its jobs changed."""
        jobs = self.jobs
        for change in changes:
            jobs = tuple(change(job) for job in jobs)
        return dataclasses.replace(self, jobs=jobs)

    def keep(self, patterns: Iterable[str]) -> "Figure":
        """The figure with those of its jobs whose names match."""
        patterns = tuple(patterns)
        kept = tuple(job for job in self.jobs if matches(job, patterns))
        return dataclasses.replace(self, jobs=kept)

    def verdicts(self, results: "Results | None") -> list[Verdict]:
        """Its claims, each decided by what has been run."""
        if results is None:
            return [Verdict(self.name, c, "not yet run", "no results") for c in self.claims]
        reader = Reader(results.figure.jobs, results.jobs, self.quantity)
        return [decide(self.name, claim, reader) for claim in results.figure.claims]


def _bounded(job: Job) -> Job:
    """The preset ``rillax`` bounds inputs, however loud a sample is."""
    if not isinstance(job.work, Run):
        return job
    run = dataclasses.replace(job.work, agent=presets.bounded(job.work.agent))
    return dataclasses.replace(job, work=run)


@dataclass(frozen=True)
class Results:
    """The finished jobs of one figure."""

    figure: Figure
    """With all the jobs that it has in the preset that was run."""
    jobs: Mapping[str, Done]
    manifest: Mapping[str, Any]

    def at(self, group: str, label: str) -> Done | None:
        """The job of one line at one point or in one panel, if it is finished."""
        return find(self.jobs, group, label)

    @property
    def labels(self) -> list[str]:
        """The lines."""
        return list(dict.fromkeys(done.job.label for done in self.jobs.values()))

    @property
    def groups(self) -> list[str]:
        """The panels, or the points on the x axis."""
        return list(dict.fromkeys(done.job.group for done in self.jobs.values()))
