"""The recurrent trace unit's equations and initialisation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.cells import RTU
from rillax.cells.rtu import LOG_RANGE


def test_one_step_by_hand(x64):
    cell = RTU(3, features="tanh").build(jax.random.key(0), 2)
    x, h = np.array([0.3, -1.2]), np.array([0.1 + 0.2j, -0.4j, 1.0])
    r = np.exp(-np.exp(np.array(cell.nu_log)))
    omega = np.exp(np.array(cell.theta_log))
    B = np.array(cell.B_real) + 1j * np.array(cell.B_imag)
    expected = r * np.exp(1j * omega) * h + np.sqrt(1 - r**2) * (B @ x)

    real, imag = cell.step((jnp.array(h.real), jnp.array(h.imag)), jnp.array(x))
    np.testing.assert_allclose(real + 1j * imag, expected, rtol=1e-12)
    features = np.tanh(np.concatenate([expected.real, expected.imag]))
    np.testing.assert_allclose(cell.read((real, imag)), features, rtol=1e-12)


def test_without_gain_the_input_enters_unscaled():
    cell = RTU(3, gain=False).build(jax.random.key(0), 2)
    hidden = cell.step(cell.initial_hidden(), jnp.array([1.0, 0.0]))
    np.testing.assert_allclose(hidden[0], cell.B_real[:, 0], rtol=1e-6)


@pytest.mark.parametrize(
    ("r_min", "r_max", "phase_min", "phase_max"),
    [(0, 1, 0, 6.28), (0.9, 0.99, 0, 0.3), (1, 1, 0, 1), (0.995, 0.9999, 0.5, 5.8)],
)
def test_initial_radius_and_phase_lie_in_their_ranges(r_min, r_max, phase_min, phase_max):
    ranges = {"r_min": r_min, "r_max": r_max, "phase_min": phase_min, "phase_max": phase_max}
    cell = RTU(4096, **ranges).build(jax.random.key(0), 2)
    r, phase = jnp.exp(-jnp.exp(cell.nu_log)), jnp.exp(cell.theta_log)
    assert jnp.all((r >= r_min - 1e-4) & (r <= r_max + 1e-6))
    assert jnp.all((phase > phase_min) & (phase <= phase_max * (1 + 1e-5)))
    # r^2 and the phase are uniform.
    assert abs(jnp.mean(r**2) - (r_min**2 + r_max**2) / 2) < 0.02
    assert abs(jnp.mean((phase - phase_min) / (phase_max - phase_min)) - 0.5) < 0.02
    assert all(jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(cell))


def test_input_weights_have_variance_one_over_fan_in():
    cell = RTU(512).build(jax.random.key(0), 64)
    assert abs(jnp.var(cell.B_real) * 64 - 1) < 0.05
    assert abs(jnp.var(cell.B_imag) * 64 - 1) < 0.05


@pytest.mark.parametrize(
    "wrong",
    [
        {"r_min": 0.9, "r_max": 0.5},
        {"r_max": 1.1},
        {"phase_max": 0},
        {"phase_min": 7},
        {"gradient": "bptt"},
    ],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError, match=r"needs|choose from"):
        RTU(3, **wrong)


def test_what_has_run_away_may_come_back():
    """Beyond their range nu_log and theta_log count as held at its end, and a gradient stays."""
    held, away = (_cell_at(log) for log in (LOG_RANGE[1], LOG_RANGE[1] + 5))
    for a, b in zip(held.polar(), away.polar(), strict=True):
        np.testing.assert_array_equal(a, b)

    def turned(cell):
        return jnp.sum(cell.polar().rotation[1])

    expected = jax.grad(turned)(held).theta_log
    assert np.all(expected != 0)
    np.testing.assert_array_equal(jax.grad(turned)(away).theta_log, expected)


def _cell_at(log):
    cell = RTU(units=3).build(jax.random.key(0), 2)
    logs = jnp.full(3, log)
    return eqx.tree_at(lambda cell: (cell.nu_log, cell.theta_log), cell, (logs, logs))
