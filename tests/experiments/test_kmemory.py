"""The KMemoryChain experiment, at a size for a test."""

import dataclasses
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from rillax.experiments import kmemory
from rillax.files import OutputError

pytestmark = pytest.mark.slow


@pytest.fixture
def grid(tmp_path, monkeypatch):
    monkeypatch.setattr(kmemory, "AGENTS", ("qrc",))
    monkeypatch.setattr(kmemory, "CORRECTIONS", ("none", "exact"))
    return kmemory.Grid(
        root=tmp_path / "runs",
        results=tmp_path / "results",
        frames=400,
        seeds=2,
        interval=50,
        memories=(2,),
        width=4,
        hidden=3,
    )


def test_the_grid_is_the_papers():
    cells = list(kmemory.Grid().cells())
    assert len(cells) == 3 * 2 * 3
    run = kmemory.Grid().run(kmemory.Cell("stream_ac", 16, "diagonal"))
    assert (run.frames, run.seeds, run.env_settings) == (300_000, 5, {"memory": 16})
    assert run.agent.network.correction == "diagonal"
    assert (run.agent.entropy, run.agent.trace_decay) == (0.01, 0.95)


def test_the_grid_runs_once_and_is_drawn(grid, capsys):
    kmemory.main(grid)
    first = (grid.root / "qrc_2_exact" / "summary.json").read_bytes()
    kmemory.main(grid)  # finished runs stay as they are
    assert (grid.root / "qrc_2_exact" / "summary.json").read_bytes() == first
    assert (grid.results / "kmemory.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (grid.results / "kmemory.svg").read_bytes()
    table = pq.read_table(grid.results / "kmemory.parquet")
    assert set(table["correction"].to_pylist()) == {"none", "exact"}
    measured = np.array(table["staleness_0"].to_pylist(), float)
    assert np.isfinite(measured).sum() == 2 * 2 * 400 // 50
    summary = json.loads((grid.results / "summary.json").read_text())
    none, exact = (summary[f"qrc_2_{c}"] for c in ("none", "exact"))
    assert exact["staleness"]["iqm"] < none["staleness"]["iqm"] < none["bound"]["iqm"]

    other = dataclasses.replace(grid, frames=500)
    with pytest.raises(OutputError, match="other settings"):
        kmemory.run_all(other)
