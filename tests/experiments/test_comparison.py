"""Several runs in one picture, as a person compares them."""

import json
from pathlib import Path

import pytest

from rillax.cli.main import main
from rillax.experiments import comparison
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
    with pytest.raises(OutputError, match=r"config\.json is damaged"):
        comparison.read(tmp_path)
    (tmp_path / "config.json").write_text('{"run": {}}')
    (tmp_path / "summary.json").write_text("{}")
    (tmp_path / "metrics.parquet").write_text("PAR1")
    with pytest.raises(OutputError, match=r"cannot read .*metrics\.parquet"):
        comparison.read(tmp_path)
