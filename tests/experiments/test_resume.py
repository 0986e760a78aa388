"""A run that is killed and resumed ends in the same bits as one left alone."""

import json
import os
import threading

import numpy as np
import pytest

from rillax.agents import QRC
from rillax.cells import RTU
from rillax.cli import main as cli
from rillax.experiments import Run, train
from rillax.experiments.checkpoints import CHECKPOINT, LAST_GOOD
from rillax.experiments.training import read_config
from rillax.networks import Architecture
from rillax.utils import checkpoint
from tests.processes import assert_same_bits, finish, kill_after_a_checkpoint, rillax

PPO = ["--rollout", "6", "--minibatches", "3", "--environments", "3"]
"""Short rollouts: when the first checkpoint is written, after 25 frames, one has been learned from
and another is under way."""
RUNS = {
    "jax": ["--env", "MemoryChain", "--length", "3", "--agent", "qrc", "--frames", "100000"],
    "ppo": ["--env", "MemoryChain", "--length", "3", "--agent", "ppo", "--frames", "3000", *PPO],
    "mujoco": ["--env", "Hopper-P", "--agent", "stream_ac", "--frames", "1500"],
    "mujoco_ppo": ["--env", "Hopper-P", "--agent", "ppo", "--frames", "2500", *PPO],
}
SMALL = [
    "--width",
    "8",
    "--encoder-widths",
    "None",
    "--hidden",
    "8",
    "--seeds",
    "2",
    "--checkpoint-seconds",
    "0",
]


@pytest.mark.parametrize(
    "kind", [pytest.param(k, marks=() if k == "jax" else pytest.mark.slow) for k in RUNS]
)
def test_sigkill_and_resume_give_the_same_bits(kind, tmp_path):
    if "mujoco" in kind:
        pytest.importorskip("mujoco")
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    flags = [*RUNS[kind], *SMALL]
    kill_after_a_checkpoint(flags, cut)
    finish(rillax(*flags, "--out", str(whole)))
    finish(rillax("--resume", str(cut)))
    assert_same_bits(cut, whole)


def test_a_damaged_checkpoint_is_refused_and_left_alone(tmp_path, capsys):
    out = tmp_path / "x"
    flags = ["--agent", "qrc", "--length", "3", "--width", "8", "--hidden", "8", "--seeds", "2"]
    flags += ["--frames", "400"]
    cli.main(["train", *flags, "--out", str(out)])
    summary = (out / "summary.json").read_text()
    cli.main(["train", "--resume", str(out)])  # nothing is left to do, and nothing changes
    assert (out / "summary.json").read_text() == summary
    path = out / CHECKPOINT
    damaged = path.read_bytes()[:-9]
    path.write_bytes(damaged)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", "--resume", str(out)])
    error = capsys.readouterr().err
    assert "damaged" in error
    assert error.count("\n") == 1
    assert path.read_bytes() == damaged


def test_resume_needs_a_run(tmp_path, capsys):
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(SystemExit, match="2"):
            cli.main(["train", "--resume", str(directory)])
        assert "holds no run" in capsys.readouterr().err
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", "--resume", str(tmp_path)])
    assert "not the config of a run" in capsys.readouterr().err


def test_a_run_that_diverges_stops_and_says_where(tmp_path, capsys):
    out = tmp_path / "x"
    flags = ["--agent", "qrc", "--length", "3", "--width", "8", "--hidden", "8"]
    flags += ["--q-step-size", "1e6"]
    with pytest.raises(SystemExit, match="3"):
        cli.main(["train", *flags, "--seeds", "2", "--frames", "100000000", "--out", str(out)])
    error = capsys.readouterr().err
    assert "diverged: seed 0 at frame" in error
    assert "(q" in error
    summary = json.loads((out / "summary.json").read_text())
    assert summary["final_return_iqm"] is None
    assert {entry["seed"] for entry in summary["diverged"]} == {0, 1}
    assert all("q" in entry["networks"] for entry in summary["diverged"])
    assert not (out / LAST_GOOD).exists()  # it diverged before the first checkpoint was due
    assert os.path.exists(out / "metrics.parquet")


@pytest.mark.slow
def test_a_seed_that_diverges_leaves_the_others_to_finish(tmp_path):
    """And the last state in which all were well stays beside what follows."""
    out, network = tmp_path / "x", Architecture(width=8, cell=RTU(8))
    run = Run(QRC(network=network), "MemoryChain", frames=3000, seeds=3)
    stop = threading.Event()
    train(run, out, report=lambda progress: stop.set(), stop=stop)
    path = out / CHECKPOINT
    arrays, meta = checkpoint.load(path)
    assert 0 < meta["frame"] < run.frames
    (name,) = [n for n in arrays if "q.network" in n and n.endswith("nu_log")]
    arrays[name][1] = np.nan
    checkpoint.save(path, arrays, meta)

    assert read_config(out)[0] == run
    summary, _ = train(run, out, resume=True)
    assert summary["complete"]
    (lost,) = summary["diverged"]
    assert (lost["seed"], lost["frame"]) == (1, meta["frame"] + 1)
    assert "q" in lost["networks"]
    finite = [value is not None for value in summary["final_return_per_seed"]]
    assert finite == [True, False, True]
    assert checkpoint.load(out / LAST_GOOD)[1]["frame"] == meta["frame"]
    assert checkpoint.load(path)[1]["frame"] == run.frames
