"""One kernel where XLA can, an ordinary program where it cannot, the same numbers either way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax._jax import private
from rillax._jax.kernels import Program, after, kept, once, one_kernel

BOTH = 1 if private.why_off() else 2
"""How many forms are left of two where none is refused."""


def program(function):
    return Program(one_kernel(function), function, donate=())


def test_one_kernel_gives_what_the_plain_program_gives():
    def function(x):
        return jnp.tanh(x @ x.T), jnp.sum(jnp.where(x > 0, x, 0))

    x = jax.random.normal(jax.random.key(0), (5, 7))
    fast = program(function)
    for got, expected in zip(fast(x), jax.jit(function)(x), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert fast.compilations() == 1
    assert fast.forms_left == BOTH


def test_what_is_not_used_or_not_changed_goes_around_the_kernel():
    def function(x, unused, still):
        return {"new": x + 1, "old": still, "same": x}

    fast = program(function)
    found = fast(jnp.ones(3), jnp.zeros(2), jnp.arange(4))
    assert fast.forms_left == BOTH
    np.testing.assert_array_equal(found["new"], [2, 2, 2])
    np.testing.assert_array_equal(found["old"], range(4))
    np.testing.assert_array_equal(found["same"], [1, 1, 1])


def test_a_write_by_index_is_held_and_several_are_not():
    def put(x, i):
        return x.at[i].set(1.0)

    one, several = program(put), program(jax.vmap(put))
    np.testing.assert_array_equal(one(jnp.zeros(3), 2), [0, 0, 1])
    np.testing.assert_array_equal(several(jnp.zeros((2, 2)), jnp.array([1, 0])), [[0, 1], [1, 0]])
    assert (one.forms_left, several.forms_left) == (BOTH, 1)


@pytest.mark.parametrize("function", [jnp.sort, jnp.linalg.cholesky, jnp.fft.fft])
def test_what_a_kernel_cannot_hold_runs_as_an_ordinary_program(function, capfd):
    def looped(x):
        return jax.lax.fori_loop(0, 2, lambda _, y: function(x) + 0 * y, 0 * function(x))

    x = 2 * jnp.eye(6)
    np.testing.assert_allclose(program(looped)(x), function(x), rtol=1e-6)
    assert capfd.readouterr().err == ""


def test_what_the_compiler_refuses_runs_as_an_ordinary_program(monkeypatch):
    monkeypatch.setattr(private, "TASKS", set())
    x = jax.random.normal(jax.random.key(0), (6, 6))
    np.testing.assert_array_equal(program(jnp.sort)(x), jnp.sort(x))


def test_apart_and_after_change_no_number():
    x = jnp.arange(4.0)
    np.testing.assert_array_equal(once(jnp.cumsum)(x), jnp.cumsum(x))
    np.testing.assert_array_equal(jax.jit(lambda x: kept(x + 1))(x), x + 1)
    assert after(x[2], {"gradient": x}) == 2.0


def test_apart_differentiates_and_batches():
    def cube(x):
        return once(lambda x: x**3)(x)

    np.testing.assert_allclose(jax.vmap(jax.grad(cube))(jnp.arange(3.0)), [0.0, 3.0, 12.0])
