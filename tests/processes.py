"""Runs as a user starts them, in processes that can be killed."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq

from rillax.experiments.checkpoints import CHECKPOINT
from rillax.utils import checkpoint


def rillax(*flags, cwd=None):
    return subprocess.Popen(
        [sys.executable, "-m", "rillax", "train", *flags],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "XLA_FLAGS": ""},  # long enough to be worth compiling well
        cwd=cwd,
    )


def finish(process):
    assert process.wait() == 0, process.stderr.read()


def kill_after_a_checkpoint(flags, out, cwd=None):
    """Start a run and kill it, some time after it has written a checkpoint."""
    process = rillax(*flags, "--out", str(out), cwd=cwd)
    while not (out / CHECKPOINT).exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.02)
    time.sleep(random.random() / 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (out / "summary.json").exists(), "the run was over before it was killed"
    _, meta = checkpoint.load(out / CHECKPOINT)
    assert 0 < meta["frame"] < int(flags[flags.index("--frames") + 1])


def assert_same_bits(a, b):
    """Two runs ended with the same state and the same metrics."""
    arrays, expected = checkpoint.load(a / CHECKPOINT)[0], checkpoint.load(b / CHECKPOINT)[0]
    assert arrays.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(arrays[name], expected[name], err_msg=name)
    assert pq.read_table(a / "metrics.parquet") == pq.read_table(b / "metrics.parquet")
