from itertools import pairwise

import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rillax.updates import adaptive_obgd, obgd
from tests.agents.reference_stream_ac import ReferenceObGD


@pytest.mark.parametrize("adaptive", [False, True])
def test_several_steps_equal_an_independent_implementation(adaptive, x64):
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=3)}
    reference = ReferenceObGD(dict(params), 0.7, 2.0, 0.9 * 0.8, adaptive)
    optimiser = (adaptive_obgd if adaptive else obgd)(0.7, 2.0, 0.9 * 0.8)
    ours = {k: jnp.array(v) for k, v in params.items()}
    state = optimiser.init(ours)
    # Small and large errors: the bound is active in some steps and not in others.
    for delta, size, reset in [
        (0.1, 1e-2, 0),
        (3.0, 1, 0),
        (-0.2, 1e-3, 1),
        (-5, 2, 0),
        (0.0, 1, 0),
    ]:
        gradient = {k: size * rng.normal(size=v.shape) for k, v in params.items()}
        update, state = optimiser.update(gradient, state, ours, td_error=delta, reset=bool(reset))
        ours = optax.apply_updates(ours, update)
        reference.step(gradient, delta, reset)
        for k in params:
            np.testing.assert_allclose(ours[k], reference.p[k], rtol=1e-10)


def test_obgd_does_not_overshoot():
    """On a linear value with inputs in [-1, 1] and a constant target, the error never flips."""
    x, target, w = jnp.array([0.6, -0.8]), 10.0, jnp.zeros(2)
    optimiser = obgd(step_size=1.0, kappa=2.0, decay=0.0)
    state = optimiser.init(w)
    errors = []
    for _ in range(50):
        error = target - w @ x
        errors.append(float(error))
        update, state = optimiser.update(x, state, w, td_error=error, reset=False)
        w = w + update
    assert all(0 <= after <= before for before, after in pairwise(errors))
