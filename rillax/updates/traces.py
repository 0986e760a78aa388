"""Eligibility traces: what a TD error is credited to."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class TraceState(NamedTuple):
    """The traces, in the shape of the parameters."""

    trace: Any


def eligibility_trace(decay: float) -> optax.GradientTransformationExtraArgs:
    """z_t = decay z_{t-1} + g_t (Section 2 of the paper), with decay = gamma lambda.

    The update is the new trace. ``reset`` says that the trace must not reach past this step (the
    episode ended, or the action was not greedy): the update still carries it, the state does not.

    >>> trace = eligibility_trace(0.5)
    >>> state = trace.init(jnp.zeros(2))
    >>> z, state = trace.update(jnp.ones(2), state, reset=False)
    >>> z, state = trace.update(jnp.ones(2), state, reset=True)
    >>> z.tolist(), state.trace.tolist()
    ([1.5, 1.5], [0.0, 0.0])
    """

    def init(params: Any) -> TraceState:
        return TraceState(jax.tree.map(jnp.zeros_like, params))

    def update(
        gradient: Any, state: TraceState, params: Any = None, *, reset: Any, **_: Any
    ) -> tuple[Any, TraceState]:
        del params
        trace = jax.tree.map(lambda z, g: decay * z + g, state.trace, gradient)
        kept = jax.tree.map(lambda z: jnp.where(reset, 0, z), trace)
        return trace, TraceState(kept)

    return optax.GradientTransformationExtraArgs(init, update)
