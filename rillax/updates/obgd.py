"""Overshooting-bounded gradient descent (Elsayed et al., 2024), as optax transformations.

Both take an eligibility trace z as their update and need the TD error delta; ``obgd`` and
``adaptive_obgd`` are chained with a trace already, so that ``update(gradient, state, params,
td_error=..., reset=...)`` is a whole streaming update, in the direction of ascent: add it to the
parameters with ``optax.apply_updates``. They work with any parameters, not only with our agents':

>>> optimiser = obgd(step_size=1.0, kappa=2.0, decay=0.99 * 0.8)
>>> w = jnp.zeros(3)
>>> state = optimiser.init(w)
>>> gradient = jnp.array([1.0, 0.0, 2.0])  # of the value, not of a loss
>>> update, state = optimiser.update(gradient, state, w, td_error=0.5, reset=False)
>>> w = optax.apply_updates(w, update)
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from rillax.updates.sums import sum_of
from rillax.updates.traces import eligibility_trace, refused
from rillax.utils.counts import next_until_last

LARGEST_SQUARE = 1e36
"""A second moment stays finite, as one that is not would stay so for ever."""


def overshooting_bound(
    step_size: float, kappa: float, td_error: Array, l1_norm: Array
) -> Float[Array, ""]:
    """The step size alpha / max(1, M) with M = alpha kappa max(|delta|, 1) ||z||_1."""
    bound = step_size * kappa * jnp.maximum(jnp.abs(td_error), 1) * l1_norm
    return step_size / jnp.maximum(1, bound)


def l1_norm(tree: Any) -> Float[Array, ""]:
    return sum_of(jnp.abs, tree)


def scale_by_obgd(step_size: float, kappa: float) -> optax.GradientTransformationExtraArgs:
    """Step delta z, with a step so small that delta cannot overshoot by more than 1/kappa."""

    def update(
        trace: Any, state: optax.EmptyState, params: Any = None, *, td_error: Any, **_: Any
    ) -> tuple[Any, optax.EmptyState]:
        del params
        bound = overshooting_bound(step_size, kappa, td_error, l1_norm(trace))
        scale = refused(td_error, td_error * bound)
        return jax.tree.map(lambda z: scale * z, trace), state

    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)


class AdaptiveState(NamedTuple):
    """The running second moment of delta z."""

    steps: Int[Array, ""]
    moment: Any


def scale_by_adaptive_obgd(
    step_size: float, kappa: float, beta: float = 0.999, epsilon: float = 1e-8
) -> optax.GradientTransformationExtraArgs:
    """As ``scale_by_obgd``, with z over the root of the bias-corrected second moment of delta z."""

    def init(params: Any) -> AdaptiveState:
        return AdaptiveState(jnp.int32(0), jax.tree.map(jnp.zeros_like, params))

    def update(
        trace: Any, state: AdaptiveState, params: Any = None, *, td_error: Any, **_: Any
    ) -> tuple[Any, AdaptiveState]:
        del params
        learns = jnp.isfinite(td_error)
        steps = jnp.where(learns, next_until_last(state.steps), state.steps)

        def average(v: Array, z: Array) -> Array:
            square = jnp.minimum(jnp.square(td_error * z), LARGEST_SQUARE)
            return jnp.where(learns, beta * v + (1 - beta) * square, v)

        moment = jax.tree.map(average, state.moment, trace)
        corrected = 1 / -jnp.expm1(steps * math.log(beta)) if beta else 1.0
        scaled = jax.tree.map(
            lambda z, v: z * jax.lax.rsqrt(corrected * v + epsilon), trace, moment
        )
        bound = overshooting_bound(step_size, kappa, td_error, l1_norm(scaled))
        scale = refused(td_error, td_error * bound)
        return jax.tree.map(lambda z: scale * z, scaled), AdaptiveState(steps, moment)

    return optax.GradientTransformationExtraArgs(init, update)


def obgd(step_size: float, kappa: float, decay: float) -> optax.GradientTransformationExtraArgs:
    """Eligibility trace and ObGD."""
    return optax.chain(eligibility_trace(decay), scale_by_obgd(step_size, kappa))


def adaptive_obgd(
    step_size: float, kappa: float, decay: float, beta: float = 0.999, epsilon: float = 1e-8
) -> optax.GradientTransformationExtraArgs:
    """Eligibility trace and adaptive ObGD."""
    adaptive = scale_by_adaptive_obgd(step_size, kappa, beta, epsilon)
    return optax.chain(eligibility_trace(decay), adaptive)
