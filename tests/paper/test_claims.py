"""From finished jobs to tables, figures, claims and the page, with made-up numbers."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from rillax.cli import main as cli
from rillax.experiments import store
from rillax.paper import choices, collect, drawing, figures, report
from rillax.utils import files
from rillax.utils.files import OutputError
from tests.experiments.made_up import finish, prepare
from tests.paper.made_up import whole_paper

CLAIMS = [claim for figure in figures.FIGURES for claim in figure.claims]


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    path = tmp_path_factory.mktemp("paper")
    root = whole_paper(path / "out")
    collect.collect(root, path / "results")
    return path


def outcomes(everything):
    return {(v.figure, v.claim.text): v.outcome for v in figures.verdicts(everything)}


def test_the_papers_own_story_passes_every_claim(paper):
    everything = collect.load_all(paper / "results")
    assert list(everything) == list(figures.NAMES)
    assert set(outcomes(everything).values()) == {"pass"}
    for verdict in figures.verdicts(everything):
        assert re.search(r"\d", verdict.number)  # the number that decides


@pytest.mark.parametrize(
    ("job", "value", "figure", "words"),
    [
        ("fig1b/L48-rtu-rtrl", 0.5, "fig1b", "through a chain of 48"),
        ("fig1b/L32-gru-tbptt", 0.5, "fig1b", "near zero past"),
        ("fig1b/L64-rtu-rtrl", 0.2, "fig1b", "far ahead"),
        ("popgym/RepeatFirst-qrc-rtu", 0.2, "popgym", "much better than stream AC"),
        ("popgym/Autoencode-stream_ac-rtu", -0.5, "popgym", "as well as batched PPO on all"),
        ("mujoco/Walker2d-V-stream_ac-rtu", 500, "mujoco", "overtakes"),
        ("mujoco/Ant-P-stream_ac-rtu", 1500, "mujoco", "trails"),
        ("kmemory/K8-qrc-diagonal", 0.5, "kmemory", "does not degrade"),
        ("kmemory/K16-qrc-diagonal", 0.5, "kmemory", "learn faster"),
    ],
)
def test_one_number_that_differs_fails_the_claim_it_decides(job, value, figure, words, tmp_path):
    def change(other, before):
        return value if other.name == job else before

    root = whole_paper(tmp_path / "out", change, [figure])
    collect.collect(root, tmp_path)
    failed = [text for (_, text), o in outcomes(collect.load_all(tmp_path)).items() if o == "fail"]
    assert any(words in text for text in failed)
    assert len(failed) <= 3


def test_a_claim_waits_for_the_papers_frames_and_seeds(tmp_path):
    assert set(outcomes({}).values()) == {"not yet run"}
    for name, small in {"frames": {"frames": 1000}, "seeds": {"seeds": 2}}.items():
        root = store.Root(tmp_path / name)
        jobs = figures.jobs_of(figures.select("fig1b", **small))
        prepare(root)
        for job in jobs:
            finish(root, job, 1.0)
        collect.collect(root, tmp_path / name / "results")
        verdicts = figures.verdicts(collect.load_all(tmp_path / name / "results"))
        mine = [v for v in verdicts if v.figure == "fig1b"]
        assert {v.outcome for v in mine} == {"not yet run"}
        assert all(f" {name}" in v.number for v in mine)


def test_collected_rows_are_the_jobs_rows(paper):
    results = collect.load(paper / "results", "fig1b")
    assert len(results.jobs) == 32
    done = results.at("8", "RTU, RTRL")
    rows = pq.read_table(paper / "out" / "fig1b" / "L8-rtu-rtrl" / "metrics.parquet")
    frames, returns = done.curve()
    assert returns.shape == (20, 5)
    np.testing.assert_allclose(returns.ravel(), rows["return"].to_numpy(), rtol=1e-6)
    assert frames.tolist() == sorted(set(rows["frame"].to_pylist()))
    (described,) = figures.figures()["fig1b"].keep(["fig1b/L8-rtu-rtrl"]).jobs
    assert done.job == described
    sizes = {p.name: p.stat().st_size for p in (paper / "results").iterdir()}
    assert len(sizes) == 6
    assert max(sizes.values()) < 200_000


def test_show_prints_the_numbers(paper, capsys):
    cli.main(["results", "show", "fig1b", "--results", str(paper / "results"), "--json"])
    rows = {row["job"]: row for row in json.loads(capsys.readouterr().out)}
    assert len(rows) == 32
    row = rows["fig1b/L8-rtu-rtrl"]
    # Five seeds spread evenly over +-0.01: the middle three average to the centre.
    assert row["iqm"] == pytest.approx(0.98, abs=1e-6)
    spread = np.std(np.linspace(-0.01, 0.01, 5), ddof=1) / np.sqrt(5)
    assert row["standard_error"] == pytest.approx(spread, rel=1e-6)
    assert (row["seeds"], row["frames"]) == (5, 500_000)
    assert row["start"] == pytest.approx(0.15 * 0.98, abs=1e-6)  # a tenth, then a fifth of it
    cli.main(["results", "show", "staleness", "--results", str(paper / "results"), "--json"])
    rows = {row["job"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["kmemory/K16-stream_ac-none"]["iqm"] == pytest.approx(0.5, rel=1e-5)
    cli.main(["results", "show", "fig1a", "--results", str(paper / "results")])
    assert "milliseconds" in capsys.readouterr().out


def test_show_finds_what_reproduce_wrote(tmp_path, capsys):
    out = tmp_path / "out"
    root = whole_paper(out, names=["fig1a"])
    cli.main(["results", "show", "fig1a", "--out", str(out), "--json"])  # before it was collected
    shown = json.loads(capsys.readouterr().out)
    assert shown
    collect.collect(root, out / "results")
    cli.main(["results", "show", "fig1a", "--results", str(out), "--json"])
    assert json.loads(capsys.readouterr().out) == shown
    with pytest.raises(SystemExit, match="2"):
        cli.main(["results", "show", "fig1b", "--out", str(out)])
    assert f"there is no finished job in {out}: run rillax reproduce" in capsys.readouterr().err


@pytest.mark.slow
def test_every_figure_is_drawn_with_every_line_named(paper, tmp_path, capsys):
    cli.main(["plot", "all", "--results", str(paper / "results"), "--to", str(tmp_path)])
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {f"{n}.{kind}" for n in figures.NAMES for kind in ("svg", "pdf", "png")}
    assert (tmp_path / "fig1b.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "fig1b.pdf").read_bytes().startswith(b"%PDF")
    from matplotlib import pyplot as plt

    for name, results in collect.load_all(paper / "results").items():
        figure = drawing.draw(results)
        told = {text.get_text() for legend in figure.legends for text in legend.get_texts()}
        assert told == {job.label for job in figures.figures()[name].jobs}
        # In grey they still differ: no two lines of a figure share both line style and marker.
        looks = [drawing.LOOKS[label][1:] for label in told]
        assert len({str(look) for look in looks}) == len(looks)
        plt.close(figure)
    for preset in ("paper", "rillax"):
        for figure in figures.figures(preset).values():
            assert {job.label for job in figure.jobs} <= set(drawing.LOOKS)


def test_our_study_is_collected_drawn_and_no_part_of_the_paper(tmp_path, capsys):
    from matplotlib import pyplot as plt

    root = store.Root(tmp_path / "out")
    prepare(root)
    jobs = figures.jobs_of(figures.select("choices"))
    for i, job in enumerate(jobs):
        finish(root, job, i / len(jobs))
    collect.collect(root, tmp_path)
    results = collect.load(tmp_path, "choices")
    figure = drawing.draw(results)
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.get_yticklabels()] == list(choices.CHOICES)
    points = {line.get_label(): line.get_xdata() for line in axes.lines if len(line.get_xdata())}
    n = len(choices.CHOICES)
    np.testing.assert_allclose(points["L = 32"], np.arange(n) / len(jobs), atol=1e-6)
    np.testing.assert_allclose(points["L = 64"], np.arange(n, 2 * n) / len(jobs), atol=1e-6)
    plt.close(figure)
    cli.main(["report", "--results", str(tmp_path), "--to", str(tmp_path / "report.html")])
    assert "0 of 6 figures" in " ".join(capsys.readouterr().out.split())


def test_the_middle_and_the_band_are_iqm_and_standard_error(paper):
    from matplotlib import pyplot as plt

    figure = drawing.draw(collect.load(paper / "results", "fig1b"))
    (axes,) = figure.axes
    line = next(line for line in axes.lines if line.get_label() == "RTU, RTRL")
    assert line.get_xdata().tolist() == [2, 4, 8, 16, 32, 48, 64, 128]
    expected = [0.98] * 6 + [0.6, 0.1]
    np.testing.assert_allclose(line.get_ydata(), expected, atol=1e-6)
    error = np.std(np.linspace(-0.01, 0.01, 5), ddof=1) / np.sqrt(5)
    band = axes.collections[list(axes.lines).index(line)].get_paths()[0].vertices
    at_two = band[band[:, 0] == 2][:, 1]
    assert (at_two.min(), at_two.max()) == pytest.approx((0.98 - error, 0.98 + error), abs=1e-6)
    plt.close(figure)


def test_the_same_results_give_the_same_picture(paper):
    results = collect.load(paper / "results", "fig1b")
    assert drawing.as_bytes(results, "svg") == drawing.as_bytes(results, "svg")


def test_a_seed_that_diverged_is_left_out_and_mentioned(tmp_path):
    root = store.Root(tmp_path / "out")
    (job,) = figures.jobs_of(figures.select("fig1b", only=["fig1b/L8-rtu-rtrl"]))
    prepare(root)
    finish(root, job, 1.0)
    path = root.directory(job) / store.DONE
    done = files.read_json(path)
    done["summary"]["final_return_per_seed"][2] = None
    done["summary"]["diverged"] = [{"seed": 2, "frame": 10, "networks": ["q"]}]
    files.write_json(path, done)
    collect.collect(root, tmp_path)
    (row,) = collect.summary(collect.load(tmp_path, "fig1b"))
    assert (row["seeds"], row["diverged"]) == (5, 1)
    assert "1 seed diverged" in report.page(collect.load_all(tmp_path))


def test_reading_what_is_not_there_says_what_to_do(tmp_path, capsys):
    for command, words in (
        (["results", "show", "fig1b"], "rillax reproduce fig1b"),
        (["plot", "fig9"], "unknown figure 'fig9'"),
        (["results", "collect", "--out", str(tmp_path)], "holds no results"),
        (["results", "colect"], "did you mean collect"),
    ):
        flags = [] if "collect" in command else ["--results", str(tmp_path)]
        with pytest.raises(SystemExit, match="2"):
            cli.main([*command, *flags])
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1
    (tmp_path / "fig1b.parquet").write_bytes(b"no")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["results", "show", "fig1b", "--results", str(tmp_path)])
    assert "is not a file of rillax results collect" in capsys.readouterr().err


def test_a_file_of_another_format_is_refused_by_name(paper, tmp_path):
    path = tmp_path / "fig1b.parquet"
    table = pq.read_table(paper / "results" / "fig1b.parquet")
    about = json.loads(table.schema.metadata[b"rillax"])
    assert about.pop("format") == collect.FORMAT
    for change, its in ({}, 1), ({"format": 99}, 99):  # the first format did not say so
        old = {"cells": {}, "figure": "fig1b", "manifest": about["manifest"], **change}
        pq.write_table(table.replace_schema_metadata({"rillax": json.dumps(old)}), path)
        with pytest.raises(OutputError) as refused:
            collect.load(tmp_path, "fig1b")
        for words in (str(path), f"format {its}", f"format {collect.FORMAT}"):
            assert words in str(refused.value)


@pytest.mark.parametrize("gone", ["seed", "frame", "return", "job"])
def test_a_file_without_a_column_is_refused_by_name(gone, tmp_path):
    kept = Path(__file__).parents[2] / "results" / "paper" / "fig1b.parquet"
    path = tmp_path / "fig1b.parquet"
    pq.write_table(pq.read_table(kept).drop_columns([gone]), path)
    with pytest.raises(OutputError, match=rf"fig1b\.parquet.* no column {gone}"):
        collect.load(tmp_path, "fig1b")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["results", "show", "fig1b", "--results", str(tmp_path)])


def test_the_results_in_the_repository_can_be_read():
    paths = sorted((Path(__file__).parents[2] / "results").glob("*/*.parquet"))
    assert paths
    for path in paths:
        results = collect.load(path.parent, path.stem)
        rows = collect.summary(results)
        assert {row["job"] for row in rows} == set(results.jobs)
        for row in rows:
            numbers = [value for value in row.values() if isinstance(value, float)]
            assert numbers, row
            assert np.isfinite(numbers).all(), row


def test_the_page_has_everything_and_asks_for_nothing(paper, tmp_path):
    page = tmp_path / "report.html"
    cli.main(["report", "--results", str(paper / "results"), "--to", str(page)])
    text = page.read_text()
    assert text.count("<section id=") == 6 + 2
    assert text.count('class="badge pass"') == len(CLAIMS) + 1
    for claim in CLAIMS:
        assert claim.text in text
    # Nothing is fetched: every source is data, every link leads into the page.
    for source in re.findall(r'(?:src|srcset|href)="([^"]*)"', text):
        assert source.startswith(("data:", "#"))
    assert "<script" not in text
    assert "http" not in re.sub(r"data:[^\"]*", "", text)
    assert store.commit() in text
    for alt in re.findall(r'alt="([^"]*)"', text):
        assert len(alt) > 40
    assert '<td class="right">0.98</td>' in text
    empty = report.page({})
    assert f"<b>{len(CLAIMS)}</b> of {len(CLAIMS)}" in empty
    (missing,) = re.findall('<section id="missing">(.*?)</section>', empty)
    assert missing.count("<li") == missing.count("<code>rillax reproduce ") == len(figures.NAMES)


def test_every_figure_has_claims_and_every_claim_a_rule():
    assert all(figure.claims for figure in figures.FIGURES)
    assert all(claim.rule for claim in CLAIMS)
    verdicts = figures.verdicts({})
    assert [verdict.claim for verdict in verdicts] == CLAIMS
    assert list(dict.fromkeys(verdict.figure for verdict in verdicts)) == list(figures.NAMES)
