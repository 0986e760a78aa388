"""What the text of the paper leaves open on MemoryChain, one thing at a time.

It is a study of ours and not a figure of the paper, so it is no part of ``all``.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from rillax.cells import NonlinearRTU
from rillax.experiments import Job, Run
from rillax.experiments.curves import STYLES
from rillax.experiments.results import iqm
from rillax.paper import fig1b
from rillax.paper.drawing import legend, panels
from rillax.paper.figure import Figure, Preset, Results
from rillax.paper.jobs import resize, with_cell
from rillax.paper.quantities import RETURN
from rillax.paper.tables import UNITS
from rillax.utils import settings

CELL = "cell"
_AUTHORS: Mapping[str, Any] = {
    "features": "tanh",
    "encoder_widths": (128,),
    "head_widths": (),
    "initialisation": "sparse_blind",
}
CHOICES: dict[str, Mapping[str, Any]] = {
    "none: all as in the tables": {},
    "clip the update at 1": {"q_clip": 1.0, "h_clip": 1.0},
    "clip each gradient at 1": {"clip_gradients": 1.0},
    "observations as they come": {"normalise_observations": False},
    "rewards as they come": {"normalise_rewards": False},
    "exploration over half of the run": {"epsilon_frames": 125_000},
    "nonlinear RTU": {CELL: NonlinearRTU(UNITS)},
    "no input gain": {"gain": False},
    "dense reader of the RTU": {"reader_sparsity": 0.0},
    "dense everywhere": {"sparsity": 0.0},
    "r in [0, 0.9]": {"r_max": 0.9},
    "r in [0, 0.9], TBPTT(1)": {"r_max": 0.9, "gradient": "tbptt"},
    "r in [0.9, 0.999]": {"r_min": 0.9, "r_max": 0.999},
    "r in [0.95, 0.999]": {"r_min": 0.95, "r_max": 0.999},
    "phase in [0.5, 5.8]": {"phase_min": 0.5, "phase_max": 5.8},
    "dense, r in [0.95, 0.999]": {"sparsity": 0.0, "r_min": 0.95, "r_max": 0.999},
    "TBPTT(1)": {"gradient": "tbptt"},
    "tanh features": {"features": "tanh"},
    "tanh features, TBPTT(1)": {"features": "tanh", "gradient": "tbptt"},
    "blind encoder": {"initialisation": "sparse_blind"},
    "blind encoder, TBPTT(1)": {"initialisation": "sparse_blind", "gradient": "tbptt"},
    "authors' network": _AUTHORS,
    "authors' network, TBPTT(1)": {**_AUTHORS, "gradient": "tbptt"},
}
"""What is changed, against the paper's tables and its text: settings by their flat names, or the
cell."""
LENGTHS, SEEDS, FRAMES = (32, 64), 2, 250_000


def jobs(preset: Preset) -> list[Job]:
    return [_job(length, label) for length in LENGTHS for label in CHOICES]


def _job(length: int, label: str) -> Job:
    plain = resize(fig1b.plain_chain(length, fig1b.RTU_RTRL), SEEDS, FRAMES)
    assert isinstance(plain.work, Run)
    changes = dict(CHOICES[label])
    agent = with_cell(plain.work.agent, changes.pop(CELL)) if CELL in changes else plain.work.agent
    run = dataclasses.replace(plain.work, agent=settings.change(agent, **changes))
    return Job(f"choices/L{length}-{slug(label)}", plain.group, label, plain.source, run)


def slug(label: str) -> str:
    """A name for a directory.

    >>> slug("dense, r in [0.95, 0.999]")
    'dense-r-in-0.95-0.999'
    """
    return re.sub(r"[^a-zA-Z0-9.]+", "-", label).strip("-")


def draw(results: Results, columns: int | None) -> Any:
    """A row for each change: the return of every seed, and their IQM, at each length."""
    figure, (axes,) = panels(1, 1, width=6.4, height=3.6)
    labels = results.labels
    for shift, group, (colour, _), marker in zip(
        (0.15, -0.15), results.groups, STYLES, "os", strict=False
    ):
        here = [(i, d) for i, n in enumerate(labels) if (d := results.at(group, n)) is not None]
        for i, done in here:
            values = done.final_returns()
            row = np.full(len(values), shift - i)
            axes.plot(values, row, "|", color=colour, ms=6)
        middles = [float(iqm(v)) if (v := d.final_returns()).size else np.nan for _, d in here]
        rows = [shift - i for i, _ in here]
        axes.plot(middles, rows, marker, color=colour, ms=5, label=f"L = {group}")
    axes.set_yticks([-i for i in range(len(labels))], labels)
    axes.set(xlabel="return")
    axes.set_xlim(min(-0.2, axes.get_xlim()[0]), 1.05)
    legend(figure, [axes])
    return figure


FIGURE = Figure(
    name="choices",
    number="Ours",
    title="MemoryChain: what is changed, and the return",
    make_jobs=jobs,
    quantity=RETURN,
    draw=draw,
)
