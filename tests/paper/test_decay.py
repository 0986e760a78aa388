"""The study of trace decays: its grid."""

from rillax.paper import decay, figures
from rillax.paper.tables import TABLES
from rillax.utils import settings


def test_two_lines_of_a_panel_differ_in_lambda_alone():
    (study,) = figures.select("decay").values()
    assert "decay" not in figures.select("all")
    panels = {job.group: [j.work for j in study.jobs if j.group == job.group] for job in study.jobs}
    assert len(panels) == 3 * 2 + 4
    for short, long in panels.values():
        assert short.agent.trace_decay < long.agent.trace_decay
        assert settings.change(short.agent, trace_decay=long.agent.trace_decay) == long.agent
        assert (short.env, short.env_settings) == (long.env, long.env_settings)
        assert (short.seeds, short.frames) == (long.seeds, long.frames)


def test_one_of_them_is_the_papers():
    (study,) = figures.select("decay").values()
    (papers,) = figures.select("fig1b").values()
    in_paper = {job.name.removeprefix("fig1b/"): job.work for job in papers.jobs}
    by_name = {job.name.removeprefix("decay/"): job.work for job in study.jobs}
    for length in decay.LENGTHS:
        for gradient in ("rtrl", "tbptt"):
            assert (
                by_name[f"L{length}-rtu-{gradient}-0.95"] == in_paper[f"L{length}-rtu-{gradient}"]
            )
    for env in decay.ROBOTS:
        assert by_name[f"{env}-0.8"].agent == TABLES[4].agent
