"""The study of trace decays on robots: its grid."""

from rillax.paper import decay, figures
from rillax.paper.tables import TABLES
from rillax.utils import settings


def test_the_two_lines_of_a_robot_differ_in_lambda_alone():
    (study,) = figures.select("decay").values()
    assert "decay" not in figures.select("all")
    table = TABLES[4].agent
    for env in decay.ENVIRONMENTS:
        short, long = (job.work for job in study.jobs if job.group == env)
        assert short.agent == table
        assert long.agent == settings.change(table, trace_decay=0.99)
        for run in (short, long):
            assert (run.env, run.seeds, run.frames) == (env, 3, 1_000_000)
