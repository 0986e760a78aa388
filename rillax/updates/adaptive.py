"""The adaptive rule of Gogianu, Lutu and Pascanu (2026): Adam with the trace as its momentum.

    z = decay z + g                  v = decay v + (1 - decay) g^2
    w += eta clip(delta, +-C) z / (sqrt(v) + epsilon)

The second moment forgets as quickly as the trace does, so that no coordinate has trace without a
moment to match. Two things keep a step small: the TD error is clipped (at 1, as the Huber loss
does), and each coordinate moves in units of its own gradient. The published epsilon is large.

>>> optimiser = adaptive(step_size=0.1, decay=0.5, epsilon=0.0)
>>> w = jnp.zeros(2)
>>> step, _ = optimiser.update(jnp.array([1.0, -4.0]), optimiser.init(w), w, td_error=9.0, reset=0)
>>> [round(float(x), 4) for x in step]  # of a size, whatever the gradient's
[0.1414, -0.1414]
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array

from rillax.updates.obgd import LARGEST_SQUARE
from rillax.updates.traces import eligibility_trace, refused


class MomentState(NamedTuple):
    """v, in the shape of the parameters."""

    moment: Any


def adaptive(
    step_size: float, decay: float, *, error_clip: float = 1.0, epsilon: float = 0.1
) -> optax.GradientTransformationExtraArgs:
    """Eligibility trace and adaptive step."""
    trace_of = eligibility_trace(decay)

    def init(params: Any) -> tuple[Any, MomentState]:
        return trace_of.init(params), MomentState(jax.tree.map(jnp.zeros_like, params))

    def update(
        gradient: Any,
        state: tuple[Any, MomentState],
        params: Any = None,
        *,
        td_error: Any,
        reset: Any,
        **_: Any,
    ) -> tuple[Any, tuple[Any, MomentState]]:
        del params
        learns = jnp.isfinite(td_error)

        def average(v: Array, g: Array) -> Array:
            square = jnp.minimum(jnp.square(g), LARGEST_SQUARE)
            return jnp.where(learns, decay * v + (1 - decay) * square, v)

        trace, after = trace_of.update(gradient, state[0], reset=reset, td_error=td_error)
        moment = jax.tree.map(average, state[1].moment, gradient)
        scale = refused(td_error, step_size * jnp.clip(td_error, -error_clip, error_clip))
        step = jax.tree.map(lambda z, v: scale * (z / (jnp.sqrt(v) + epsilon)), trace, moment)
        return step, (after, MomentState(moment))

    return optax.GradientTransformationExtraArgs(init, update)
