"""Several runs in one picture, as a person compares them."""

import json
import shutil
from pathlib import Path

import pytest

from rillax.cli.main import main
from rillax.experiments import comparison
from rillax.experiments.training import METRICS, SUMMARY
from rillax.utils import files
from rillax.utils.files import OutputError

KEPT = Path(__file__).parents[2] / "results" / "first"
RUNS = [f"memory_chain_8_{name}" for name in ("qrc_feedforward", "qrc_rtu", "stream_ac_rtu")]


def test_runs_are_called_by_what_differs(tmp_path, capsys):
    outcomes = [comparison.read(KEPT / name) for name in RUNS]
    assert comparison.names(outcomes) == ["QRC, FeedForward", "QRC, RTU", "StreamAC, RTU"]
    assert comparison.names(outcomes[:2]) == ["FeedForward", "RTU"]
    assert comparison.names([outcomes[0], outcomes[0]]) == 2 * [RUNS[0]]
    picture = tmp_path / "deeper" / "picture.png"
    main(["compare", *(str(KEPT / name) for name in RUNS), "--out", str(picture)])
    said = capsys.readouterr().out
    assert picture.stat().st_size > 10_000
    assert f"wrote {picture}" in said.replace("\n", "")
    assert "0.992" in said  # as the summary of that run has it


def test_a_setting_is_told_by_its_name(tmp_path):
    config = json.loads((KEPT / RUNS[1] / "config.json").read_text())["run"]
    other = json.loads(json.dumps(config))
    other["agent"]["discount"] = 0.5
    other["agent"]["q"]["step_size"] = 0.5
    other["agent"]["network"]["layers"][0]["gain"] = False
    other["env_settings"]["length"] = 16
    other["frames"] = 7  # how long it was is not what it was
    made = [comparison.Outcome(tmp_path, run, None, {}) for run in (config, other)]
    (first, second) = (set(name.split(", ")) for name in comparison.names(made))
    assert second == {"discount 0.5", "q step size 0.5", "no gain", "length 16"}
    assert first == {"discount 0.99", "q step size 0.0001", "gain", "length 8"}


def test_curves_are_means_over_episodes():
    frames, returns = comparison.read(KEPT / RUNS[1]).curve
    assert returns.shape == (25, 5)
    assert frames[-1] == 100_000
    assert (abs(returns) <= 1).all()
    assert returns[-1].mean() > 0.95


def test_what_is_missing_or_damaged_is_named(tmp_path):
    with pytest.raises(OutputError, match=r"holds no finished run: cannot read config\.json"):
        comparison.read(tmp_path)
    (tmp_path / "config.json").write_text("[1")
    with pytest.raises(OutputError, match=r"cannot read .*config\.json"):
        comparison.read(tmp_path)
    (tmp_path / "config.json").write_text('{"run": {}}')
    (tmp_path / "summary.json").write_text("{}")
    (tmp_path / "metrics.parquet").write_text("PAR1")
    with pytest.raises(OutputError, match=r"cannot read .*metrics\.parquet"):
        comparison.read(tmp_path)


@pytest.fixture
def written(tmp_path):
    """A run as this version writes it, with digests."""
    out = tmp_path / "run"
    shutil.copytree(KEPT / RUNS[1], out)
    kept = files.read_json(out / SUMMARY)
    named = {METRICS: files.digest_of_file(out / METRICS)}
    files.write_json(out / SUMMARY, {**kept, "files": named})
    files.write_json(out / "config.json", files.read_json(out / "config.json"))
    return out


@pytest.mark.parametrize("name", ["config.json", "summary.json", "metrics.parquet"])
def test_a_changed_byte_is_noticed(name, written, capsys):
    assert comparison.read(written).summary["seeds"] == 5
    content = (written / name).read_bytes()
    at = content.index(b"5" if name == "summary.json" else b"r")
    (written / name).write_bytes(content[:at] + b"7" + content[at + 1 :])
    with pytest.raises(SystemExit, match="2"):
        main(["compare", str(written), "--out", str(written / "x.png")])
    said = capsys.readouterr().err
    assert name in said.replace("\n", "")
    assert "Traceback" not in said


def without_digest(path):
    value = files.read_json(path)
    path.write_text(json.dumps(value))
    return value


@pytest.mark.parametrize(
    "wrong",
    [
        *({"final_return_iqm": "good"}, {"final_return_standard_error": []}, {"seeds": None}),
        *({"frames": 1.5}, {"files": []}, {"files": {"../x": "y"}}, {"files": {METRICS: 3}}),
    ],
)
def test_what_is_shown_is_what_it_should_be(wrong, written):
    value = without_digest(written / SUMMARY)
    (written / SUMMARY).write_text(json.dumps({**value, **wrong}))
    with pytest.raises(OutputError, match=r"summary\.json|metrics\.parquet"):
        comparison.read(written)


def test_all_kept_results_can_be_read():
    kept = [path.parent for path in KEPT.parent.rglob(SUMMARY)]
    assert len(kept) >= len(RUNS)
    for out in kept:
        comparison.read(out)
