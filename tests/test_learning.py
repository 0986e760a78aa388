"""An agent that remembers learns what one that forgets cannot. (Small: see docs for figures.)"""

import json
import os
import subprocess
import sys

import pytest

FLAGS = [
    *("--env", "MemoryChain", "--length", "4", "--agent", "qrc", "--width", "32", "--hidden", "32"),
    *("--frames", "25000", "--seeds", "3", "--epsilon-frames", "3000"),
    *("--encoder-widths", "None", "--head-widths", "None", "--initialisation", "sparse"),
]


@pytest.mark.parametrize(
    ("cell", "low", "high"),
    [("rtu", 0.9, 1), pytest.param("feedforward", -0.15, 0.15, marks=pytest.mark.slow)],
)
def test_memory_chain_needs_memory(cell, low, high, tmp_path):
    command = [sys.executable, "-m", "rillax", "train", *FLAGS, "--cell", cell]
    fast = {**os.environ, "XLA_FLAGS": ""}  # long enough to be worth compiling well
    subprocess.run([*command, "--out", str(tmp_path)], env=fast, check=True, capture_output=True)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert low <= summary["final_return_iqm"] <= high
