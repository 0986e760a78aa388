"""stream TD(lambda): an agent that only predicts, after Elsayed et al. (2024).

It is told which signals of the stream to predict, and how far ahead: for each signal c and discount
gamma one output v of the network, of the discounted sum of what is still to come,

    delta = c_{t+1} + gamma v(o_{t+1}) - v(o_t)
    z     = gamma lambda z + grad v(o_t)

each with a trace and a step-size rule of its own. A signal is a number of the observation or, if
none is named, the reward. What is done is not this agent's business: its action is always the
same, and whoever runs it may take another. Read ``state.prediction``.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax import normalisation, spaces
from rillax.agents import senses
from rillax.agents.refusals import count_refused
from rillax.networks import Architecture, Network, Stream, advance, learn, split, start
from rillax.networks.sequences import where
from rillax.updates import Intentional, Rule, cut_traces
from rillax.utils import ranges
from rillax.utils.counts import next_until_last

Metrics = dict[str, Float[Array, ""]]


class ReturnError(NamedTuple):
    """What it takes to measure squared return errors while the returns are still coming in."""

    open: Float[Array, " predictions"]
    """Sum over past steps k back of gamma^k (prediction - what has come of its return so far)."""
    weight: Float[Array, " predictions"]
    """Sum over past steps k back of gamma^2k."""


class TDState(NamedTuple):
    """All that the agent is. Its size never changes."""

    v: Stream
    optimisers: tuple[Any, ...]
    """Of each prediction: the eligibility trace, and what the step-size rule remembers."""
    fresh: Bool[Array, ""]
    """The episode is over: memory starts blank when the next observation comes."""
    observation: Float[Array, "..."]
    """o_t as the network saw it."""
    prediction: Float[Array, " predictions"]
    """For each signal, at each discount, in the order of the settings."""
    error: ReturnError
    observations: normalisation.Running
    idle: Float[Array, "..."] | None
    """What the agent does: the middle of a box; None for the first of some discrete actions."""
    step: Int[Array, ""]


@dataclass(frozen=True)
class TD:
    """The settings of stream TD(lambda), and what it does: ``act`` and ``learn``.

    >>> TD(signals=(0, 3), discounts=(0.9, 0.99)).predictions  # each signal at each discount
    ((0, 0.9), (0, 0.99), (3, 0.9), (3, 0.99))
    """

    learns_from: ClassVar[Literal["steps", "rollouts"]] = "steps"

    network: Architecture = Architecture()
    signals: tuple[int, ...] = ()
    """Which numbers of the observation are predicted, in their own units; the reward if none."""
    discounts: tuple[float, ...] = (0.9,)
    """How far ahead: 1 / (1 - gamma) steps."""
    trace_decay: float = 0.9
    """lambda."""
    rule: Rule = Intentional(eta=0.5)
    """The step-size rule."""
    normalise_observations: bool = True
    """Whether the observations that the network takes in are normalised by running statistics."""
    input_bound: float | None = 100.0
    """Largest normalised observation; no limit if None."""
    normalisation_window: int | None = None
    """Normalise by about so many of the last samples; by all there were if not given."""

    def __post_init__(self) -> None:
        if not self.discounts:
            raise ValueError("discounts must name at least one, got none")
        ranges.check(self, trace_decay=ranges.SHARE, input_bound=ranges.POSITIVE)
        ranges.check(self, normalisation_window=ranges.COUNT)
        for discount in self.discounts:
            if discount not in ranges.DECAY:
                raise ValueError(f"a discount must be in [0, 1), got {discount}")

    @property
    def predictions(self) -> tuple[tuple[int | None, float], ...]:
        """Signal and discount of each prediction; the reward is None."""
        signals = self.signals or (None,)
        return tuple((signal, gamma) for signal in signals for gamma in self.discounts)

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> TDState:
        shape = spaces.observation_shape(observation_space)
        for signal in self.signals:
            if len(shape) != 1 or not 0 <= signal < shape[0]:
                raise ValueError(f"there is no signal {signal} in observations of shape {shape}")
        count = len(self.predictions)
        v = self.network.build(key, shape, count)
        return TDState(
            v=start(v),
            optimisers=tuple(rule.init(split(v)[0]) for rule in self._rules()),
            fresh=jnp.bool_(False),
            observation=jnp.zeros(shape),
            prediction=jnp.zeros(count),
            error=ReturnError(jnp.zeros(count), jnp.zeros(count)),
            observations=normalisation.start(shape),
            idle=_idle(action_space),
            step=jnp.int32(0),
        )

    def act(self, state: TDState, observation: Array) -> tuple[TDState, Array]:
        """Take in o_t and predict."""
        seen, observations = self._observe(state, observation)
        v = advance(state.v, seen, state.fresh)
        state = state._replace(
            v=v,
            fresh=jnp.bool_(False),
            observation=seen,
            prediction=v.network(seen, v.previous, v.memory),
            observations=observations,
        )
        return state, jnp.int32(0) if state.idle is None else state.idle

    def learn(
        self,
        state: TDState,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[TDState, Metrics]:
        """Learn from (o_t, c_{t+1}, o_{t+1}); a time limit (``truncated``) still bootstraps.

        A step that would leave numbers that are not finite is refused, in all predictions at once:
        then the transition goes by as in ``skip``, and the TD error in the metrics is NaN.
        """
        done = jnp.logical_or(terminated, truncated)
        discounts = jnp.asarray([gamma for _, gamma in self.predictions])
        signals = self._signals(state, reward, next_observation)
        seen_next, _ = self._observe(state, next_observation)
        learns, frozen = split(state.v.network)

        def value(params: Network, which: int) -> Array:
            network = eqx.combine(params, frozen)
            return network(state.observation, state.v.previous, state.v.memory)[which]

        next_values = state.v.network.peek(seen_next, state.v.memory)
        td_errors = signals + discounts * (1 - terminated) * next_values - state.prediction
        squares, error = return_error(state.error, state.prediction, signals, discounts, done)
        gradients = [jax.grad(value)(learns, i) for i in range(len(self.predictions))]
        td_errors = senses.sane(td_errors, jnp.sqrt(jnp.abs(squares)), *gradients)
        learned = jnp.all(jnp.isfinite(td_errors))
        steps, optimisers = [], []
        given = zip(self._rules(), gradients, state.optimisers, td_errors, strict=True)
        for rule, gradient, before, td_error in given:
            step, after = rule.update(gradient, before, learns, td_error=td_error, reset=done)
            steps.append(step)
            optimisers.append(after)
        update = jax.tree.map(lambda *leaves: sum(leaves[1:], leaves[0]), *steps)
        passed = self.skip(state, done)
        metrics = {
            "td_error": jnp.mean(td_errors),
            "value": jnp.mean(state.prediction),
            "return_error": jnp.mean(squares),
        }
        metrics |= count_refused(state.optimisers, tuple(optimisers))
        state = state._replace(
            v=learn(state.v, update),
            optimisers=where(learned, tuple(optimisers), passed.optimisers),
            fresh=done,
            error=where(learned, error, passed.error),
            step=jnp.where(learned, next_until_last(state.step), state.step),
        )
        return state, metrics

    def skip(self, state: TDState, done: Array) -> TDState:
        """Let a transition go by unlearned; memory is kept, unless the episode ended with it."""
        return state._replace(
            fresh=state.fresh | done,
            optimisers=cut_traces(state.optimisers, done),
            error=where(done, jax.tree.map(jnp.zeros_like, state.error), state.error),
        )

    def _signals(
        self, state: TDState, reward: Array, next_observation: Array
    ) -> Float[Array, " predictions"]:
        """What each prediction is of, as it has just come."""
        if not self.signals:
            came = jnp.full(len(self.predictions), reward)
        else:
            encoded = spaces.encode(next_observation, state.observations.mean.shape)
            came = jnp.stack([encoded[signal] for signal, _ in self.predictions])
        return jnp.clip(came, -normalisation.LARGEST, normalisation.LARGEST)

    def _rules(self) -> list[optax.GradientTransformationExtraArgs]:
        return [self.rule.build(gamma * self.trace_decay) for _, gamma in self.predictions]

    def _observe(self, state: TDState, observation: Array) -> tuple[Array, normalisation.Running]:
        encoded = spaces.encode(observation, state.observations.mean.shape)
        limits = normalisation.Limits(self.input_bound, self.normalisation_window)
        return normalisation.observe(
            state.observations, encoded, self.normalise_observations, limits
        )


def return_error(
    error: ReturnError,
    prediction: Float[Array, " n"],
    signal: Float[Array, " n"],
    discount: Float[Array, " n"],
    done: Bool[Array, ""],
) -> tuple[Float[Array, " n"], ReturnError]:
    """What this step adds to the sum of all (prediction - return)^2, and what to keep for the next.

    A return is known only in time to come, but the sum can follow it: a signal c that comes k steps
    after a prediction takes gamma^k c off its error. All the sum needs are two numbers. What one
    step adds may be negative; sums over many steps mean what they say. A return ends with the
    episode.
    """
    open_, weight = discount * error.open + prediction, jnp.square(discount) * error.weight + 1
    added = jnp.square(prediction) - 2 * signal * open_ + jnp.square(signal) * weight
    kept = ReturnError(open_ - signal * weight, weight)
    return added, jax.tree.map(lambda leaf: jnp.where(done, 0, leaf), kept)


def _idle(space: Any) -> Float[Array, "..."] | None:
    """An action for an agent that only predicts; None for the first of a Discrete."""
    if spaces.is_discrete(space):
        return None
    if not spaces.is_box(space):
        return jnp.asarray(spaces.neutral_action(space), float)
    low, high = (jnp.nan_to_num(bound, posinf=0, neginf=0) for bound in spaces.action_bounds(space))
    return (low + high) / 2
