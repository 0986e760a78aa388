"""The study of how soon three tasks are solved: its grid, what it reads, its picture."""

import numpy as np

from rillax import envs
from rillax.experiments import store
from rillax.paper import collect, drawing, figures, solved
from tests.experiments.made_up import finish, prepare


def test_ours_and_ppo_on_three_tasks_with_the_seeds_of_a_report():
    (study,) = figures.select("solved").values()
    assert "solved" not in figures.select("all")
    assert len({job.name for job in study.jobs}) == len(study.jobs) == 3 * 2
    for job in study.jobs:
        envs.make(job.work.env, **job.work.env_settings)
        assert (job.work.seed, job.work.seeds, job.work.frames) == (100, 5, 500_000)


def test_the_first_of_two_bins_in_a_row_counts(tmp_path):
    from matplotlib import pyplot as plt

    root = store.Root(tmp_path / "out")
    prepare(root)
    for job in figures.jobs_of(figures.select("solved")):
        finish(root, job, 1.0 if job.label == "Rill" else 0.85)
    collect.collect(root, tmp_path)
    results = collect.load(tmp_path, "solved")
    rows = {(r["group"], r["label"]): r for r in collect.summary(results)}
    ours, theirs = (rows["RepeatFirst", label] for label in ("Rill", "PPO"))
    # Returns rise to their end within half of the 20 bins, and seeds lie 0.01 to either side.
    assert (ours["least"], ours["median"], ours["most"]) == (225_000, 225_000, 250_000)
    assert (ours["solved"], theirs["solved"], theirs["median"]) == (5, 0, None)
    assert [axes.get_title() for axes in drawing.draw(results).axes] == list(solved.TASKS)
    plt.close("all")


def test_a_seed_that_fell_back_at_once_or_diverged_has_not_solved_it():
    class Made:
        job = figures.jobs_of(figures.select("solved"))[0]

        def curve(self):
            returns = [[0.95, 0.1, np.nan], [0.1, 0.9, 0.95], [0.95, 0.9, 0.95], [0.95, 0.9, 0.95]]
            return np.array([10, 20, 30, 40]), np.array(returns)

    np.testing.assert_array_equal(solved.Until().values(Made()), [30, 20, 20, np.inf, np.inf])
