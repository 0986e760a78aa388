"""The order of the error, and the guard."""

import dataclasses

import numpy as np
import pytest

from rillax._jax import enable_x64
from rillax.paper.order import Study, slope, table

pytestmark = pytest.mark.slow

STUDY = Study(units=32, inputs=4, steps=80)
SEEDS = 20


@pytest.fixture(scope="module")
def small():
    """Staleness where updates are small: sizes, and the median over seeds for each correction."""
    sizes = np.logspace(-5, -4, 3)
    with enable_x64(True):
        return sizes, {
            c: np.median(table(STUDY, c, sizes, SEEDS), axis=1)
            for c in ("none", "diagonal", "exact")
        }


def test_staleness_is_of_first_order_and_of_second_when_it_is_corrected(small):
    sizes, staleness = small
    assert abs(slope(sizes, staleness["none"]) - 1) < 0.2
    assert abs(slope(sizes, staleness["diagonal"]) - 1) < 0.2
    assert abs(slope(sizes, staleness["exact"]) - 2) < 0.2


def test_exact_leaves_a_fraction_of_what_diagonal_leaves(small):
    _, staleness = small
    assert np.all(staleness["diagonal"] < 0.7 * staleness["none"])
    assert np.all(3 * staleness["exact"] < staleness["diagonal"])


@pytest.mark.parametrize("walk", ["random", "straight"])
def test_no_correction_does_harm_however_large_the_updates(walk, x64):
    """In every one of 20 seeds, at every size."""
    study = dataclasses.replace(STUDY, walk=walk)
    sizes = np.logspace(-5, 0, 11)
    without = table(study, "none", sizes, SEEDS)
    for correction in ("diagonal", "exact"):
        ratio = table(study, correction, sizes, SEEDS) / without
        assert ratio.max() <= 1.05, (correction, ratio.max(axis=1))
        # At the largest updates nothing is trusted, at the smallest everything.
        assert np.all(np.abs(ratio[-1] - 1) < 0.05)
        assert np.median(ratio[0]) < 0.7
