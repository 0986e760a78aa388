"""Trace conditioning (Rafiee et al., 2022): how well stream TD(lambda) predicts, by interval.

The return error of each recurrence and gradient against the interval from cue to what it foretells.
It is a study of ours and not a figure of the paper, so it is no part of ``all``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from rillax.agents import TD
from rillax.cells import RTU, CellSettings, FeedForward, MinGRU
from rillax.experiments import Job, Run
from rillax.experiments.results import iqm, standard_error
from rillax.networks import Architecture
from rillax.paper.drawing import doubling, legend, panels
from rillax.paper.figure import Figure, Preset, Results
from rillax.paper.finished import FINAL, Done
from rillax.paper.quantities import PerSeed
from rillax.paper.tables import UNITS
from rillax.updates import Intentional

INTERVALS, LAMBDA, FRAMES, SEEDS = (10, 20, 40), 0.9, 300_000, 3
ERROR = "return_error"
MEMORIES: dict[str, tuple[str, Callable[[], CellSettings]]] = {
    "RTU, RTRL": ("rtu-rtrl", lambda: RTU(UNITS, "rtrl", features="tanh")),
    "RTU, TBPTT(1)": ("rtu-tbptt", lambda: RTU(UNITS, "tbptt", features="tanh")),
    "minGRU, RTRL": ("mingru-rtrl", lambda: MinGRU(UNITS, "rtrl")),
    "minGRU, TBPTT(1)": ("mingru-tbptt", lambda: MinGRU(UNITS, "tbptt")),
    "no memory": ("feedforward", lambda: FeedForward(UNITS)),
}
LOOKS = {
    "RTU, RTRL": ("#00578A", "-", "o"),
    "RTU, TBPTT(1)": ("#3D9BD6", ":", "o"),
    "minGRU, RTRL": ("#B03A00", "-", "^"),
    "minGRU, TBPTT(1)": ("#E69F00", ":", "^"),
    "no memory": ("#707070", "--", "s"),
}
"""Colour, line style and marker of each line."""


def jobs(preset: Preset) -> list[Job]:
    return [_job(interval, label) for interval in INTERVALS for label in MEMORIES]


def _job(interval: int, label: str) -> Job:
    name, cell = MEMORIES[label]
    agent = TD(
        network=Architecture(cell=cell(), width=64),
        discounts=(1 - 1 / interval,),
        trace_decay=LAMBDA,
        rule=Intentional(eta=0.5),
    )
    run = Run(agent, "TraceConditioning", {"interval": interval}, FRAMES, SEEDS)
    return Job(f"conditioning/{interval}-{name}", f"{interval}", label, "ours", run)


def errors(done: Done) -> np.ndarray:
    """Of each seed that did not diverge: the mean squared return error over its last frames."""
    last = done.columns["frame"] > (1 - FINAL) * done.job.work.frames
    seeds = done.columns["seed"]
    each = (done.columns[ERROR][last & (seeds == seed)] for seed in np.unique(seeds))
    means = np.array([np.mean(mine) for mine in each if len(mine)])
    return means[np.isfinite(means)]


def draw(results: Results, columns: int | None) -> Any:
    """One panel: return error against interval."""
    figure, (axes,) = panels(1, 1, width=5.0, height=2.8)
    for label, (colour, line, marker) in LOOKS.items():
        here = [(int(g), d) for g in results.groups if (d := results.at(g, label)) is not None]
        points = [(x, values) for x, d in here if (values := errors(d)).size]
        xs = [x for x, _ in points]
        middles = [float(iqm(values)) for _, values in points]
        spread = [float(standard_error(values)) for _, values in points]
        style = {"color": colour, "ls": line, "marker": marker, "ms": 4}
        axes.errorbar(xs, middles, spread, label=label, **style)
    doubling(axes, [int(group) for group in results.groups])
    axes.set(xlabel="interval from cue to signal", ylabel="mean squared return error")
    axes.set_ylim(0)
    legend(figure, [axes])
    return figure


FIGURE = Figure(
    name="conditioning",
    number="Ours",
    title="Trace conditioning, stream TD(λ): return error against the interval",
    make_jobs=jobs,
    quantity=PerSeed("return error", ("seed", "frame", ERROR), errors),
    draw=draw,
    miniature=("conditioning/10-*",),
)
