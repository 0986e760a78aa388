"""Step-size rules as settings: what turns a gradient and a TD error into a step.

A rule is a frozen dataclass. ``build(decay)`` makes the whole update of a network, an optax
transformation with an eligibility trace inside. A rule of your own needs no more than that. QRC,
whose direction is more than a trace, asks for ``scale_direction`` as well.

A TD error that is not finite means that the step is refused: the update is zero, and what the rule
remembers stays as it was, or, of the intentional update, is as after a gradient of zero.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, get_args

import jax
import optax

from rillax.updates.adaptive import adaptive
from rillax.updates.intentional import Preconditioner, intentional
from rillax.updates.obgd import (
    adaptive_obgd,
    l1_norm,
    obgd,
    overshooting_bound,
)
from rillax.updates.traces import eligibility_trace, refused
from rillax.utils import ranges
from rillax.utils.names import choose

Transformation: TypeAlias = optax.GradientTransformationExtraArgs


class Rule(Protocol):
    """The settings of a step-size rule."""

    def build(self, decay: float) -> Transformation:
        """``update(gradient, state, params, td_error=..., reset=...)`` gives the step to add."""
        ...


class DirectionRule(Rule, Protocol):
    """A rule that can also scale a direction made elsewhere."""

    def scale_direction(self) -> Transformation:
        """``update(direction, state, params, td_error=..., trace=...)`` gives the step to add."""
        ...


@dataclass(frozen=True)
class SGD:
    """A fixed step size, the update clipped at a global norm if asked for."""

    step_size: float = 1e-4
    """The step size."""
    clip: float | None = None
    """Largest global norm of the whole update, before the step size; no limit if not given."""

    def __post_init__(self) -> None:
        ranges.check(self, step_size=ranges.NOT_NEGATIVE, clip=ranges.POSITIVE)

    def build(self, decay: float) -> Transformation:
        def update(
            trace: Any, state: optax.EmptyState, params: Any = None, *, td_error: Any, **_: Any
        ) -> tuple[Any, optax.EmptyState]:
            direction = jax.tree.map(lambda z: td_error * z, trace)
            return self._step(direction, td_error), state

        return optax.chain(eligibility_trace(decay), _stateless(update))

    def scale_direction(self) -> Transformation:
        def update(
            direction: Any, state: optax.EmptyState, params: Any = None, *, td_error: Any, **_: Any
        ) -> tuple[Any, optax.EmptyState]:
            return self._step(direction, td_error), state

        return _stateless(update)

    def _step(self, direction: Any, td_error: Any) -> Any:
        if self.clip is not None:
            direction = clip_by_norm(direction, self.clip)
        return refused(td_error, jax.tree.map(lambda d: self.step_size * d, direction))


@dataclass(frozen=True)
class ObGD:
    """Overshooting-bounded gradient descent (Elsayed et al., 2024)."""

    step_size: float = 1.0
    """The largest step size."""
    kappa: float = 2.0
    """The bound: one step removes at most 1/kappa of the TD error."""

    def __post_init__(self) -> None:
        ranges.check(self, step_size=ranges.NOT_NEGATIVE, kappa=ranges.POSITIVE)

    def build(self, decay: float) -> Transformation:
        return obgd(self.step_size, self.kappa, decay)

    def scale_direction(self) -> Transformation:
        def update(
            direction: Any,
            state: optax.EmptyState,
            params: Any = None,
            *,
            td_error: Any,
            trace: Any,
            **_: Any,
        ) -> tuple[Any, optax.EmptyState]:
            bound = overshooting_bound(self.step_size, self.kappa, td_error, l1_norm(trace))
            return refused(td_error, jax.tree.map(lambda d: bound * d, direction)), state

        return _stateless(update)


@dataclass(frozen=True)
class AdaptiveObGD:
    """ObGD with the trace over the root of a running second moment (Elsayed et al., 2024)."""

    step_size: float = 1.0
    """The largest step size."""
    kappa: float = 2.0
    """The bound: one step removes at most 1/kappa of the TD error."""
    beta: float = 0.999
    """Decay of the second moment."""
    epsilon: float = 1e-8
    """Added to the second moment."""

    def __post_init__(self) -> None:
        ranges.check(self, step_size=ranges.NOT_NEGATIVE, kappa=ranges.POSITIVE)
        ranges.check(self, beta=ranges.DECAY, epsilon=ranges.NOT_NEGATIVE)

    def build(self, decay: float) -> Transformation:
        return adaptive_obgd(self.step_size, self.kappa, decay, self.beta, self.epsilon)


@dataclass(frozen=True)
class Adaptive:
    """Adam with the eligibility trace as its momentum (Gogianu et al., 2026)."""

    learning_rate: float = 4.6e-4
    """The step size, in units of each coordinate's gradient."""
    error_clip: float = 1.0
    """The TD error is clipped here."""
    epsilon: float = 0.1
    """Added to the root of the second moment."""

    def __post_init__(self) -> None:
        ranges.check(self, learning_rate=ranges.NOT_NEGATIVE, error_clip=ranges.POSITIVE)
        ranges.check(self, epsilon=ranges.NOT_NEGATIVE)

    def build(self, decay: float) -> Transformation:
        how = {"error_clip": self.error_clip, "epsilon": self.epsilon}
        return adaptive(self.learning_rate, decay, **how)


@dataclass(frozen=True)
class Intentional:
    """The intentional update for values (Sharifnassab et al., 2026): steps measured in the output.

    Published: eta 0.25 for action values, 0.5 for state values.
    """

    eta: float = 0.25
    """The share of the TD error that a step is to take off."""
    preconditioner: Preconditioner = "gradient"
    """What each coordinate is measured by: the second moment of its gradient, of its trace, or by
    nothing, so that all count alike."""
    error_decay: float = 0.9998
    """Decay of the running size of the TD error."""
    moment_decay: float = 0.999
    """Decay of the second moment."""
    error_clip: float = 20.0
    """The TD error is clipped at so many times its running size."""
    epsilon: float = 1e-8
    """Added to the root of the second moment."""
    row_norm: float | None = None
    """The largest norm of the rows of a matrix, in their mean square; no limit if not given."""

    def __post_init__(self) -> None:
        choose("preconditioner", self.preconditioner, get_args(Preconditioner))
        ranges.check(self, eta=ranges.NOT_NEGATIVE, error_decay=ranges.DECAY)
        ranges.check(self, moment_decay=ranges.DECAY, error_clip=ranges.POSITIVE)
        ranges.check(self, epsilon=ranges.NOT_NEGATIVE, row_norm=ranges.POSITIVE)

    def build(self, decay: float) -> Transformation:
        return intentional(decay=decay, **dataclasses.asdict(self))


@dataclass(frozen=True)
class IntentionalPolicy(Intentional):
    """The intentional update for a policy: the TD error is measured in its running mean size."""

    eta: float = 0.05
    """The change of the log-probability that a TD error of the usual size is to bring."""

    def build(self, decay: float) -> Transformation:
        return intentional(decay=decay, policy=True, **dataclasses.asdict(self))


RULES: dict[str, Any] = {
    "sgd": SGD,
    "obgd": ObGD,
    "adaptive_obgd": AdaptiveObGD,
    "adaptive": Adaptive,
    "intentional": Intentional,
    "intentional_policy": IntentionalPolicy,
}
"""Our rules, by the names that the command line has for them."""


def clip_by_norm(tree: Any, norm: float) -> Any:
    return optax.clip_by_global_norm(norm).update(tree, optax.EmptyState())[0]


def _stateless(update: Any) -> Transformation:
    return optax.GradientTransformationExtraArgs(lambda params: optax.EmptyState(), update)
