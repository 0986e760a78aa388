"""Compiled programs are kept in the user's cache directory, and found there again."""

import os
import subprocess
import sys

import pytest

FLAGS = ["--agent", "qrc", "--length", "3", "--width", "4", "--hidden", "4", "--seeds", "1"]
FLAGS += ["--frames", "50"]


def train(out, cache):
    return run(["-m", "rillax", "train", *FLAGS, "--out", str(out)], cache)


def run(program, cache):
    """Run Python with a cache directory; returns the names of what is kept there."""
    ours = ("JAX_COMPILATION_CACHE_DIR", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS")
    env = {k: v for k, v in os.environ.items() if k not in ours}
    subprocess.run(
        [sys.executable, *program],
        env=env | {"XDG_CACHE_HOME": str(cache), "HOME": str(cache)},
        check=True,
        capture_output=True,
    )
    kept = [p for p in cache.rglob("*-cache") if p.parts[-4:-2] == ("rillax", "compiled")]
    return {path.name for path in kept}


def test_a_second_run_compiles_nothing_again(tmp_path):
    kept = train(tmp_path / "a", tmp_path / "cache")
    assert any("jit_run" in name for name in kept)
    assert train(tmp_path / "b", tmp_path / "cache") == kept


@pytest.mark.slow
def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    nowhere = tmp_path / "cache"
    nowhere.write_text("a file where a directory should be")
    assert train(tmp_path / "a", nowhere) == set()


LEARNER = """
import numpy as np
from gymnasium.spaces import Box, Discrete
from rillax import Learner
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture
agent = StreamAC(network=Architecture(cell=RTU(4), width=4))
learner = Learner(agent, Box(-1, 1, (2,)), Discrete(2))
learner.act(np.zeros(2))
learner.learn(1.0, np.zeros(2))
"""


@pytest.mark.slow
def test_a_learner_keeps_its_programs_too(tmp_path):
    kept = run(["-c", LEARNER], tmp_path)
    assert any("packed" in name for name in kept)
    assert run(["-c", LEARNER], tmp_path) == kept


COMPILE = """
import jax
from rillax.utils import machine
for _ in range(3):
    machine.keep_compilations()
jax.jit(lambda x: 2 * x + 1)(1.0)
"""


def test_a_damaged_entry_in_a_directory_of_ones_own_is_written_anew(tmp_path):
    ours = {"JAX_COMPILATION_CACHE_DIR": str(tmp_path)}
    often = {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}

    def compile_it():
        program = [sys.executable, "-c", COMPILE]
        subprocess.run(program, env=os.environ | ours | often, check=True, capture_output=True)
        return {path: path.read_bytes() for path in tmp_path.glob("*-cache")}

    whole = compile_it()
    assert whole
    for path in whole:
        path.write_bytes(b"damaged")
    again = compile_it()
    assert again.keys() == whole.keys()
    assert b"damaged" not in again.values()
