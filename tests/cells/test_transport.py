"""The terms that corrections carry, against autodiff of the unrolled recurrence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rillax.cells import LinearRTU, NonlinearRTU
from rillax.cells.pairs import together
from rillax.cells.transport import linear_hessian

LONGEST = 12


def draw(kind, size, seed, **settings):
    key_cell, key_x = jax.random.split(jax.random.key(seed))
    cell = kind(*size, key=key_cell, **settings)
    return cell, jax.random.normal(key_x, (LONGEST, size[0]))


def choose(condition, yes, no):
    return jax.tree.map(lambda y, n: jnp.where(condition, y, n), yes, no)


def unroll(parameters, cell, xs, length):
    """The state after ``length`` inputs, as a function of the parameters alone."""
    leaves = tuple(parameters)
    cell = eqx.tree_at(lambda c: (c.nu_log, c.theta_log, c.B_real, c.B_imag), cell, leaves)

    def one(hidden, t_x):
        t, x = t_x
        return choose(t < length, cell.step(hidden, x), hidden), None

    return jax.lax.scan(one, cell.initial_hidden(), (jnp.arange(len(xs)), xs))[0]


def parameters(cell):
    return [cell.nu_log, cell.theta_log, cell.B_real, cell.B_imag]


@jax.jit
def hessians(cell, xs, length):
    """Every second derivative of every unit's state, by autodiff of the whole sequence."""
    real, imag = jax.hessian(unroll)(parameters(cell), cell, xs, length)
    return [[a + 1j * b for a, b in zip(*row, strict=True)] for row in zip(real, imag, strict=True)]


@jax.jit
def carried(cell, xs, length):
    def one(memory, t_x):
        t, x = t_x
        return choose(t < length, cell.advance(memory, x), memory), None

    return jax.lax.scan(one, cell.initial_memory(), (jnp.arange(len(xs)), xs))[0]


def own(block):
    """Of d2h_k / dp_i dp_j with i, j over units, the part of unit k itself; the rest is zero."""
    units = range(len(block))
    return np.stack([np.asarray(block)[k, k] for k in units])


def close(actual, expected):
    scale = max(float(np.abs(expected).max()), 1e-30)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * scale)


sizes = st.sampled_from([(1, 1), (3, 4), (4, 2)])  # inputs, units


@settings(max_examples=25)
@given(size=sizes, length=st.integers(1, LONGEST), gain=st.booleans(), seed=st.integers(0, 2**31))
def test_the_terms_of_exact_are_the_whole_hessian(size, length, gain, seed):
    with jax.enable_x64(True):
        cell, xs = draw(LinearRTU, size, seed, gain=gain, correction="exact")
        actual = linear_hessian(cell, carried(cell, xs, length))
        H = hessians(cell, xs, length)
        n = size[1]
        eye = np.arange(n)
        for value, (i, j) in (
            (actual.nu_nu, (0, 0)),
            (actual.nu_theta, (0, 1)),
            (actual.theta_theta, (1, 1)),
        ):
            close(value, np.asarray(H[i][j])[eye, eye, eye])
        for value, i in ((actual.nu_B, 0), (actual.theta_B, 1)):
            close(value, np.asarray(H[i][2])[eye, eye, eye])
            close(1j * value, np.asarray(H[i][3])[eye, eye, eye])
        # The state is linear in B.
        assert all(np.abs(H[i][j]).max() == 0 for i in (2, 3) for j in (2, 3))
        # And there is nothing between units.
        for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 3)):
            others = np.asarray(H[i][j]).copy()
            others[eye, eye, eye] = 0
            assert not others.any()


@pytest.mark.parametrize("activation", [jnp.tanh, jax.nn.leaky_relu])
@settings(max_examples=10)
@given(size=sizes, length=st.integers(1, LONGEST), gain=st.booleans(), seed=st.integers(0, 2**31))
def test_the_terms_of_diagonal_are_the_diagonal_of_the_hessian(
    activation, size, length, gain, seed
):
    with jax.enable_x64(True):
        cell, xs = draw(
            NonlinearRTU, size, seed, gain=gain, activation=activation, correction="diagonal"
        )
        omega = carried(cell, xs, length).second.omega
        H = hessians(cell, xs, length)
        k, j = np.arange(size[1]), np.arange(size[0])
        close(together(omega.nu_log), np.asarray(H[0][0])[k, k, k])
        close(together(omega.theta_log), np.asarray(H[1][1])[k, k, k])
        k, j = k[:, None], j[None, :]
        close(together(omega.B_real), np.asarray(H[2][2])[k, k, j, k, j])
        close(together(omega.B_imag), np.asarray(H[3][3])[k, k, j, k, j])
