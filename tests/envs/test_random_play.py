"""The script that measures random play, against the page that quotes it."""

import jax
import numpy as np
import pytest

from benchmarks.random_play import random_returns
from rillax.envs import make

from .documented import Estimate, read_tables


@pytest.mark.parametrize("name", ["MemoryChain", "KMemoryChain", "MineSweeperEasy"])
def test_the_documented_returns_are_measured_again(name):
    """Episodes that end early, one of them; the others' returns are measured in test_popgym.py."""
    returns = random_returns(make(name), jax.random.key(1), 1000)
    assert len(returns) == 1000
    measured = Estimate(returns.mean(), returns.std(ddof=1) / np.sqrt(len(returns)))
    assert measured.agrees_with(read_tables()[name].random)
