"""Eligibility traces: what a TD error is credited to."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool


class TraceState(NamedTuple):
    """The traces, in the shape of the parameters, and whether the next step starts them anew."""

    trace: Any
    cut: Bool[Array, ""]


def eligibility_trace(decay: float) -> optax.GradientTransformationExtraArgs:
    """z_t = decay z_{t-1} + g_t (Section 2 of the paper), with decay = gamma lambda.

    The update is the new trace. ``reset`` says that the trace must not reach past this step (the
    episode ended, or the action was not greedy). It is cut when the next gradient comes, in the
    same pass over the arrays, so that a reset costs nothing. If a ``td_error`` is given that is not
    finite, there is nothing to learn, and the trace stays as it was.

    >>> trace = eligibility_trace(0.5)
    >>> state = trace.init(jnp.zeros(2))
    >>> z, state = trace.update(jnp.ones(2), state, reset=False)
    >>> z, state = trace.update(jnp.ones(2), state, reset=True)
    >>> z.tolist()
    [1.5, 1.5]
    >>> z, state = trace.update(jnp.ones(2), state, reset=False)
    >>> z.tolist()
    [1.0, 1.0]
    """

    def init(params: Any) -> TraceState:
        return TraceState(jax.tree.map(jnp.zeros_like, params), jnp.bool_(False))

    def update(
        gradient: Any,
        state: TraceState,
        params: Any = None,
        *,
        reset: Any,
        td_error: Any = 0.0,
        **_: Any,
    ) -> tuple[Any, TraceState]:
        del params
        learns = jnp.isfinite(td_error)
        trace = jax.tree.map(
            lambda z, g: jnp.where(learns, jnp.where(state.cut, 0, decay * z) + g, z),
            state.trace,
            gradient,
        )
        return trace, TraceState(trace, jnp.asarray(reset, bool) | (state.cut & ~learns))

    return optax.GradientTransformationExtraArgs(init, update)


def refused(td_error: Any, step: Any) -> Any:
    """No step at all, where the TD error is not finite."""
    learns = jnp.isfinite(td_error)
    return jax.tree.map(lambda by: jnp.where(learns, by, 0), step)


def cut_traces(state: Any, cut: Any) -> Any:
    """A chain's state whose eligibility traces, if ``cut``, start anew at the next step."""

    def one(part: Any) -> Any:
        return part._replace(cut=part.cut | cut) if isinstance(part, TraceState) else part

    return jax.tree.map(one, state, is_leaf=lambda part: isinstance(part, TraceState))
