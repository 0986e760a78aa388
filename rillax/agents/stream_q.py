"""stream Q(lambda) with RTU and exact RTRL, after Elsayed et al. (2024), with any step-size rule.

    delta = r + gamma max_a' q(o_{t+1}, a') - q(o_t, a_t)
    z     = gamma lambda z + grad q(o_t, a_t)

and a step-size rule (``rillax.updates``) makes a step of delta and z. Traces are cut after an
action that was not greedy (Watkins, 1989). The value of o_{t+1} is a peek: one step of memory on
o_{t+1}, not committed.
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
from rillax.agents.exploration import epsilon_greedy, falling, softmax_choice, value_of
from rillax.agents.refusals import count_refused
from rillax.networks import Architecture, Network, Stream, advance, learn, pick, split, start
from rillax.updates import Intentional, Rule, cut_traces
from rillax.utils import ranges
from rillax.utils.counts import next_until_last

Metrics = dict[str, Float[Array, ""]]


class StreamQState(NamedTuple):
    """All that the agent is. Its size never changes."""

    q: Stream
    optimiser: Any
    """The eligibility trace, and what the step-size rule remembers."""
    fresh: Bool[Array, ""]
    """The episode is over: memory starts blank when the next observation comes."""
    observation: Float[Array, "..."]
    """o_t as the network saw it."""
    added: Float[Array, " added"] | None
    """The last action and reward, where they are appended to the next observation."""
    action: Int[Array, ""]
    greedy: Bool[Array, ""]
    """Whether the action is one of the policy that is learned about."""
    observations: normalisation.Running
    rewards: normalisation.RewardScale
    key: PRNGKeyArray
    step: Int[Array, ""]
    """Steps learned from, for the schedule of epsilon; it stops at 2^31 - 1."""


@dataclass(frozen=True)
class StreamQ(senses.Inputs):
    """The settings of stream Q(lambda), and what it does: ``act`` and ``learn``.

    The defaults are the published constants of intentional Q (Sharifnassab et al., 2026).
    """

    learns_from: ClassVar[Literal["steps", "rollouts"]] = "steps"

    network: Architecture = Architecture()
    discount: float = 0.99
    """gamma."""
    trace_decay: float = 0.8
    """lambda."""
    q: Rule = Intentional(eta=0.25)
    """The step-size rule."""
    epsilon_start: float = 1.0
    """Share of random actions at the start."""
    epsilon_end: float = 0.01
    """Share of random actions at the end."""
    epsilon_frames: int = 50_000
    """Frames over which epsilon falls, in a straight line."""
    temperature: float = 0.0
    """Draw actions from a softmax of their values over this (expected Sarsa); 0: the best one."""

    def __post_init__(self) -> None:
        senses.check(self)
        ranges.check(self, trace_decay=ranges.SHARE)
        ranges.check(self, epsilon_start=ranges.SHARE, epsilon_end=ranges.SHARE)
        ranges.check(self, epsilon_frames=ranges.NOT_NEGATIVE, temperature=ranges.NOT_NEGATIVE)

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> StreamQState:
        key, key_q = jax.random.split(key)
        sensed = senses.at_start(self, observation_space, action_space)
        inputs = sensed["observation"].shape
        added = senses.size(action_space, self.previous_action, self.previous_reward)
        q = self.network.build(key_q, inputs, spaces.action_count(action_space), added=added)
        return StreamQState(
            q=start(q),
            optimiser=self._rule().init(split(q)[0]),
            **sensed,
            action=jnp.int32(0),
            greedy=jnp.bool_(True),
            key=key,
        )

    def act(
        self, state: StreamQState, observation: Array, explore: bool = True
    ) -> tuple[StreamQState, Int[Array, ""]]:
        """Take in o_t, move the memory, and choose a_t epsilon-greedily, or greedily."""
        key, key_action = jax.random.split(state.key)
        seen, observations = senses.observe(self, state, observation, state.added)
        q = advance(state.q, seen, state.fresh)
        values = q.network(seen, q.previous, q.memory)
        epsilon = self.epsilon(state.step) if explore else 0.0
        if self.temperature > 0 and explore:
            action, greedy = softmax_choice(key_action, values, epsilon, self.temperature)
        else:
            action, greedy = epsilon_greedy(key_action, values, epsilon)
        state = state._replace(
            q=q,
            fresh=jnp.bool_(False),
            observation=seen,
            action=action,
            greedy=greedy,
            observations=observations,
            key=key,
        )
        return state, action

    def learn(
        self,
        state: StreamQState,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[StreamQState, Metrics]:
        """Learn from (o_t, a_t, r, o_{t+1}); a time limit (``truncated``) still bootstraps.

        A step that would leave numbers that are not finite is refused: then the transition goes by
        as in ``skip``, and the TD error in the metrics is NaN.
        """
        done = jnp.logical_or(terminated, truncated)
        came = senses.outcome(self, state, state.action, reward, next_observation, done)
        learns, frozen = split(state.q.network)

        def value(params: Network) -> Array:
            network = eqx.combine(params, frozen)
            return pick(network(state.observation, state.q.previous, state.q.memory), state.action)

        q, gradient = jax.value_and_grad(value)(learns)
        q_next = value_of(state.q.network.peek(came.seen, state.q.memory), self.temperature)
        td_error = came.reward + self.discount * (1 - terminated) * q_next - q
        td_error = senses.sane(td_error, q, gradient)
        learned = jnp.isfinite(td_error)
        update, optimiser = self._rule().update(
            gradient, state.optimiser, learns, td_error=td_error, reset=done | ~state.greedy
        )
        metrics = {
            "td_error": td_error,
            "value": q,
            "epsilon": self.epsilon(next_until_last(state.step)),
        }
        metrics |= count_refused(state.optimiser, optimiser)
        state = state._replace(
            q=learn(state.q, update),
            optimiser=optimiser,
            **came.kept(state, learned, done),
        )
        return state, metrics

    def watch(self, state: StreamQState, reward: Array, done: Array) -> StreamQState:
        """Let a transition go by unlearned, and see what came of the last action all the same."""
        return self.skip(senses.watched(self, state, state.action, reward, done), done)

    def skip(self, state: StreamQState, done: Array) -> StreamQState:
        """Let a transition go by unlearned; memory is kept, unless the episode ended with it."""
        return state._replace(
            fresh=state.fresh | done,
            added=senses.at_next(state.added, done),
            optimiser=cut_traces(state.optimiser, done),
        )

    def epsilon(self, step: Int[Array, ""]) -> Float[Array, ""]:
        return falling(self.epsilon_start, self.epsilon_end, self.epsilon_frames, step)

    def _rule(self) -> optax.GradientTransformationExtraArgs:
        return self.q.build(self.discount * self.trace_decay)
