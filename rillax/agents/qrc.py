"""QRC(lambda) with RTU and exact RTRL: Algorithm 1 of the paper, after Elelimy et al. (2025).

Two networks see the same stream, each with a memory of its own: q(o, a), the action values, and
h(o, a), which learns to predict the TD error. With q = q(o_t, a_t) and h = h(o_t, a_t),

    delta   = r + gamma max_a' q(o_{t+1}, a') - q
    z_w     = gamma lambda z_w + grad q            (z_theta of grad h and z_h of h likewise)
    Delta w = delta z_w - h grad q - z_h grad delta
    Delta theta = delta z_theta - h grad h - beta theta

``grad delta`` is the whole gradient, not a semi-gradient: the bootstrap is a peek, one step on
o_{t+1} from the memory that has seen o_t, differentiated through all of time.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax import normalisation, spaces
from rillax._jax.kernels import after
from rillax.agents import senses
from rillax.agents.exploration import epsilon_greedy, falling
from rillax.networks import Architecture, Network, Stream, advance, learn, pick, split, start
from rillax.updates import (
    SGD,
    DirectionRule,
    TraceState,
    clip_by_norm,
    cut_traces,
    eligibility_trace,
)
from rillax.utils import ranges

Metrics = dict[str, Float[Array, ""]]


class QRCState(NamedTuple):
    """All that the agent is. Its size never changes."""

    q: Stream
    h: Stream
    traces: TraceState
    q_rule: Any
    """What the step-size rule of q remembers."""
    h_rule: Any
    fresh: Bool[Array, ""]
    """The episode is over: memory starts blank when the next observation comes."""
    observation: Float[Array, "..."]
    """o_t as the networks saw it."""
    added: Float[Array, " added"] | None
    """The last action and reward, where they are appended to the next observation."""
    action: Int[Array, ""]
    greedy: Bool[Array, ""]
    observations: normalisation.Running
    rewards: normalisation.RewardScale
    key: PRNGKeyArray
    step: Int[Array, ""]
    """Steps learned from, for the schedule of epsilon; it stops at 2^31 - 1."""


class _Traced(NamedTuple):
    """What the eligibility traces follow."""

    q: Network
    h: Network
    value: Float[Array, ""]


@dataclass(frozen=True)
class QRC(senses.Inputs):
    """The settings of QRC(lambda) (defaults: Table 1), and what it does: ``act`` and ``learn``."""

    learns_from: ClassVar[Literal["steps", "rollouts"]] = "steps"

    network: Architecture = Architecture()
    discount: float = 0.99
    """gamma."""
    trace_decay: float = 0.95
    """lambda."""
    q: DirectionRule = SGD(1e-4)
    """The step-size rule of the action values."""
    h: DirectionRule = SGD(1e-5)
    """The step-size rule of the h-network."""
    regularisation: float = 1.0
    """beta, of the h-network."""
    epsilon_start: float = 1.0
    """Share of random actions at the start."""
    epsilon_end: float = 0.01
    """Share of random actions at the end."""
    epsilon_frames: int = 50_000
    """Frames over which epsilon falls, in a straight line."""
    clip_gradients: float | None = None
    """Largest global norm of each per-step gradient, before it is traced; no limit if not given."""

    def __post_init__(self) -> None:
        senses.check(self)
        ranges.check(self, trace_decay=ranges.SHARE, regularisation=ranges.NOT_NEGATIVE)
        ranges.check(self, clip_gradients=ranges.POSITIVE)
        ranges.check(self, epsilon_start=ranges.SHARE, epsilon_end=ranges.SHARE)
        ranges.check(self, epsilon_frames=ranges.NOT_NEGATIVE)
        for name in ("q", "h"):
            if not hasattr(rule := getattr(self, name), "scale_direction"):
                raise ValueError(
                    f"{type(rule).__name__} cannot be the rule {name} of qrc: QRC's direction is "
                    "more than a trace, so its rules need scale_direction; SGD and ObGD have it"
                )

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> QRCState:
        key, key_q, key_h = jax.random.split(key, 3)
        actions = spaces.action_count(action_space)
        sensed = senses.at_start(self, observation_space, action_space)
        inputs = sensed["observation"].shape
        added = senses.size(action_space, self.previous_action, self.previous_reward)
        q = self.network.build(key_q, inputs, actions, added=added)
        h = self.network.build(key_h, inputs, actions, added=added)
        q_learns, h_learns = split(q)[0], split(h)[0]
        traced = _Traced(q_learns, h_learns, jnp.zeros(()))
        return QRCState(
            q=start(q),
            h=start(h),
            traces=self._trace().init(traced),
            q_rule=self.q.scale_direction().init(q_learns),
            h_rule=self.h.scale_direction().init(h_learns),
            **sensed,
            action=jnp.int32(0),
            greedy=jnp.bool_(True),
            key=key,
        )

    def act(
        self, state: QRCState, observation: Array, explore: bool = True
    ) -> tuple[QRCState, Int[Array, ""]]:
        """Take in o_t, move both memories, and choose a_t epsilon-greedily, or greedily."""
        key, key_action = jax.random.split(state.key)
        seen, observations = senses.observe(self, state, observation, state.added)
        q, h = (advance(stream, seen, state.fresh) for stream in (state.q, state.h))
        values = q.network(seen, q.previous, q.memory)
        epsilon = self.epsilon(state.step) if explore else 0.0
        action, greedy = epsilon_greedy(key_action, values, epsilon)
        state = state._replace(
            key=key,
            q=q,
            h=h,
            fresh=jnp.bool_(False),
            observation=seen,
            action=action,
            greedy=greedy,
            observations=observations,
        )
        return state, action

    def learn(
        self,
        state: QRCState,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[QRCState, Metrics]:
        """Learn from (o_t, a_t, r, o_{t+1}); a time limit (``truncated``) still bootstraps.

        A step that would leave numbers that are not finite is refused: then the transition goes by
        as in ``skip``, and the TD error in the metrics is NaN.
        """
        done = jnp.logical_or(terminated, truncated)
        came = senses.outcome(self, state, state.action, reward, next_observation, done)
        q_learns, q_frozen = split(state.q.network)
        h_learns, h_frozen = split(state.h.network)

        def value(params: Network, frozen: Network, stream: Stream) -> Array:
            network = eqx.combine(params, frozen)
            values = network(state.observation, stream.previous, stream.memory)
            return pick(values, state.action)

        def next_value(params: Network) -> Array:
            network = eqx.combine(params, q_frozen)
            return jnp.max(network.peek(came.seen, state.q.memory))

        q, grad_q = jax.value_and_grad(value)(q_learns, q_frozen, state.q)
        h, grad_h = jax.value_and_grad(value)(h_learns, h_frozen, state.h)
        q_next, grad_next = jax.value_and_grad(next_value)(q_learns)
        grad_q, grad_h, grad_next = map(self._clip_gradient, (grad_q, grad_h, grad_next))

        discount = self.discount * (1 - terminated)
        td_error = senses.sane(came.reward + discount * q_next - q, q, h, grad_q, grad_h, grad_next)
        learned = jnp.isfinite(td_error)
        z, traces = self._trace().update(
            _Traced(grad_q, grad_h, h), state.traces, reset=done | ~state.greedy, td_error=td_error
        )
        error = after(td_error, (grad_q, grad_h, grad_next))
        direction_q = _direction_q(error, z, h, discount, grad_q, grad_next)
        direction_h = _direction_h(error, z, h, self.regularisation, grad_h, h_learns)
        q_update, q_rule = self.q.scale_direction().update(
            direction_q, state.q_rule, q_learns, td_error=td_error, trace=z.q
        )
        h_update, h_rule = self.h.scale_direction().update(
            direction_h, state.h_rule, h_learns, td_error=td_error, trace=z.h
        )
        state = state._replace(
            q=learn(state.q, q_update),
            h=learn(state.h, h_update),
            traces=traces,
            q_rule=q_rule,
            h_rule=h_rule,
            **came.kept(state, learned, done),
        )
        return state, {"td_error": td_error, "value": q, "epsilon": self.epsilon(state.step)}

    def watch(self, state: QRCState, reward: Array, done: Array) -> QRCState:
        """Let a transition go by unlearned, and see what came of the last action all the same."""
        return self.skip(senses.watched(self, state, state.action, reward, done), done)

    def skip(self, state: QRCState, done: Array) -> QRCState:
        """Let a transition go by unlearned; memory is kept, unless the episode ended with it."""
        return state._replace(
            fresh=state.fresh | done,
            added=senses.at_next(state.added, done),
            traces=cut_traces(state.traces, done),
        )

    def epsilon(self, step: Int[Array, ""]) -> Float[Array, ""]:
        return falling(self.epsilon_start, self.epsilon_end, self.epsilon_frames, step)

    def _trace(self) -> optax.GradientTransformationExtraArgs:
        return eligibility_trace(self.discount * self.trace_decay)

    def _clip_gradient(self, gradient: Network) -> Network:
        limit = self.clip_gradients
        return gradient if limit is None else clip_by_norm(gradient, limit)


def _direction_q(
    error: Array, z: _Traced, h: Array, discount: Array, grad_q: Network, grad_next: Network
) -> Network:
    """Delta w: - h grad q - z_h grad delta, with grad delta = discount grad_next - grad_q."""
    return jax.tree.map(
        lambda z_w, g, g_next: error * z_w + (z.value - h) * g - z.value * discount * g_next,
        z.q,
        grad_q,
        grad_next,
    )


def _direction_h(
    error: Array, z: _Traced, h: Array, beta: float, grad_h: Network, learns: Network
) -> Network:
    """Delta theta."""
    return jax.tree.map(
        lambda z_theta, g, theta: error * z_theta - h * g - beta * theta, z.h, grad_h, learns
    )
