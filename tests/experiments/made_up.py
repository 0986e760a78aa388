"""Finished jobs with made-up numbers, for what reads results; nothing is trained."""

import json

import numpy as np
import pyarrow as pa

from rillax.experiments import store
from rillax.experiments.results import Bins, write_table
from rillax.loops import EpisodeStatistics
from rillax.utils import files


def prepare(root, preset="paper"):
    """A root as a runner leaves it."""
    with root.owned(preset):
        pass


def finish(root, job, value, staleness=None):
    """Write a job as a worker would have: every seed's return ends at ``value``.

    For a job that measures time, ``value`` is milliseconds as a function of width.
    """
    directory = root.enter(job)
    if job.work.alone:
        rows = [
            {"width": w, "seed": i, "milliseconds": value(w) * (1 + 0.01 * i)}
            for w in job.work.widths
            for i in range(3)
        ]
        write_table(directory / "metrics.parquet", pa.Table.from_pylist(rows))
        files.write_json(directory / store.DONE, {"state": "done", "seconds": 1.0})
        return
    seeds, bins = job.work.seeds, Bins(job.work.frames, count=20)
    offsets = np.linspace(-0.01, 0.01, seeds)
    for b in range(20):
        share = min(1.0, (b + 1) / 10)  # learned by the middle of the run
        returns = 10 * (share * value + offsets)
        metrics = {"td_error": np.zeros(seeds)}
        if staleness is not None:
            metrics["staleness_q"] = np.full(seeds, staleness * (bins.edge(0)))
        bins.put(
            bins.edge(b),
            EpisodeStatistics(
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
        "frames": job.work.frames,
        "frames_per_second": 1e4,
        "complete": True,
        "diverged": [],
    }
    done = {"state": "done", "summary": summary, "seconds": 10.0, "host": "here"}
    files.write_json(directory / store.DONE, json.loads(json.dumps(done)))
