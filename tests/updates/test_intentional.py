"""The intentional update against its second implementation, and where numbers are not finite."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from rillax.updates import Intentional, IntentionalPolicy, intentional, refused_steps
from rillax.updates.intentional import LAST, from_start
from tests.updates.reference_intentional import ReferenceIntentional

DECAY = 0.9 * 0.8


@pytest.mark.parametrize(
    ("bounded", "row_norm"),
    [(True, None), (True, 2.0), (False, None)],
    ids=["bounded", "rows", "published"],
)
@pytest.mark.parametrize("policy", [False, True], ids=["value", "policy"])
@pytest.mark.parametrize("preconditioner", ["gradient", "trace", "none"])
def test_many_steps_equal_an_independent_implementation(
    preconditioner, policy, bounded, row_norm, x64
):
    rng = np.random.default_rng(0)
    params = {"w": rng.normal(size=(23, 13)), "b": rng.normal(size=3)}
    how = {"policy": policy, "bounded": bounded, "row_norm": row_norm}
    reference = ReferenceIntentional(
        dict(params), 0.25, DECAY, metric=preconditioner, beta=0.9, C=1.5, **how
    )
    optimiser = intentional(
        0.25, DECAY, preconditioner=preconditioner, error_decay=0.9, error_clip=1.5, **how
    )
    ours = {k: jnp.array(v) for k, v in params.items()}
    state, update = optimiser.init(ours), jax.jit(optimiser.update)
    clipped = 0
    for t in range(200):
        # Gradients of changing size, some without a single one; errors beyond the clip among them.
        size = rng.choice([1e-3, 1.0, 30.0])
        gradient = {k: size * rng.normal(size=v.shape) for k, v in params.items()}
        gradient["w"] *= rng.random(gradient["w"].shape) < 0.1 + 0.8 * (t > 100)
        delta, reset = rng.choice([0.1, 1.0, 9.0]) * rng.normal(), rng.random() < 0.1
        step, state = update(gradient, state, ours, td_error=delta, reset=bool(reset))
        ours = optax.apply_updates(ours, step)
        clipped += abs(delta) > 1.5 * np.sqrt(reference.c / (1 - 0.9 ** (t + 1)))
        reference.step(gradient, delta, reset)
        for k in params:
            np.testing.assert_allclose(ours[k], reference.p[k], rtol=1e-9, atol=1e-12)
    assert clipped > 5
    assert state.refused == 0


def test_rows_that_have_outgrown_their_bound_are_shortened(x64):
    """Two steps by hand: rows of norm 3 and 4 have a root mean square norm of sqrt(12.5)."""
    weights = jnp.array([[0.0, 3.0], [4.0, 0.0]])
    params = {"w": weights, "b": jnp.array([9.0, 9.0])}
    optimiser = intentional(0.25, 0.0, row_norm=1.0)
    state, nothing = optimiser.init(params), jax.tree.map(jnp.zeros_like, params)
    step, state = optimiser.update(nothing, state, params, td_error=1.0, reset=False)
    params = optax.apply_updates(params, step)
    np.testing.assert_allclose(params["w"], weights / np.sqrt(12.5), rtol=1e-12)
    np.testing.assert_allclose(params["b"], [9.0, 9.0])
    again, state = optimiser.update(nothing, state, params, td_error=1.0, reset=False)
    np.testing.assert_allclose(optax.apply_updates(params, again)["w"], params["w"], rtol=1e-12)
    long = params | {"w": weights}
    refused, _ = optimiser.update(nothing, state, long, td_error=np.nan, reset=False)
    assert not np.any(refused["w"])


def test_a_step_moves_the_output_by_eta_of_the_error(x64):
    """With a constant gradient, whatever its size: that is the intention."""
    for size, preconditioner in itertools.product((1e-4, 1.0, 1e4), ("gradient", "trace", "none")):
        gradient = size * jnp.array([1.0, -3.0, 0.2])
        optimiser = intentional(0.25, 0.0, preconditioner=preconditioner)
        step, _ = optimiser.update(
            gradient, optimiser.init(gradient), gradient, td_error=0.8, reset=False
        )
        np.testing.assert_allclose(step @ gradient, 0.25 * 0.8, rtol=1e-3)


def surge(t, rng):
    """Gradients a thousand times as large now and then."""
    return (1e3 if t % 500 > 490 else 1.0) * (1 + rng.normal(size=300))


def late(t, rng):
    """All but one coordinate get their first gradient after 1,500 steps."""
    return np.where((np.arange(300) > 0) & (t < 1500), 0.0, 1 + rng.normal(size=300))


def largest_move(gradients, bounded, decay=0.99**2):
    """How far a step moves the output, against what was intended."""
    rng = np.random.default_rng(0)
    optimiser = intentional(0.5, decay, bounded=bounded)
    state, update, moves = optimiser.init(jnp.zeros(300)), jax.jit(optimiser.update), []
    for t in range(2000):
        gradient = gradients(t, rng)
        step, state = update(gradient, state, td_error=1.0, reset=t % 500 == 490)
        moves.append(np.asarray(step, np.float64) @ gradient / 0.5)
    return max(moves)


@pytest.mark.parametrize("gradients", [surge, late])
def test_no_step_moves_the_output_further_than_was_intended(gradients):
    """As published, a step may move it so far that the error changes its sign and is larger."""
    assert 0.5 * largest_move(gradients, bounded=False) > 2
    assert largest_move(gradients, bounded=True) <= 1 + 1e-4


def test_without_a_metric_a_step_follows_the_trace_and_there_is_no_second_moment():
    optimiser = intentional(0.25, 0.5, preconditioner="none")
    state = optimiser.init(jnp.zeros(2))
    assert state.moment is None
    for gradient in ([3.0, 0.0], [0.0, 1.0]):
        step, state = optimiser.update(jnp.array(gradient), state, td_error=1.0, reset=False)
    np.testing.assert_allclose(step / step[1], [1.5, 1.0], rtol=1e-6)


@pytest.mark.slow
def test_the_bound_is_idle_where_gradients_are_steady():
    rng = np.random.default_rng(0)
    gradients = 1 + 0.1 * rng.normal(size=(50, 20))
    steps = []
    for bounded in (True, False):
        optimiser = intentional(0.25, DECAY, bounded=bounded)
        state = optimiser.init(jnp.zeros(20))
        for g in gradients:
            step, state = optimiser.update(g, state, td_error=1.0, reset=False)
        steps.append(step)
    np.testing.assert_allclose(*steps, rtol=0.15)


@pytest.mark.parametrize("preconditioner", ["gradient", "none"])
@pytest.mark.parametrize("policy", [False, True])
@pytest.mark.parametrize(
    ("gradient", "td_error"),
    [
        ([1.0, np.nan], 1.0),
        ([1.0, np.inf], 1.0),
        ([1.0, 1e30], 1.0),
        ([1.0, 1.0], np.nan),
        ([1.0, 1.0], -np.inf),
        ([1.0, 1.0], 1e30),
    ],
)
def test_a_step_that_would_not_be_finite_is_not_taken_and_counted(
    gradient, td_error, policy, preconditioner
):
    optimiser = intentional(0.25, DECAY, policy=policy, preconditioner=preconditioner)
    good = jnp.array([0.5, -1.0])
    state = optimiser.init(good)
    _, before = optimiser.update(good, state, good, td_error=0.3, reset=False)
    step, after = optimiser.update(
        jnp.array(gradient), before, good, td_error=td_error, reset=False
    )
    assert np.all(np.asarray(step) == 0)
    assert refused_steps((after, ())) == 1
    for leaf in jax.tree.leaves(after):
        assert np.all(np.isfinite(leaf))
    step, last = optimiser.update(good, after, good, td_error=0.3, reset=False)
    assert np.all(np.isfinite(step))
    assert np.all(np.asarray(step) != 0)
    assert last.refused == 1


def test_a_policy_that_is_certain_and_one_without_gradient_stay_finite():
    optimiser = intentional(0.25, DECAY, policy=True)
    state = optimiser.init(jnp.zeros(4))
    for size in (1e-30, 0.0, 1e-12, 1e10, 0.0):
        step, state = optimiser.update(size * jnp.ones(4), state, td_error=1e-20, reset=False)
        assert np.all(np.isfinite(step))
    assert state.refused == 0


def test_the_count_of_steps_saturates_and_means_stay_means():
    np.testing.assert_allclose(from_start(0.9998, jnp.int32(1)), 1 - 0.9998, rtol=1e-6)
    np.testing.assert_allclose(from_start(0.9998, jnp.int32(1000)), 1 - 0.9998**1000, rtol=1e-6)
    assert from_start(0.9998, jnp.int32(LAST)) == 1
    assert from_start(0.0, jnp.int32(1)) == 1
    optimiser = intentional(0.25, DECAY)
    state = optimiser.init(jnp.zeros(2))._replace(steps=jnp.int32(LAST))
    step, state = optimiser.update(jnp.ones(2), state, td_error=1.0, reset=False)
    assert state.steps == LAST
    assert np.all(np.isfinite(step))


def test_settings():
    assert Intentional().eta == 0.25
    assert IntentionalPolicy().eta == 0.05
    with pytest.raises(ValueError, match="unknown preconditioner"):
        Intentional(preconditioner="gradients")
    with pytest.raises(ValueError, match="moment_decay must be in"):
        Intentional(moment_decay=1.0)
