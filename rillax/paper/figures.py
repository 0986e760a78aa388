"""Every figure of the paper, and a choice among their jobs."""

from collections.abc import Iterable, Mapping

from rillax.experiments import Job
from rillax.paper import (
    choices,
    conditioning,
    decay,
    fig1a,
    fig1b,
    horizon,
    jobs,
    kmemory,
    mujoco,
    popgym,
    solved,
    suite,
)
from rillax.paper.claims import Verdict
from rillax.paper.figure import Figure, Preset, Results
from rillax.utils.names import choose

__all__ = [
    "EVERY",
    "FIGURES",
    "NAMES",
    "STUDIES",
    "Figure",
    "Preset",
    "figures",
    "find",
    "jobs_of",
    "select",
    "verdicts",
]

FIGURES = (
    fig1a.FIGURE,
    fig1b.FIGURE,
    popgym.FIGURE,
    mujoco.FIGURE,
    kmemory.STALENESS,
    kmemory.RETURNS,
)
OURS = (
    choices.FIGURE,
    horizon.FIGURE,
    conditioning.FIGURE,
    decay.FIGURE,
    suite.FIGURE,
    solved.FIGURE,
)
"""Studies of our own, which are no part of the paper."""
NAMES = tuple(figure.name for figure in FIGURES)
STUDIES = tuple(figure.name for figure in OURS)
EVERY = (*NAMES, *STUDIES)
_BY_NAME = {figure.name: figure for figure in (*FIGURES, *OURS)}


def find(name: str, preset: str = "paper") -> Figure:
    """A figure or a study with its jobs."""
    choose("figure", name, EVERY)
    return _BY_NAME[name].with_jobs(preset)


def figures(preset: str = "paper") -> dict[str, Figure]:
    """Every figure of the paper with its jobs, by name."""
    return {name: find(name, preset) for name in NAMES}


def verdicts(everything: Mapping[str, Results]) -> list[Verdict]:
    """Every claim of the paper, decided by what has been run."""
    return [v for figure in FIGURES for v in figure.verdicts(everything.get(figure.name))]


def select(
    name: str,
    preset: str = "paper",
    *,
    only: Iterable[str] = ("*",),
    seeds: int | None = None,
    frames: int | None = None,
    miniature: bool = False,
) -> dict[str, Figure]:
    """The figures that were asked for, with the jobs, seeds and frames that were asked for."""
    choose("figure", name, [*EVERY, "all"])
    chosen = figures(preset) if name == "all" else {name: find(name, preset)}
    if miniature:
        seeds, frames = seeds or jobs.MINIATURE_SEEDS, frames or jobs.MINIATURE_FRAMES
        chosen = {n: f.keep(f.miniature).change(jobs.miniature) for n, f in chosen.items()}
    only = list(only)
    chosen = {n: figure.keep(only) for n, figure in chosen.items()}
    for pattern in only:
        if not any(jobs.matches(job, [pattern]) for job in jobs_of(chosen)):
            raise ValueError(
                f"no job of {name} matches {pattern!r}; rillax reproduce {name} --dry-run lists "
                "them"
            )
    for what, value in (("seeds", seeds), ("frames", frames)):
        if value is not None and value < 1:
            raise ValueError(f"{what} must be at least 1, got {value}")

    def resize(job: Job) -> Job:
        return jobs.resize(job, seeds, frames)

    return {n: figure.change(resize) for n, figure in chosen.items() if figure.jobs}


def jobs_of(chosen: Mapping[str, Figure]) -> list[Job]:
    """Every job once: two figures may be drawn from the same."""
    return list({job.name: job for figure in chosen.values() for job in figure.jobs}.values())
