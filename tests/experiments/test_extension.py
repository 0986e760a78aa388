"""A run goes on to more frames than it was begun with: finished, stopped, or killed on the way."""

import json
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest

from rillax.agents import QRC
from rillax.cells import RTU
from rillax.cli import main as cli
from rillax.experiments import Run, evaluation, train
from rillax.experiments.checkpoints import CHECKPOINT
from rillax.experiments.results import Bins
from rillax.experiments.training import digest, read_config
from rillax.networks import Architecture
from rillax.utils import checkpoint, files
from tests.experiments.test_directories import Killed, killed_when

AGENT = QRC(network=Architecture(cell=RTU(4), width=4), epsilon_frames=40)
RUN = Run(AGENT, "MemoryChain", frames=400, seeds=1)


def agent_arrays(out):
    arrays, _ = checkpoint.load(out / CHECKPOINT)
    return {name: value for name, value in arrays.items() if name.startswith("loop/[0]")}


def test_a_finished_run_goes_on_by_the_command(tmp_path, capsys):
    short, whole = tmp_path / "short", tmp_path / "whole"
    train(RUN, short)
    before = pq.read_table(short / "metrics.parquet")
    cli.main(["train", "--resume", str(short), "--frames", "1_000"])
    said = capsys.readouterr().out
    assert "--epsilon-frames stays 40, as the run began" in said
    assert "final return" in said

    train(Run(AGENT, "MemoryChain", frames=1000, seeds=1), whole)
    found, expected = agent_arrays(short), agent_arrays(whole)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)

    run, _ = read_config(short)
    assert (run.frames, run.extended) == (1000, (400,))
    summary = json.loads((short / "summary.json").read_text())
    assert (summary["frames"], summary["complete"], summary["run"]) == (1000, True, digest(run))
    table = pq.read_table(short / "metrics.parquet")
    assert table.slice(0, len(before)) == before
    assert table["frame"].to_pylist()[-1] == 1000
    assert len(evaluation.evaluate(*evaluation.trained(short), 2)) == 1
    cli.main(["train", "--resume", str(short), "--frames", "1000"])  # nothing is left to do
    assert json.loads((short / "summary.json").read_text()) == summary

    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", "--resume", str(short), "--frames", "900"])
    error = capsys.readouterr().err
    assert "has 1,000 already: expected more, got 900" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "where", ["_remove", pytest.param("write_outcome", marks=pytest.mark.slow)]
)
def test_killed_while_it_is_extended(where, tmp_path, monkeypatch):
    """After the config was written and nothing else, and at the very end."""
    train(RUN, tmp_path)
    with monkeypatch.context() as patch:
        killed_when(patch, where)
        with pytest.raises(Killed):
            train(RUN.extend(800), tmp_path, resume=True)
    run, options = read_config(tmp_path)
    assert run.frames == 800
    summary, bins = train(run, tmp_path, options, resume=True)
    assert (summary["complete"], summary["frames"]) == (True, 800)
    assert len(bins.table([0])) == 200
    assert files.read_json(tmp_path / "summary.json") == summary


@pytest.mark.slow
def test_a_stopped_run_is_extended_too(tmp_path):
    stop = threading.Event()
    train(RUN, tmp_path, report=lambda progress: stop.set(), stop=stop)
    summary, bins = train(RUN.extend(500), tmp_path, resume=True)
    assert (summary["complete"], summary["frames"]) == (True, 500)
    assert np.diff(bins.table([0])["frame"].to_numpy()).tolist() == [4] * 99 + [1] * 100
    with pytest.raises(checkpoint.CheckpointError, match="not written with the settings"):
        train(Run(AGENT, "MemoryChain", frames=900, seeds=1), tmp_path, resume=True)


def test_the_last_tenth_of_an_extended_run_is_counted_in_frames():
    bins = Bins(1000, count=10, extended=(100,))
    assert [bins.edge(b) for b in (0, 9, 10, 19)] == [10, 100, 190, 1000]
    assert (bins.room(95), bins.room(100), bins.is_edge(190)) == (5, 90, True)
    bins._sums = [{"return": np.array([float(b)]), "episodes": np.array([1.0])} for b in range(20)]
    assert bins.final_returns().tolist() == [19.0]
    with pytest.raises(ValueError, match="extended to more frames than it had"):
        RUN.extend(400)
