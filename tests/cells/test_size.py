"""What a memory costs, in numbers kept."""

import jax
import pytest

from rillax.cells import GRU, LinearRTU, NonlinearRTU


def reals(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize(("inputs", "units"), [(64, 192), (3, 5), (64, 1024)])
def test_linear_rtu_carries_one_complex_trace_per_entry_of_B(inputs, units):
    cell = LinearRTU(inputs, units, key=jax.random.key(0))
    assert reals(cell.initial_memory().sensitivity) == 2 * inputs * units + 6 * units


def test_sensitivity_grows_linearly_with_width():
    sizes = [
        reals(LinearRTU(64, n, key=jax.random.key(0)).initial_memory().sensitivity)
        for n in (32, 64, 128, 256)
    ]
    assert [size / sizes[0] for size in sizes] == [1, 2, 4, 8]


def test_nonlinear_rtu_stays_linear_in_the_parameters():
    cell = NonlinearRTU(64, 192, key=jax.random.key(0))
    assert reals(cell.initial_memory().sensitivity) == 2 * reals(cell)


def test_dense_cells_carry_units_times_parameters():
    cell = GRU(3, 5, key=jax.random.key(0))
    assert reals(cell.initial_memory().sensitivity) == 5 * reals(cell)
