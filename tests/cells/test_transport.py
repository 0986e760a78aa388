"""The terms that corrections carry, against autodiff of the unrolled recurrence."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rillax._jax import enable_x64
from rillax.cells import RTU, Defaults, NonlinearRTU
from rillax.cells.transport import linear_hessian

pytestmark = pytest.mark.slow

LONGEST = 12


def draw(kind, size, seed, **settings):
    key_cell, key_x = jax.random.split(jax.random.key(seed))
    defaults = Defaults(activation=settings.pop("activation", "leaky_relu"))
    cell = kind(size[1], **settings).build(key_cell, size[0], defaults)
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


def together(pair):
    return np.asarray(pair[0]) + 1j * np.asarray(pair[1])


def close(actual, expected):
    scale = max(float(np.abs(expected).max()), 1e-30)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-9 * scale)


shapes = st.sampled_from([((1, 2), False), ((3, 4), True)])  # inputs, units; with gain


@settings(max_examples=25)
@given(shape=shapes, length=st.integers(1, LONGEST), seed=st.integers(0, 2**31))
def test_the_terms_of_exact_are_the_whole_hessian(shape, length, seed):
    size, gain = shape
    with enable_x64(True):
        cell, xs = draw(RTU, size, seed, gain=gain, correction="exact")
        actual = linear_hessian(cell, carried(cell, xs, length))
        H = hessians(cell, xs, length)
        n = size[1]
        eye = np.arange(n)
        for value, (i, j) in (
            (actual.nu_nu, (0, 0)),
            (actual.nu_theta, (0, 1)),
            (actual.theta_theta, (1, 1)),
        ):
            close(together(value), np.asarray(H[i][j])[eye, eye, eye])
        for value, i in ((actual.nu_B, 0), (actual.theta_B, 1)):
            close(together(value), np.asarray(H[i][2])[eye, eye, eye])
            close(1j * together(value), np.asarray(H[i][3])[eye, eye, eye])
        # The state is linear in B.
        assert all(np.abs(H[i][j]).max() == 0 for i in (2, 3) for j in (2, 3))
        # And there is nothing between units.
        for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 3)):
            others = np.asarray(H[i][j]).copy()
            others[eye, eye, eye] = 0
            assert not others.any()


@pytest.mark.parametrize("activation", ["tanh", "leaky_relu"])
@settings(max_examples=10)
@given(length=st.integers(1, LONGEST), seed=st.integers(0, 2**31))
def test_the_terms_of_diagonal_are_the_diagonal_of_the_hessian(activation, length, seed):
    with enable_x64(True):
        size = (3, 4)
        cell, xs = draw(NonlinearRTU, size, seed, activation=activation, correction="diagonal")
        omega = carried(cell, xs, length).second.omega
        H = hessians(cell, xs, length)
        k, j = np.arange(size[1]), np.arange(size[0])
        close(together(omega.nu_log), np.asarray(H[0][0])[k, k, k])
        close(together(omega.theta_log), np.asarray(H[1][1])[k, k, k])
        k, j = k[:, None], j[None, :]
        close(together(omega.B_real), np.asarray(H[2][2])[k, k, j, k, j])
        close(together(omega.B_imag), np.asarray(H[3][3])[k, k, j, k, j])


def update(cell, size, seed):
    leaves, tree = jax.tree.flatten(cell)
    keys = jax.random.split(jax.random.key(seed), len(leaves))
    moved = [
        leaf + size * jax.random.normal(key, leaf.shape)
        for key, leaf in zip(keys, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, moved)


@jax.jit
def follow(cell, memory, x, size, seed):
    """One input, and one update."""
    after = update(cell, size, seed)
    return after, cell.transport(cell.advance(memory, x), after)


KINDS = {
    ("linear", "diagonal"): RTU,
    ("linear", "exact"): RTU,
    ("non-linear", "diagonal"): NonlinearRTU,
}


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_a_unit_that_is_refused_is_where_no_correction_would_have_left_it(kind, x64):
    """Small updates, which are followed, and then a large one: all is taken back but for E."""
    settings = {"r_min": 0.8, "r_max": 0.95, "activation": "tanh"}
    corrected, xs = draw(KINDS[kind], (3, 5), 0, correction=kind[1], **settings)
    plain, _ = draw(KINDS[kind], (3, 5), 0, **settings)
    memories = {"corrected": corrected.initial_memory(), "plain": plain.initial_memory()}
    cells = {"corrected": corrected, "plain": plain}
    for t, x in enumerate(xs):
        size = 1.0 if t == len(xs) - 1 else 1e-4
        for name, cell in cells.items():
            cells[name], memories[name] = follow(cell, memories[name], x, size, t)
        if t == len(xs) - 2:
            assert memories["corrected"].second.guard.trusted.all()
            assert not np.allclose(*(m.sensitivity.nu_log[0] for m in memories.values()), rtol=1e-7)
    refused = ~np.asarray(memories["corrected"].second.guard.trusted)
    assert refused.sum() >= 3
    actual, expected = (
        (m.hidden, m.sensitivity.nu_log, m.sensitivity.theta_log) for m in memories.values()
    )
    for a, e in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        close(a[refused], e[refused])


def test_a_unit_is_trusted_again_when_its_stale_past_has_faded(x64):
    cell, xs = draw(RTU, (3, 5), 0, r_min=0.3, r_max=0.5, correction="exact")
    memory = cell.initial_memory()
    trusted = []
    for t, x in enumerate(xs):
        cell, memory = follow(cell, memory, x, 1.0 if t == 3 else 1e-5, t)
        trusted.append(bool(memory.second.guard.trusted.all()))
    assert trusted[:3] == [True] * 3
    assert not trusted[3]
    assert trusted[-1]


def test_without_a_correction_nothing_more_is_carried():
    cell, _ = draw(RTU, (3, 5), 0)
    memory = cell.initial_memory()
    assert memory.second is None
    assert cell.transport(memory, update(cell, 1.0, 0)) is memory


def test_exact_carries_one_complex_number_per_complex_weight():
    """dE/dl; beside it only numbers per unit."""
    inputs, units = 64, 192
    cell = RTU(units, correction="exact").build(jax.random.key(0), inputs)
    reals = sum(leaf.size for leaf in jax.tree.leaves(cell.initial_memory().second))
    assert 2 * inputs * units < reals < 2 * inputs * units + 20 * units


def test_exact_is_refused_for_the_nonlinear_unit():
    with pytest.raises(ValueError, match="choose 'diagonal'"):
        NonlinearRTU(5, correction="exact")
