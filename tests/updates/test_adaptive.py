"""The adaptive rule against its second implementation, and where numbers are not finite."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from rillax.updates import adaptive
from tests.updates.reference_adaptive import ReferenceAdaptive


def test_many_steps_equal_an_independent_implementation(x64):
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(5, 3)), "b": rng.normal(size=3)}
    reference = ReferenceAdaptive(dict(params), 0.05, 0.7)
    optimiser = adaptive(0.05, 0.7)
    ours = {k: jnp.array(v) for k, v in params.items()}
    state, update = optimiser.init(ours), jax.jit(optimiser.update)
    for _ in range(100):
        size = rng.choice([1e-3, 1.0, 30.0])
        gradient = {k: size * rng.normal(size=v.shape) for k, v in params.items()}
        delta, reset = rng.choice([0.1, 3.0]) * rng.normal(), bool(rng.random() < 0.1)
        step, state = update(gradient, state, ours, td_error=delta, reset=reset)
        ours = optax.apply_updates(ours, step)
        reference.step(gradient, delta, reset)
        for k in params:
            np.testing.assert_allclose(ours[k], reference.p[k], rtol=1e-10)


def test_an_error_that_is_not_finite_changes_nothing():
    optimiser, w = adaptive(0.1, 0.5), jnp.ones(3)
    _, state = optimiser.update(w, optimiser.init(w), w, td_error=1.0, reset=False)
    loud = jnp.array([np.nan, np.inf, 1.0])
    step, after = optimiser.update(loud, state, w, td_error=jnp.nan, reset=False)
    assert not step.any()
    jax.tree.map(np.testing.assert_array_equal, after, state)
