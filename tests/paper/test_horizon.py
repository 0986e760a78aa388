"""The study of horizons: its grid of jobs, the quantity it reads, its picture."""

import numpy as np

from rillax.cells import RTU, MinGRU
from rillax.experiments import store
from rillax.paper import collect, drawing, figures, horizon
from rillax.updates import Intentional
from tests.experiments.made_up import finish, prepare


def test_the_grid_is_the_published_constants_and_a_plain_start():
    (study,) = figures.select("horizon").values()
    assert "horizon" not in figures.select("all")
    assert len(study.jobs) == len({job.name for job in study.jobs}) == 5 * 2 * 2 * 2
    assert study.frames == 40 * 5 * 500_000
    for job in study.jobs:
        agent, run = job.work.agent, job.work
        assert (run.env, run.env_settings) == ("MemoryChain", {"length": int(job.group)})
        assert (agent.discount, agent.q) == (0.99, Intentional(eta=0.25))
        assert agent.previous_action
        assert agent.previous_reward
        assert agent.epsilon_frames == 50_000
        (cell,) = agent.network.layers
        plain = RTU(192, features="tanh"), MinGRU(192, features="tanh")
        assert cell in (*plain, *(type(p)(192, "tbptt", features="tanh") for p in plain))
    assert {job.work.agent.trace_decay for job in study.jobs} == {0.8, 0.98}


def test_solve_rates_are_collected_and_drawn(tmp_path):
    from matplotlib import pyplot as plt

    root = store.Root(tmp_path / "out")
    prepare(root)
    for job in figures.jobs_of(figures.select("horizon")):
        solved = "minGRU, RTRL" in job.label or int(job.group) <= 64
        finish(root, job, 0.9 if solved else 0.1)
    collect.collect(root, tmp_path)
    results = collect.load(tmp_path, "horizon")
    rows = {(r["group"], r["label"]): r["solve_rate"] for r in collect.summary(results)}
    assert rows["256", "minGRU, RTRL, λ 0.8"] == 1
    assert rows["128", "RTU, TBPTT(1), λ 0.98"] == 0
    figure = drawing.draw(results)
    grids = [axes.images[0].get_array() for axes in figure.axes]
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["RTU, RTRL", "RTU, TBPTT(1)", "minGRU, RTRL", "minGRU, TBPTT(1)"]
    np.testing.assert_array_equal(grids[2], np.ones((5, 2)))
    np.testing.assert_array_equal(grids[0][:, 0], [1, 1, 0, 0, 0])
    plt.close(figure)


def test_a_seed_that_diverged_has_not_solved():
    class Lost:
        job = figures.jobs_of(figures.select("horizon"))[0]

        def final_returns(self):
            return np.array([0.9, 0.51, 0.5])

    np.testing.assert_array_equal(horizon.RATE.values(Lost()), [1, 1, 0, 0, 0])
