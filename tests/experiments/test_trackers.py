"""What TensorBoard and Weights & Biases are told is what the run wrote down."""

import importlib
import struct

import numpy as np
import pyarrow.parquet as pq
import pytest

from rillax.cli import main as cli
from rillax.experiments import trackers
from rillax.experiments.results import iqm

TINY = ["--agent", "qrc", "--length", "3", "--width", "8", "--hidden", "6", "--frames", "400"]
TINY += ["--seeds", "2"]


def events(directory):
    """(step, name, value) of every scalar in the event files, read without TensorBoard."""
    event_pb2 = importlib.import_module("tensorboardX.proto.event_pb2")
    for path in sorted(directory.glob("events.*")):
        data, at = path.read_bytes(), 0
        while at < len(data):
            (length,) = struct.unpack_from("<Q", data, at)
            event = event_pb2.Event.FromString(data[at + 12 : at + 12 + length])
            at += 12 + length + 4
            for value in event.summary.value:
                yield event.step, value.tag, value.simple_value


@pytest.mark.slow
def test_tensorboard_has_the_metrics_of_the_run(tmp_path):
    pytest.importorskip("tensorboardX")
    cli.main(["train", *TINY, "--out", str(tmp_path), "--tensorboard"])
    seen = {(step, name): value for step, name, value in events(tmp_path / "tensorboard")}
    rows = pq.read_table(tmp_path / "metrics.parquet").to_pylist()
    assert {step for step, _ in seen} == {row["frame"] for row in rows}
    for row in rows:
        name = row["frame"], f"return_of/seed_{row['seed']}"
        assert seen.get(name) == (row["return"] if row["episodes"] else None)
    for frame in {row["frame"] for row in rows}:
        errors = np.array([row["td_error"] for row in rows if row["frame"] == frame])
        assert seen[frame, "td_error"] == pytest.approx(float(iqm(errors)), rel=1e-6)


def log_records(data, block=32768):
    """The records of a LevelDB log, behind the seven bytes that W&B puts first."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        if block - at % block < 7:  # a header never straddles two blocks
            at += block - at % block
            continue
        length, kind = struct.unpack_from("<HB", data, at + 4)
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # full, or the last of several
            yield whole
            whole = b""


@pytest.mark.slow
def test_weights_and_biases_offline(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    cli.main(["train", *TINY, "--out", str(tmp_path), "--wandb", "rillax-tests"])
    (path,) = tmp_path.glob("wandb/offline-run-*/*.wandb")
    record = importlib.import_module("wandb.proto.wandb_internal_pb2").Record
    steps, project = set(), None
    for data in log_records(path.read_bytes()):
        entry = record.FromString(data)
        if entry.WhichOneof("record_type") == "history":
            items = {".".join(i.nested_key) or i.key: i.value_json for i in entry.history.item}
            steps.add(int(items["_step"]))
            assert "td_error" in items
        elif entry.WhichOneof("record_type") == "run":
            project = entry.run.project
    assert project == "rillax-tests"
    assert steps == set(pq.read_table(tmp_path / "metrics.parquet")["frame"].to_pylist())
    assert wandb.run is None  # it was closed


@pytest.mark.parametrize(
    ("flags", "module", "extra"),
    [
        (["--tensorboard"], "tensorboardX", "tensorboard"),
        (["--wandb", "x"], "wandb", "wandb"),
    ],
)
def test_a_missing_extra_is_named_before_anything_is_written(
    flags, module, extra, tmp_path, monkeypatch, capsys
):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(trackers, "import_module", missing)
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", *TINY, "--out", str(tmp_path / "x"), *flags])
    error = capsys.readouterr().err
    assert f"{module} is not installed; pip install 'rillax[{extra}]'" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "x").exists()
