"""Finished cells with made-up numbers, for what reads results; nothing is trained."""

import json

import numpy as np
import pyarrow as pa

from rillax.experiments import store
from rillax.experiments.results import Bins, write_table
from rillax.loops.compiled import Tally
from rillax.paper import grid
from rillax.utils import files


def prepare(root, preset="paper"):
    """A root as a runner leaves it."""
    with root.owned(preset):
        pass


def finish(root, cell, value, staleness=None):
    """Write a cell as a worker would have: every seed's return ends at ``value``.

    For a timing cell, ``value`` is milliseconds as a function of width.
    """
    directory = root.enter(cell)
    if cell.alone:
        rows = [
            {"width": w, "seed": i, "milliseconds": value(w) * (1 + 0.01 * i)}
            for w in cell.work.widths
            for i in range(3)
        ]
        write_table(directory / "metrics.parquet", pa.Table.from_pylist(rows))
        files.write_json(directory / store.DONE, {"state": "done", "seconds": 1.0})
        return
    seeds, bins = cell.work.seeds, Bins(cell.work.frames, count=20)
    offsets = np.linspace(-0.01, 0.01, seeds)
    for b in range(20):
        share = min(1.0, (b + 1) / 10)  # learned by the middle of the run
        returns = 10 * (share * value + offsets)
        metrics = {"td_error": np.zeros(seeds)}
        if staleness is not None:
            metrics["staleness_q"] = np.full(seeds, staleness * (bins.edge(0)))
        bins.put(
            bins.edge(b),
            Tally(
                frames=np.full(seeds, bins.edge(0)),
                episodes=np.full(seeds, 10),
                returns=returns,
                lengths=np.full(seeds, 50),
                diverged=np.zeros(seeds, int),
                metrics=metrics,
            ),
        )
    write_table(directory / "metrics.parquet", bins.table(list(range(seeds))))
    summary = {
        "final_return_iqm": value,
        "final_return_per_seed": list(bins.final_returns()),
        "frames": cell.work.frames,
        "frames_per_second": 1e4,
        "complete": True,
        "diverged": [],
    }
    done = {"state": "done", "summary": summary, "seconds": 10.0, "host": "here"}
    files.write_json(directory / store.DONE, json.loads(json.dumps(done)))


def whole_paper(path, change=lambda cell, value: value, names=grid.NAMES):
    """A root in which the whole paper ran, with the paper's own story as results."""
    root = store.Root(path)
    figures = grid.figures()
    cells = grid.cells_of({name: figures[name] for name in names})
    prepare(root)
    for cell in cells:
        stale = STALENESS.get(cell.label, {}).get(cell.group)
        finish(root, cell, change(cell, story(cell)), stale)
    return root


def story(cell):
    """What the paper says came out, roughly."""
    figure, group, label = cell.name.split("/")[0], cell.group, cell.label
    if figure == "fig1a":
        power = 3.8 if label in ("GRU", "LSTM") else 1.0
        return lambda width: 0.001 * width**power
    if figure == "fig1b":
        length = int(group)
        if label == "RTU, RTRL":
            return 0.98 if length <= 48 else {64: 0.6, 128: 0.1}[length]
        return 0.9 if length <= 16 else 0.02
    if figure == "popgym":
        return POPGYM[group][label]
    if figure == "mujoco":
        return {"HalfCheetah-P": (2000, 2000), "Walker2d-V": (800, 600)}.get(group, (500, 1000))[
            label == "PPO-RTU"
        ]
    return 0.9 if "Taylor" in label or group != "16" else 0.8


POPGYM = {
    task: dict(zip(("QRC(λ)-RTU", "stream AC(λ)-RTU", "PPO-RTU", "QRC(λ)-FFN"), row, strict=True))
    for task, row in {
        "Autoencode": (-0.5, -0.2, -0.2, -0.5),
        "Concentration": (-0.4, -0.1, -0.1, -0.5),
        "CountRecall": (0.1, 0.2, 0.2, -0.4),
        "HigherLower": (0.5, 0.45, 0.5, 0.4),
        "RepeatFirst": (1.0, 0.0, 1.0, 0.0),
    }.items()
}
STALENESS = {
    "QRC(λ)": {"4": 0.01, "8": 0.02, "16": 0.05},
    "QRC(λ), Taylor": {"4": 0.01, "8": 0.015, "16": 0.03},
    "stream AC(λ)": {"4": 0.02, "8": 0.1, "16": 0.5},
    "stream AC(λ), Taylor": {"4": 0.02, "8": 0.08, "16": 0.3},
}
