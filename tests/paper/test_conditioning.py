"""The study of trace conditioning: its jobs, the quantity it reads, its picture."""

import numpy as np
import pytest

from rillax.paper import conditioning, drawing, figures
from rillax.paper.figure import Results
from rillax.paper.finished import Done


def done(job, value):
    """A finished job whose return errors end at ``value``, a little apart from seed to seed."""
    frames = np.repeat(np.linspace(0.05, 1, 20) * job.work.frames, job.work.seeds)
    seeds = np.tile(np.arange(job.work.seeds), 20)
    errors = np.where(frames > 0.9 * job.work.frames, value + 0.01 * seeds, 5.0)
    return Done(job, {"frame": frames, "seed": seeds, "return_error": errors}, {"summary": {}})


def test_jobs_are_every_memory_at_every_interval_with_a_horizon_that_fits():
    (study,) = figures.select("conditioning").values()
    assert "conditioning" not in figures.select("all")
    assert len(study.jobs) == len({job.name for job in study.jobs}) == 3 * 5
    for job in study.jobs:
        interval, agent = int(job.group), job.work.agent
        assert job.work.env_settings == {"interval": interval}
        assert agent.discounts == (1 - 1 / interval,)
        assert (agent.trace_decay, job.work.seeds) == (0.9, 3)


def test_return_errors_are_read_and_drawn():
    from matplotlib import pyplot as plt

    (study,) = figures.select("conditioning").values()
    jobs = {job.name: done(job, i / 10) for i, job in enumerate(study.jobs)}
    results = Results(study, jobs, {})
    first = jobs[study.jobs[3].name]
    assert study.quantity.values(first) == pytest.approx([0.3, 0.31, 0.32])
    assert study.quantity.rows(first)[0]["iqm"] == pytest.approx(0.31)
    figure = drawing.draw(results)
    (axes,) = figure.axes
    labels = axes.get_legend_handles_labels()[1]
    assert sorted(labels) == sorted(conditioning.MEMORIES)
    plt.close(figure)
