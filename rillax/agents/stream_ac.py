"""stream AC(lambda) with RTU and exact RTRL: Algorithm 2 of the paper, after Elsayed et al. (2024).

Actor and critic see the same stream, each with a network and a memory of its own:

    delta   = r + gamma v(o_{t+1}) - v(o_t)
    z_w     = gamma lambda z_w + grad v(o_t)
    z_theta = gamma lambda z_theta + grad [log pi(a_t) + tau sign(delta) H(pi)]

and both take a step in the direction delta z whose size ObGD bounds. The value of o_{t+1} is a
peek: one step of memory on o_{t+1}, not committed.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax import normalisation
from rillax.agents import senses
from rillax.agents.policies import (
    LEAST_DEVIATION,
    Factored,
    Policy,
    actions_of,
    as_input,
    clip_action,
    make_policy,
)
from rillax.agents.refusals import count_refused
from rillax.networks import Architecture, Network, Stream, advance, learn, split, start
from rillax.updates import Intentional, IntentionalPolicy, ObGD, Rule, cut_traces
from rillax.utils import ranges

Metrics = dict[str, Float[Array, ""]]


class ActorParameters(NamedTuple):
    """What the actor learns."""

    network: Network
    log_deviation: Float[Array, " actions"] | Factored | None
    """None for discrete actions, and where the network puts it out."""


class StreamACState(NamedTuple):
    """All that the agent is. Its size never changes."""

    actor: Stream
    log_deviation: Float[Array, " actions"] | Factored | None
    critic: Stream
    actor_optimiser: Any
    critic_optimiser: Any
    fresh: Bool[Array, ""]
    """The episode is over: memory starts blank when the next observation comes."""
    observation: Float[Array, "..."]
    """o_t as the networks saw it."""
    added: Float[Array, " added"] | None
    """The last action and reward, where they are appended to the next observation."""
    action: Array
    """a_t as it was sampled, before any clipping."""
    bounds: tuple[Array, Array] | None
    """What a continuous action is clipped to, for the environment."""
    observations: normalisation.Running
    rewards: normalisation.RewardScale
    key: PRNGKeyArray
    step: Int[Array, ""]
    """Steps learned from; it stops at 2^31 - 1."""


@dataclass(frozen=True)
class StreamAC(senses.Inputs):
    """The settings of stream AC(lambda) (defaults: Table 3), and what it does."""

    learns_from: ClassVar[Literal["steps", "rollouts"]] = "steps"

    network: Architecture = Architecture()
    discount: float = 0.99
    """gamma."""
    trace_decay: float = 0.8
    """lambda."""
    entropy: float = 0.095
    """tau, the weight of the policy's entropy."""
    actor: Rule = ObGD(kappa=3.0)
    """The step-size rule of the actor."""
    critic: Rule = ObGD(kappa=2.0)
    """The step-size rule of the critic."""
    actor_gain: float | None = None
    """Start the actor's output layer orthogonal, with this gain; as the others if not given."""
    critic_gain: float | None = None
    """Start the critic's output layer orthogonal, with this gain; as the others if not given."""
    state_deviation: bool = False
    """Whether the deviation of a continuous action depends on the state: the network puts it out,
    through softplus. Otherwise it is a parameter of its own."""
    least_deviation: float = LEAST_DEVIATION
    """What is added to a deviation that depends on the state, in the units of the action."""

    def __post_init__(self) -> None:
        senses.check(self)
        ranges.check(self, trace_decay=ranges.SHARE, entropy=ranges.NOT_NEGATIVE)
        ranges.check(self, least_deviation=ranges.POSITIVE)
        ranges.check(self, actor_gain=ranges.NOT_NEGATIVE, critic_gain=ranges.NOT_NEGATIVE)
        if type(self.actor) is Intentional:
            raise ValueError("the actor's rule is for values; intentional_policy is for policies")
        if isinstance(self.critic, IntentionalPolicy):
            raise ValueError("the critic's rule is for policies; intentional is for values")

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> StreamACState:
        key, key_actor, key_critic = jax.random.split(key, 3)
        outputs, log_deviation, bounds, action = actions_of(action_space, self.state_deviation)
        sensed = senses.at_start(self, observation_space, action_space)
        inputs = sensed["observation"].shape
        added = senses.size(action_space, self.previous_action, self.previous_reward)
        actor = self.network.build(key_actor, inputs, outputs, self.actor_gain, added)
        critic = self.network.build(key_critic, inputs, 1, self.critic_gain, added)
        return StreamACState(
            actor=start(actor),
            log_deviation=log_deviation,
            critic=start(critic),
            actor_optimiser=self._actor().init(ActorParameters(split(actor)[0], log_deviation)),
            critic_optimiser=self._critic().init(split(critic)[0]),
            **sensed,
            action=action,
            bounds=bounds,
            key=key,
        )

    def act(
        self, state: StreamACState, observation: Array, explore: bool = True
    ) -> tuple[StreamACState, Array]:
        """Take in o_t, move both memories, and sample a_t, or take the likeliest."""
        key, key_action = jax.random.split(state.key)
        seen, observations = senses.observe(self, state, observation, state.added)
        actor = advance(state.actor, seen, state.fresh)
        critic = advance(state.critic, seen, state.fresh)
        out = actor.network(seen, actor.previous, actor.memory)
        policy = self._policy(out, state.log_deviation)
        action = policy.sample(key_action) if explore else policy.mode()
        state = state._replace(
            actor=actor,
            critic=critic,
            fresh=jnp.bool_(False),
            observation=seen,
            action=action,
            observations=observations,
            key=key,
        )
        return state, self._taken(state)

    def _policy(self, out: Array, log_deviation: Any) -> Policy:
        return make_policy(out, log_deviation, self.state_deviation, self.least_deviation)

    def _taken(self, state: StreamACState) -> Array:
        """The last action as the environment takes it."""
        return state.action if state.bounds is None else clip_action(state.action, state.bounds)

    def _remembered(self, state: StreamACState) -> Array:
        """The last action as the networks may take it in."""
        return as_input(self._taken(state), state.log_deviation)

    def learn(
        self,
        state: StreamACState,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[StreamACState, Metrics]:
        """Learn from (o_t, a_t, r, o_{t+1}); a time limit (``truncated``) still bootstraps.

        A step that would leave numbers that are not finite is refused: then the transition goes by
        as in ``skip``, and the TD error in the metrics is NaN.
        """
        done = jnp.logical_or(terminated, truncated)
        taken = self._remembered(state)
        came = senses.outcome(self, state, taken, reward, next_observation, done)
        actor_learns, actor_frozen = split(state.actor.network)
        critic_learns, critic_frozen = split(state.critic.network)
        theta = ActorParameters(actor_learns, state.log_deviation)

        def value(params: Network) -> Array:
            network = eqx.combine(params, critic_frozen)
            return network(state.observation, state.critic.previous, state.critic.memory)[0]

        next_value = state.critic.network.peek(came.seen, state.critic.memory)[0]
        v, grad_v = jax.value_and_grad(value)(critic_learns)
        td_error = came.reward + self.discount * (1 - terminated) * next_value - v

        def objective(theta: ActorParameters) -> tuple[Array, Array]:
            network = eqx.combine(theta.network, actor_frozen)
            out = network(state.observation, state.actor.previous, state.actor.memory)
            policy = self._policy(out, theta.log_deviation)
            entropy = policy.entropy()
            bonus = self.entropy * jnp.sign(td_error) * entropy
            return policy.log_probability(state.action) + bonus, entropy

        grad_pi, entropy = jax.grad(objective, has_aux=True)(theta)
        td_error = senses.sane(td_error, v, entropy, grad_v, grad_pi)
        learned = jnp.isfinite(td_error)
        signals = {"td_error": td_error, "reset": done}
        actor_update, actor_optimiser = self._actor().update(
            grad_pi, state.actor_optimiser, theta, **signals
        )
        critic_update, critic_optimiser = self._critic().update(
            grad_v, state.critic_optimiser, critic_learns, **signals
        )
        metrics = {"td_error": td_error, "value": v, "entropy": entropy}
        before = state.actor_optimiser, state.critic_optimiser
        metrics |= count_refused(before, (actor_optimiser, critic_optimiser))
        state = state._replace(
            actor=learn(state.actor, actor_update.network),
            log_deviation=optax.apply_updates(state.log_deviation, actor_update.log_deviation),
            critic=learn(state.critic, critic_update),
            actor_optimiser=actor_optimiser,
            critic_optimiser=critic_optimiser,
            **came.kept(state, learned, done),
        )
        return state, metrics

    def watch(self, state: StreamACState, reward: Array, done: Array) -> StreamACState:
        """Let a transition go by unlearned, and see what came of the last action all the same."""
        return self.skip(senses.watched(self, state, self._remembered(state), reward, done), done)

    def skip(self, state: StreamACState, done: Array) -> StreamACState:
        """Let a transition go by unlearned; memory is kept, unless the episode ended with it."""
        return state._replace(
            fresh=state.fresh | done,
            added=senses.at_next(state.added, done),
            actor_optimiser=cut_traces(state.actor_optimiser, done),
            critic_optimiser=cut_traces(state.critic_optimiser, done),
        )

    def _actor(self) -> optax.GradientTransformationExtraArgs:
        return self.actor.build(self.discount * self.trace_decay)

    def _critic(self) -> optax.GradientTransformationExtraArgs:
        return self.critic.build(self.discount * self.trace_decay)
