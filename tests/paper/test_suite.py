"""The suite of games and robots: its grid, its scores, its picture."""

import numpy as np

from rillax import envs
from rillax.cells import FeedForward
from rillax.cli.main import main
from rillax.experiments import store
from rillax.paper import collect, drawing, figures, suite
from tests.experiments.made_up import finish, prepare


def test_every_agent_plays_every_game_with_and_without_memory():
    (study,) = figures.select("suite").values()
    assert "suite" not in figures.select("all")
    assert len({job.name for job in study.jobs}) == len(study.jobs) == 11 * 6 * 2 + 8 * 3
    for job in study.jobs:
        run = job.work
        envs.check(run.env)
        assert run.seed == suite.FIRST_SEED  # the seeds below are for choosing
        memoryless = isinstance(run.agent.network.layers[0], FeedForward)
        assert memoryless == job.label.endswith(suite.MEMORYLESS)
        if job.group in suite.GAMES:
            assert run.agent.previous_action
            assert run.agent.previous_reward
            assert run.frames == 1_000_000
        else:
            assert run.frames == 500_000


def test_random_play_scores_zero_the_perfect_player_one_and_robots_are_measured_by_ppo(tmp_path):
    from matplotlib import pyplot as plt

    root = store.Root(tmp_path / "out")
    prepare(root)
    for job in figures.jobs_of(figures.select("suite")):
        least, most = suite.GAMES.get(job.group, (100.0, 400.0))
        finish(root, job, most if job.label in (suite.OURS, suite.PPO) else least)
    collect.collect(root, tmp_path)
    results = collect.load(tmp_path, "suite")
    ours, others = (suite.scores(results, label) for label in (suite.OURS, suite.AC))
    assert set(ours) == set(suite.GAMES)
    assert set(others) == {*suite.GAMES, *suite.ROBOTS}
    for task in suite.GAMES:
        np.testing.assert_allclose(ours[task].mean(), 1)
        np.testing.assert_allclose(others[task].mean(), 0, atol=1e-9)
    np.testing.assert_allclose(others["Ant-P"].mean(), (100 + 67.5) / (400 + 67.5))
    figure = drawing.draw(results)
    rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert rows == [*suite.GAMES, *suite.ROBOTS, "mean of the games", "mean of the robots"]
    plt.close(figure)


def test_a_grid_is_run_and_collected_in_parts(tmp_path, capsys):
    """As on two machines, or after a directory was lost: what is collected is not run again."""
    jobs = figures.jobs_of(figures.select("suite"))
    for part, some in (("a", jobs[:3]), ("b", jobs[2:5])):
        root = store.Root(tmp_path / part)
        prepare(root)
        for job in some:
            finish(root, job, 0.25 if part == "a" else 0.5)
        main(["results", "collect", "--out", str(root.path), "--to", str(tmp_path / "c"), "--add"])
    results = collect.load(tmp_path / "c", "suite")
    assert list(results.jobs) == [job.name for job in jobs[:5]]
    means = [results.jobs[job.name].final_returns().mean() for job in jobs[:5]]
    np.testing.assert_allclose(means, [0.25, 0.25, 0.5, 0.5, 0.5], rtol=1e-5)
    left = collect.missing(figures.select("suite"), tmp_path / "c")
    assert figures.jobs_of(left) == jobs[5:]
    shorter = figures.select("suite", frames=1000, only=[jobs[0].name])
    assert figures.jobs_of(collect.missing(shorter, tmp_path / "c"))  # it is another job
    capsys.readouterr()
    names = [job.name for job in jobs[:2]]
    main(["reproduce", "suite", "--only", *names, "--besides", str(tmp_path / "c")])
    assert "already" in capsys.readouterr().out
