"""The intentional update (Sharifnassab et al., 2026), as an optax transformation.

The intention of a step is a change of the output, not of the parameters: the value of o_t (or the
log-probability of a_t) is to move by the share eta of the TD error. The trace z and the gradient g
are taken in a diagonal metric m, Adam's root of a second moment, and the step size follows:

    v = beta2 v + (1 - beta2) g^2                     m = sqrt(v / (1 - beta2^t)) + epsilon
    z = decay z + g      n = sum g^2 / m              q = sum z^2 / m
    sigma += (1 - decay) (n - sigma)                  s = sigma / (1 - decay^t)
    c = beta c + (1 - beta) delta^2                   d = clip(delta, +-C sqrt(c / (1 - beta^t)))
    w += eta d / sqrt(s q)  z / m

For a policy d is also divided by the running mean of |d|. The second moment may be that of z
instead of g (``preconditioner="trace"``). Without one (``"none"``, ours) m is 1: a step follows the
trace itself, as long as intended, and there is no second moment to carry.

One bound is ours, s >= n; ``bounded=False`` leaves it out. A step moves the output by at most
eta |d| sqrt(n / s) (Cauchy-Schwarz), and s follows n slowly. Where gradients surge, or come to
coordinates that had none so far, whose m has seen but a thousandth of their square, the published
rule so overshoots by up to 1 / sqrt(1 - decay): from a factor of 2 / eta on, every correction makes
the error larger. Contacts and long traces, as in continuous control, are what would bring it. With
the bound no step moves the output further than was intended, and m stays as published: to make it
larger where z is would cure that too, but takes away the long steps of rarely used coordinates,
from which a rare cue is learned.

``row_norm`` bounds weights, as max-norm does (Srebro et al., 2005). In Adam's metric every weight
moves about as far whether its gradient means something or is noise. So where rewards stay uncertain
weights wander off, and the larger they are, the less does a step change behind a LayerNorm. A
matrix whose rows have outgrown the bound, in the root of their mean square norm, is scaled back.

A step that would not be finite is not taken: the state is as if the gradient had been zero there,
and ``refused`` counts it. Nothing here grows with time.

>>> optimiser = intentional(eta=0.25, decay=0.99 * 0.8)
>>> w = jnp.zeros(3)
>>> state = optimiser.init(w)
>>> gradient = jnp.array([1.0, 0.0, 2.0])  # of the value, not of a loss
>>> update, state = optimiser.update(gradient, state, w, td_error=0.5, reset=False)
>>> round(float(update @ gradient), 6)  # eta times the TD error
0.125
"""

import math
from typing import Any, Literal, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from rillax._jax.kernels import kept
from rillax.updates.sums import sum_of
from rillax.updates.traces import TraceState

Preconditioner: TypeAlias = Literal["gradient", "trace", "none"]
"""What the second moment is of, if there is one."""
LARGEST = 1e15
"""A larger gradient counts as none: in single precision its square is nearly infinite."""
LAST = 2**30
"""Steps are counted up to here. All running means have long forgotten their start then."""


class IntentionalState(NamedTuple):
    """The trace, its metric, and the running numbers that make a step size."""

    steps: Int[Array, ""]
    trace: TraceState
    moment: Any
    """v, in the shape of the parameters; None where m is 1."""
    norm: Float[Array, ""]
    """sigma: the running mean of n."""
    error_square: Float[Array, ""]
    """c: the running mean of delta^2."""
    error_size: Float[Array, ""]
    """a: the running mean of |d|, which a policy's step is measured in."""
    refused: Int[Array, ""]
    """Steps that were not taken, because they would not have been finite."""


def intentional(
    eta: float,
    decay: float,
    *,
    preconditioner: Preconditioner = "gradient",
    policy: bool = False,
    error_decay: float = 0.9998,
    moment_decay: float = 0.999,
    error_clip: float = 20.0,
    epsilon: float = 1e-8,
    bounded: bool = True,
    row_norm: float | None = None,
) -> optax.GradientTransformationExtraArgs:
    """Eligibility trace and intentional step; ``bounded=False`` is the rule as published."""
    beta, beta2, measured = error_decay, moment_decay, preconditioner != "none"
    # No |z| / m is larger: by Cauchy-Schwarz for the second moment of g, by definition for z's.
    largest_ratio = 1 / math.sqrt((1 - beta2) * max(1 - decay**2 / beta2, 1e-6)) if beta2 else 1.0

    def init(params: Any) -> IntentionalState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        zero, one = jnp.zeros(()), jnp.ones(())
        trace = TraceState(zeros, jnp.bool_(False))
        moment = jax.tree.map(jnp.zeros_like, params) if measured else None
        return IntentionalState(jnp.int32(0), trace, moment, zero, one, zero, jnp.int32(0))

    def update(
        gradient: Any,
        state: IntentionalState,
        params: Any = None,
        *,
        td_error: Any,
        reset: Any,
        **_: Any,
    ) -> tuple[Any, IntentionalState]:
        t = jnp.minimum(state.steps + 1, LAST)
        corrected = 1 / from_start(beta2, t)
        cut = state.trace.cut

        def is_usable(g: Array) -> Array:
            return jnp.abs(g) <= LARGEST  # not so where it is NaN

        def trace_of(z: Array, g: Array) -> Array:
            return jnp.where(cut, 0, decay * z) + jnp.where(is_usable(g), g, 0)

        def moment_of(v: Array, z: Array, g: Array) -> Array:
            of = z if preconditioner == "trace" else jnp.where(is_usable(g), g, 0)
            return beta2 * v + (1 - beta2) * jnp.square(of)

        def inverse_metric(v: Array) -> Array:
            return 1 / (jnp.sqrt(corrected * v) + epsilon)

        gradient = kept(gradient)  # read in three passes; to make it goes over the sensitivities
        trace = jax.tree.map(trace_of, state.trace.trace, gradient)
        # The norms are of the gradient as it came, so that what is not finite in it shows there.
        if measured:
            moment = jax.tree.map(moment_of, state.moment, trace, gradient)
            inverse = jax.tree.map(inverse_metric, moment)
            norm_now = sum_of(lambda g, p: jnp.square(g) * p, gradient, inverse)
            trace_norm = sum_of(lambda z, p: jnp.square(z) * p, trace, inverse)
            largest: Array | float = largest_ratio
        else:
            moment = None
            norm_now, trace_norm = sum_of(jnp.square, gradient), sum_of(jnp.square, trace)
            largest = jnp.sqrt(trace_norm)

        norm = state.norm + (1 - decay) * (norm_now - state.norm)
        usual = norm / from_start(decay, t)
        product = (jnp.maximum(usual, norm_now) if bounded else usual) * trace_norm
        step_size = eta / jnp.maximum(jnp.sqrt(product), 1e-8)
        error_square = beta * state.error_square + (1 - beta) * jnp.square(td_error)
        limit = error_clip * jnp.sqrt(error_square / from_start(beta, t))
        error, error_size = jnp.clip(td_error, -limit, limit), state.error_size
        if policy:
            error_size = beta * state.error_size + (1 - beta) * jnp.abs(error)
            error = error / jnp.maximum(error_size / from_start(beta, t), 1e-12)
        scale = step_size * error
        ok = jnp.isfinite(scale * largest) & jnp.isfinite(product) & jnp.isfinite(error_square)
        scale = jnp.where(ok, scale, 0)

        if measured:
            step = jax.tree.map(lambda z, p: scale * (z * p), trace, inverse)
        else:
            step = jax.tree.map(lambda z: scale * z, trace)
        if row_norm is not None:
            step = jax.tree.map(
                lambda s, w: s - jnp.where(ok, excess(w, row_norm), 0) * w, step, params
            )
        refused = state.refused + jnp.where(ok, 0, 1)
        return step, IntentionalState(
            steps=jnp.where(ok, t, state.steps),
            trace=TraceState(trace, jnp.asarray(reset, bool)),
            moment=moment,
            norm=jnp.where(ok, norm, state.norm),
            error_square=jnp.where(ok, error_square, state.error_square),
            error_size=jnp.where(ok, error_size, state.error_size),
            refused=jnp.minimum(refused, LAST),
        )

    return optax.GradientTransformationExtraArgs(init, update)


def excess(weights: Array, row_norm: float) -> Float[Array, ""]:
    """The share of a matrix by which its rows are longer than they may be; of others it is zero."""
    if weights.ndim != 2:
        return jnp.zeros(())
    norm = jnp.sqrt(sum_of(jnp.square, weights) / weights.shape[0])
    return 1 - row_norm / jnp.maximum(norm, row_norm)


def from_start(beta: float, t: Int[Array, ""]) -> Float[Array, ""]:
    """1 - beta^t, the weight that a running mean from zero has given to t numbers.

    As it stands it would be all rounding where beta^t is close to one.
    """
    if beta == 0:
        return jnp.ones(())
    return -jnp.expm1(t * math.log(beta))


def refused_steps(state: Any) -> Int[Array, ""] | None:
    """How many steps the intentional rules in a tree of states refused; None if it has none."""
    found: list[Array] = []

    def one(part: Any) -> None:
        if isinstance(part, IntentionalState):
            found.append(part.refused)

    jax.tree.map(one, state, is_leaf=lambda part: isinstance(part, IntentionalState))
    return sum(found[1:], found[0]) if found else None
