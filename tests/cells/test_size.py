"""What a memory costs, in numbers kept."""

import jax
import pytest

from rillax.cells import GRU, RTU, MinGRU, NonlinearRTU


def reals(tree):
    return sum(leaf.size for leaf in jax.tree.leaves(tree))


@pytest.mark.parametrize(("inputs", "units"), [(64, 192), (3, 5), (64, 1024)])
def test_linear_rtu_carries_one_complex_trace_per_entry_of_B(inputs, units):
    cell = RTU(units).build(jax.random.key(0), inputs)
    assert reals(cell.initial_memory().sensitivity) == 2 * inputs * units + 6 * units


@pytest.mark.parametrize(("inputs", "units"), [(64, 192), (3, 5)])
def test_mingru_carries_one_real_array_for_each_of_its_matrices(inputs, units):
    cell = MinGRU(units).build(jax.random.key(0), inputs)
    memory = cell.initial_memory()
    assert memory.hidden.shape == (units,)
    assert reals(memory.sensitivity) == reals(cell) == 2 * inputs * units + 2 * units


def test_sensitivity_grows_linearly_with_width():
    sizes = [
        reals(RTU(n).build(jax.random.key(0), 64).initial_memory().sensitivity)
        for n in (32, 64, 128, 256)
    ]
    assert [size / sizes[0] for size in sizes] == [1, 2, 4, 8]


def test_nonlinear_rtu_stays_linear_in_the_parameters():
    cell = NonlinearRTU(192).build(jax.random.key(0), 64)
    assert reals(cell.initial_memory().sensitivity) == 2 * reals(cell)


def test_dense_cells_carry_units_times_parameters():
    cell = GRU(5).build(jax.random.key(0), 3)
    assert reals(cell.initial_memory().sensitivity) == 5 * reals(cell)
