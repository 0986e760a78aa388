"""Who owns the directory of a run, and what is taken for its result."""

import contextlib
import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from rillax.agents import QRC
from rillax.cells import RTU
from rillax.cli import main as cli
from rillax.experiments import Options, Run, train, training
from rillax.experiments.checkpoints import CHECKPOINT
from rillax.experiments.training import CURVE, LOCK, METRICS, SUMMARY
from rillax.networks import Architecture
from rillax.utils import checkpoint, files
from rillax.utils.checkpoint import CheckpointError

RUN = Run(QRC(network=Architecture(cell=RTU(4), width=4)), "MemoryChain", frames=400, seeds=1)


class Killed(BaseException):
    """As SIGKILL would end it: nothing after it runs."""


def stopped(out):
    stop = threading.Event()
    train(RUN, out, report=lambda progress: stop.set(), stop=stop)
    assert not files.read_json(out / SUMMARY)["complete"]


def killed_when(monkeypatch, name):
    """Let the next call of a function of ``training`` be the end."""

    def die(*_, **__):
        raise Killed

    monkeypatch.setattr(training, name, die)


def test_a_summary_of_before_is_not_taken_for_the_result(tmp_path, monkeypatch):
    stopped(tmp_path)
    with monkeypatch.context() as patch:
        killed_when(patch, "write_table")
        with pytest.raises(Killed):
            train(RUN, tmp_path, resume=True)
    assert checkpoint.load(tmp_path / CHECKPOINT)[1]["frame"] == RUN.frames
    assert not (tmp_path / SUMMARY).exists()
    summary, bins = train(RUN, tmp_path, resume=True)
    assert summary["complete"]
    assert summary["frames_per_second"] > 0
    assert len(bins.table([0])) == 100
    assert train(RUN, tmp_path, resume=True)[0] == summary


@pytest.mark.slow
def test_an_overwritten_run_leaves_nothing_behind(tmp_path, monkeypatch):
    train(RUN, tmp_path)
    other = Run(RUN.agent, "MemoryChain", frames=400, seeds=1, seed=7)
    with monkeypatch.context() as patch:
        killed_when(patch, "write_outcome")
        with pytest.raises(Killed):
            train(other, tmp_path, overwrite=True)
    for name in (SUMMARY, METRICS, CURVE):
        assert not (tmp_path / name).exists()
    train(other, tmp_path, resume=True)
    assert files.read_json(tmp_path / SUMMARY)["run"] == training.digest(other)


def test_the_picture_is_not_needed_for_the_end(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        killed_when(patch, "draw_curves")
        with pytest.raises(Killed):
            train(RUN, tmp_path)
    assert not (tmp_path / CURVE).exists()
    assert train(RUN, tmp_path, resume=True)[0]["complete"]
    assert (tmp_path / CURVE).exists()


def test_the_run_of_another_process_is_not_deleted_after_the_lock_was_waited_for(
    tmp_path, monkeypatch
):
    """Both find the directory empty; one is over before the other takes the lock."""
    prepare = training.prepare

    def prepare_and_be_slow(*args, **how):
        prepare(*args, **how)
        training.write_config(RUN, tmp_path, Options())

    monkeypatch.setattr(training, "prepare", prepare_and_be_slow)
    with pytest.raises(files.OutputError, match="already holds a run"):
        train(RUN, tmp_path)
    assert training.read_config(tmp_path)[0] == RUN


@pytest.mark.parametrize("overwrite", [False, True])
def test_trackers_begin_anew_with_a_run(overwrite, tmp_path, monkeypatch):
    """What was there is removed with the run that it was of; anybody else's stays."""
    events = tmp_path / "tensorboard" / "events.out.tfevents.1.host"
    events.parent.mkdir()
    mine = events.with_name("notes.txt")
    for path in (events, mine, tmp_path / "wandb_id"):
        path.write_text("x")
    if overwrite:
        training.write_config(RUN, tmp_path, Options())
    killed_when(monkeypatch, "make_run_loop")
    with pytest.raises(Killed):
        train(RUN, tmp_path, overwrite=overwrite)
    assert events.exists() == (tmp_path / "wandb_id").exists() == (not overwrite)
    assert mine.exists()


def test_a_directory_has_one_owner(tmp_path, capsys):
    with (
        files.locked(tmp_path / LOCK, "it"),
        pytest.raises(files.OutputError, match=f"at work in .*process {os.getpid()}"),
    ):
        train(RUN, tmp_path)
    assert not (tmp_path / "config.json").exists()


def test_a_checkpoint_knows_its_config(tmp_path):
    stopped(tmp_path)
    other = Run(RUN.agent, "MemoryChain", frames=400, seeds=1, seed=7)
    with pytest.raises(CheckpointError, match=r"not written with the settings in config\.json"):
        train(other, tmp_path, resume=True)


def test_leftovers_of_dead_writers_are_removed(tmp_path):
    dead = 2**22 + 5
    for name in ("checkpoint.rillax", "x.json"):
        beside = files._beside(tmp_path / name)
        left = beside.with_name(beside.name.replace(f".{os.getpid()}.", f".{dead}."))
        left.write_bytes(b"half a file")
        mine = beside.with_name(beside.name.replace(f".{os.getpid()}.", f".{os.getppid()}."))
        mine.write_bytes(b"of a living process")
    files.write_json(tmp_path / "x.json", {})
    names = sorted(p.name for p in tmp_path.iterdir())
    assert sum(name.endswith(f".{dead}.writing") for name in names) == 1
    assert sum(name.endswith(f".{os.getppid()}.writing") for name in names) == 2
    train(RUN, tmp_path)
    assert not list(tmp_path.glob(".*.writing"))


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own."""
    path = tmp_path / "disk"
    path.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(path)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("to mount a file system is not allowed here")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


def test_a_leftover_on_a_small_disk_does_not_make_a_resume_fail(disk):
    """It is of a machine that died while it wrote, and takes all the room there was."""
    out = disk / "run"
    stopped(out)
    left = out / ".checkpoint.rillax.another-host.17.writing"
    with contextlib.suppress(OSError), open(left, "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(files.OutputError, match="No space left"):
        files.write_bytes(out / "x", bytes(4096))
    assert train(RUN, out, resume=True)[0]["complete"]
    assert not left.exists()


@pytest.mark.slow
def test_damaged_results_are_named(tmp_path, capsys):
    train(RUN, tmp_path)
    for name, damage in ((METRICS, b"x"), (SUMMARY, b"]")):
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(whole[:40] + damage + whole[41:])
        with pytest.raises(SystemExit, match="2"):
            cli.main(["train", "--resume", str(tmp_path)])
        error = capsys.readouterr().err
        assert name in error
        assert error.count("\n") == 1
        path.write_bytes(whole)
    summary = json.loads((tmp_path / SUMMARY).read_text())
    (tmp_path / SUMMARY).write_text(json.dumps({**summary, "final_return_iqm": 9.0}))
    with pytest.raises(files.OutputError, match=r"summary\.json is damaged"):
        train(RUN, tmp_path, resume=True)


LONG = "x" * 256
KEPT = Path(__file__).parents[2] / "results"
ONE = str(KEPT / "first" / "memory_chain_8_qrc_rtu")


@pytest.mark.parametrize(
    "argv",
    [
        *(["train", flag, LONG] for flag in ("--out", "--config", "--resume")),
        *([command, LONG] for command in ("export", "evaluate", "compare")),
        ["compare", ONE, "--out", f"{LONG}.png"],
        ["compare", ONE, "--out", "/proc/x/y.png"],
        ["import", LONG],
        ["import", __file__, "--learner", LONG],
        *(["report", "--to", name] for name in (LONG, "/proc/x/y.html")),
        ["report", "--results", LONG],
        ["plot", "fig1a", "--results", LONG],
        ["plot", "fig1a", "--results", str(KEPT / "paper"), "--to", "/proc/x"],
        ["results", "show", "fig1a", "--results", LONG],
        ["results", "collect", "--out", LONG],
        *(["reproduce", "fig1a", "--out", name] for name in (LONG, "/proc/x")),
    ],
    ids=lambda argv: " ".join(arg[-20:] for arg in argv),
)
def test_names_that_cannot_be_used_are_said_in_one_line(argv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        cli.main(argv)
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "File name too long" in error or "/proc/x" in error
    assert LONG[:20] in error or "/proc/x" in error


def test_the_longest_name_can_be_used(tmp_path):
    files.write_json(tmp_path / ("x" * 255), {})
    assert files.read_json(tmp_path / ("x" * 255)) == {}
