"""The command line, from good input to bad."""

import json
import os
import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest

from rillax._jax import kernels
from rillax.cli import main as cli
from rillax.cli import terminal
from tests.forms import needs_gymnax

TINY = ["--length", "3", "--width", "8", "--hidden", "6"]


def train(*flags):
    agent = () if "--agent" in flags else ("--agent", "qrc")
    return ["train", *TINY, *agent, *flags]


def test_train_writes_what_it_says(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(kernels, "why_slow", lambda: "told so [by a test]", raising=False)
    out = tmp_path / "x"
    cli.main(train("--frames", "500", "--seeds", "2", "--seed", "4", "--out", str(out)))
    assert {p.name for p in out.iterdir()} == {
        ".train.lock",
        "config.json",
        "metrics.parquet",
        "curve.png",
        "summary.json",
        "checkpoint.rillax",
    }
    run = json.loads((out / "config.json").read_text())["run"]
    assert run["env_settings"] == {"length": 3}
    assert run["agent"]["network"]["layers"][0]["units"] == 6
    assert run["agent"]["epsilon_frames"] == 50  # a tenth of the run
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["frames"], summary["seeds"], summary["complete"]) == (500, 2, True)
    assert len(summary["final_return_per_seed"]) == 2
    assert -1 <= summary["final_return_iqm"] <= 1
    assert summary["frames_per_second"] > 0
    table = pq.read_table(out / "metrics.parquet")
    assert set(table["seed"].to_pylist()) == {4, 5}
    assert table["frame"].to_pylist()[-1] == 500
    assert sum(table["episodes"].to_pylist()) == 2 * 125
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "final return" in printed
    assert "IQM of 2 seeds)" in printed
    assert str(out) in printed.replace("\n", "")
    slow = "running without the fast kernels: told so [by a test]"
    assert printed.splitlines().count(slow) == 1

    # A second run does not write over the first by accident.
    with pytest.raises(SystemExit, match="2"):
        cli.main(train("--out", str(out)))
    assert "already holds a run" in capsys.readouterr().err
    assert json.loads((out / "summary.json").read_text()) == summary


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--env", "MemoryChian"], ["unknown environment 'MemoryChian'", "MemoryChain"]),
        (
            ["--agent", "sarsa"],
            [
                "unknown agent 'sarsa'",
                "choose from: rill, brook, qrc, stream_q, stream_ac, td, ppo",
            ],
        ),
        (
            ["--cell", "rnn"],
            ["unknown cell 'rnn'", "rtu, rtu_nonlinear, mingru, gru, lstm, feedforward"],
        ),
        (["--gradient", "bptt"], ["unknown gradient 'bptt'", "rtrl, tbptt"]),
        (["--length", "0"], ["length of at least 1", "got 0"]),
        (["--width", "-64"], ["width must be at least 1", "got -64"]),
        (["--frames", "0"], ["frames must be at least 1"]),
        (["--frames", "many"], ["--frames", "many"]),
        (["--seeds", "-1"], ["seeds must be at least 1"]),
        (["--clip-at", "there"], ["'there'", "none", "update", "gradient"]),
        (["--lenght", "8"], ["unknown flag --lenght", "did you mean --length?"]),
        (["--cell", "gru", "--r-min", "0.9"], ["unknown flag --r-min", "--cell gru --help"]),
        (["--frames"], ["--frames needs a value"]),
        (["--frames", "1.5"], ["--frames: '1.5' is not a whole number"]),
        (["--discount", "high"], ["--discount: 'high' is not a number"]),
        (["--layers", "0"], ["layers must be at least 1, got 0"]),
        (["--q", "rmsprop"], ["unknown step-size rule 'rmsprop'", "sgd, obgd, adaptive_obgd"]),
        (
            ["--agent", "qrc", "--q", "adaptive_obgd"],
            ["AdaptiveObGD cannot be the rule q of qrc"],
        ),
        (["--kappa", "2", "--clip-at", "update"], ["--kappa", "--clip-at update"]),
        (["--agent", "nowhere:Mine"], ["there is no module nowhere"]),
        (["--agent", "json:Mine"], ["there is no Mine in json"]),
        (["--agent", "json:dumps"], ["json:dumps cannot be the agent", "not a dataclass"]),
        (["--encoder", "mine"], ["--encoder", "module:Name"]),
        (["--env-arg", "8"], ["--env-arg takes key=value", "got '8'"]),
        (["--resume", "x"], ["unknown flag --out", "--resume takes a directory"]),
        (["--out", "/dev/null/x"], ["cannot write to /dev/null/x", "--out"]),
        pytest.param(
            ["--env", "CartPole-v1", "--length", "8"], ["CartPole-v1", "length"], marks=needs_gymnax
        ),
        pytest.param(
            ["--agent", "rill", "--env", "Pendulum-v1"],
            ["Discrete action space"],
            marks=needs_gymnax,
        ),
        (["--agent", "ppo", "--frames", "2047"], ["shorter than one rollout of 2048"]),
        (["--agent", "ppo", "--minibatches", "5"], ["do not divide into 5 minibatches"]),
        (["--agent", "ppo", "--hidden", "300000"], ["needs", "available", "--rollout"]),
    ],
)
def test_bad_input_gets_one_clear_line(flags, words, tmp_path, capsys):
    with pytest.raises(SystemExit) as end:
        cli.main(["train", "--out", str(tmp_path / "x"), *flags])
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    for word in words:
        assert word in error
    assert not (tmp_path / "x").exists()


def test_a_command_that_is_not_there(capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["trian"])
    error = capsys.readouterr().err
    assert error.startswith("rillax: unknown command 'trian'; did you mean train?")
    assert error.count("\n") == 1


def test_nothing_is_said_of_kernels_that_are_fast(capsys, monkeypatch):
    monkeypatch.setattr(kernels, "why_slow", lambda: None, raising=False)
    terminal.say_if_slow()
    assert capsys.readouterr().out == ""


def test_lists(capsys):
    cli.main(["envs"])
    assert "MemoryChain" in capsys.readouterr().out.splitlines()
    cli.main(["agents"])
    listed = capsys.readouterr().out
    assert listed.startswith("rill: Rill")
    assert "\nqrc: QRC(lambda)" in listed


def test_ctrl_c_keeps_what_was_learned(tmp_path):
    out = tmp_path / "x"
    flags = train("--frames", "100000000", "--seeds", "1", "--out", str(out))
    process = subprocess.Popen(
        [sys.executable, "-m", "rillax", *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
    )
    while not (out / "config.json").exists():
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.1)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130, printed
    assert "stopped at frame" in printed
    summary = json.loads((out / "summary.json").read_text())
    assert summary["complete"] is False
    assert 0 <= summary["frames"] < 100_000_000
    assert (out / "metrics.parquet").exists()
