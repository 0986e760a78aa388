"""Rill: a quick learner and a careful one on the same stream, and whoever earns more acts.

Values of actions, learned by Q(lambda) with the intentional update (``stream_q``), find out within
thousands of frames what a memory is good for. But who acts greedily by them repeats one action
where many are about equally good. A stochastic policy, learned by stream AC(lambda) with ObGD
(``stream_ac``), stays near chance there at least, and learns more slowly what is to be recalled.
Here both learn from every step:

    delta_q = r + gamma_q max_a' q(o_{t+1}, a') - q(o_t, a_t)
    delta_v = r + gamma_v v(o_{t+1}) - v(o_t)
    rho     = min(1, pi(a_t) / b(a_t))

Q learns about the greedy policy, whoever acts; its trace is cut after an action that is not greedy.
Actor and critic learn from rho delta_v: where Q acts, its actions count as far as the actor might
have chosen them (Espeholt et al., 2018, but for the product of ratios in the trace). Who acts in a
bout, an episode or a thousand steps of a longer one, is settled by what both have earned so far
(``rillax.agents.referee``).

The discounts are short, Q's the shorter. In most tasks with a memory an action is paid for soon;
what it depends on reaches it through the memory, which needs no discount, and a long one adds the
noise of everything that comes after. Where more foresight is wanted, the actor has some, and comes
to act because it earns more. docs/rill.md has the experiments.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax import normalisation, spaces
from rillax.agents import referee, senses
from rillax.agents.exploration import epsilon_greedy, falling
from rillax.agents.policies import Softmax
from rillax.agents.referee import Earnings
from rillax.agents.refusals import count_refused
from rillax.cells import RTU
from rillax.networks import Architecture, Network, Stream, advance, learn, pick, split, start
from rillax.updates import Intentional, IntentionalPolicy, ObGD, Rule, cut_traces
from rillax.utils import ranges

Metrics = dict[str, Float[Array, ""]]
Q_ACTS, ACTOR_ACTS = 0, 1
POLICIES = 2
SURPRISED_FOR = 1000
"""Over about how many of the last steps the TD error is averaged."""


class RillState(NamedTuple):
    """All that the agent is. Its size never changes."""

    q: Stream
    actor: Stream
    critic: Stream
    q_optimiser: Any
    actor_optimiser: Any
    critic_optimiser: Any
    fresh: Bool[Array, ""]
    """The episode is over: memory starts blank when the next observation comes."""
    observation: Float[Array, "..."]
    """o_t as the networks saw it."""
    added: Float[Array, " added"] | None
    """The last action and reward, where they are appended to the next observation."""
    action: Int[Array, ""]
    greedy: Bool[Array, ""]
    """Whether no action has a larger value than the last."""
    chance: Float[Array, ""]
    """b(a_t): with what probability the last action was chosen."""
    acts: Int[Array, ""]
    """Who acts in this bout."""
    bout: Int[Array, ""]
    """Steps of this bout so far."""
    earned: Float[Array, ""]
    """Scaled rewards of this bout so far."""
    earnings: Earnings
    surprise: Float[Array, ""]
    """How wrong the values of actions were lately: the mean of delta_q squared, at most 1."""
    observations: normalisation.Running
    rewards: normalisation.RewardScale
    key: PRNGKeyArray
    step: Int[Array, ""]
    """Steps learned from, for the schedule of epsilon; it stops at 2^31 - 1."""


@dataclass(frozen=True)
class Rill(senses.Inputs):
    """The settings of Rill, and what it does: ``act`` and ``learn``. For discrete actions."""

    learns_from: ClassVar[Literal["steps", "rollouts"]] = "steps"

    network: Architecture = Architecture(
        cell=RTU(units=96, r_min=0.5, r_max=0.999, features="tanh"), width=32, direct=True
    )
    """Of all three. The values of actions never read the observation directly."""
    discount: float = 0.5
    """gamma_q, of the values of actions. Rewards are scaled by the spread of this return."""
    actor_discount: float = 0.9
    """gamma_v, of actor and critic."""
    trace_decay: float = 0.8
    """lambda."""
    q: Rule = Intentional(eta=0.25, row_norm=2.0)
    """The step-size rule of the values of actions."""
    actor: Rule = ObGD(kappa=0.3)
    """The step-size rule of the actor."""
    critic: Rule = ObGD(kappa=1.0)
    """The step-size rule of the critic."""
    entropy: float = 0.095
    """tau, the weight of the policy's entropy."""
    epsilon_start: float = 1.0
    """Share of random actions at the start, where Q acts."""
    epsilon_end: float = 0.01
    """Share of random actions after that, where Q acts, as far as its values still err."""
    epsilon_frames: int = 20_000
    """Frames over which epsilon falls, in a straight line."""
    window: int = 50
    """About how many of the last bouts of each decide who acts."""
    longest_bout: int = 1000
    """Who acts is settled anew after so many steps, if the episode goes on for longer."""
    previous_action: bool = field(default=True, kw_only=True)
    """Append the last action to what the networks take in (one-hot if discrete)."""
    previous_reward: bool = field(default=True, kw_only=True)
    """Append the last reward, as it is scaled, to what the networks take in."""

    def __post_init__(self) -> None:
        senses.check(self)
        ranges.check(self, actor_discount=ranges.SHARE, trace_decay=ranges.SHARE)
        ranges.check(self, entropy=ranges.NOT_NEGATIVE)
        ranges.check(self, epsilon_start=ranges.SHARE, epsilon_end=ranges.SHARE)
        ranges.check(self, epsilon_frames=ranges.NOT_NEGATIVE)
        ranges.check(self, window=ranges.COUNT, longest_bout=ranges.COUNT)
        if type(self.actor) is Intentional:
            raise ValueError("the actor's rule is for values; intentional_policy is for policies")
        for name in ("q", "critic"):
            if isinstance(getattr(self, name), IntentionalPolicy):
                raise ValueError(f"the rule {name} is for policies; intentional is for values")

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> RillState:
        key, key_q, key_actor, key_critic = jax.random.split(key, 4)
        sensed = senses.at_start(self, observation_space, action_space)
        inputs, actions = sensed["observation"].shape, spaces.action_count(action_space)
        added = senses.size(action_space, self.previous_action, self.previous_reward)
        q = self.network_of_q.build(key_q, inputs, actions, added=added)
        actor = self.network.build(key_actor, inputs, actions, added=added)
        critic = self.network.build(key_critic, inputs, 1, added=added)
        return RillState(
            q=start(q),
            actor=start(actor),
            critic=start(critic),
            q_optimiser=self._of_q().init(split(q)[0]),
            actor_optimiser=self._of_actor().init(split(actor)[0]),
            critic_optimiser=self._of_critic().init(split(critic)[0]),
            **sensed,
            action=jnp.int32(0),
            greedy=jnp.bool_(True),
            chance=jnp.ones(()),
            acts=jnp.int32(Q_ACTS),
            bout=jnp.int32(0),
            earned=jnp.zeros(()),
            earnings=referee.no_earnings(POLICIES),
            surprise=jnp.ones(()),
            key=key,
        )

    def act(
        self, state: RillState, observation: Array, explore: bool = True
    ) -> tuple[RillState, Int[Array, ""]]:
        """Take in o_t, move the memories, and let whoever acts choose a_t.

        Without ``explore`` that is whoever has earned more, and the best or likeliest action.
        """
        key, key_q, key_actor = jax.random.split(state.key, 3)
        seen, observations = senses.observe(self, state, observation, state.added)
        q, actor, critic = (
            advance(stream, seen, state.fresh) for stream in (state.q, state.actor, state.critic)
        )
        values = q.network(seen, q.previous, q.memory)
        policy = Softmax(actor.network(seen, actor.previous, actor.memory))
        if explore:
            acts, epsilon = state.acts, self.epsilon(state)
            by_actor = policy.sample(key_actor)
        else:
            acts, epsilon = jnp.argmax(state.earnings.mean), jnp.zeros(())
            by_actor = policy.mode()
        by_q, _ = epsilon_greedy(key_q, values, epsilon)
        q_acts = acts == Q_ACTS
        action = jnp.where(q_acts, by_q, by_actor)
        best = action == jnp.argmax(values)
        by_chance = epsilon / values.size + jnp.where(best, 1 - epsilon, 0.0)
        probability = jnp.exp(policy.log_probability(action))
        state = state._replace(
            q=q,
            actor=actor,
            critic=critic,
            fresh=jnp.bool_(False),
            observation=seen,
            action=action,
            greedy=pick(values, action) >= jnp.max(values),
            chance=jnp.where(q_acts, by_chance, probability),
            observations=observations,
            key=key,
        )
        return state, action

    def learn(
        self,
        state: RillState,
        reward: Array,
        next_observation: Array,
        terminated: Array,
        truncated: Array,
    ) -> tuple[RillState, Metrics]:
        """Learn from (o_t, a_t, r, o_{t+1}); a time limit (``truncated``) still bootstraps.

        A step that would leave numbers that are not finite is refused: then the transition goes by
        as in ``skip``, and the TD error in the metrics is NaN.
        """
        done = jnp.logical_or(terminated, truncated)
        came = senses.outcome(self, state, state.action, reward, next_observation, done)
        goes_on = 1 - terminated
        q_learns, q_frozen = split(state.q.network)
        actor_learns, actor_frozen = split(state.actor.network)
        critic_learns, critic_frozen = split(state.critic.network)

        def action_value(params: Network) -> Array:
            return pick(_outputs(eqx.combine(params, q_frozen), state.q, state), state.action)

        def value(params: Network) -> Array:
            return _outputs(eqx.combine(params, critic_frozen), state.critic, state)[0]

        q, grad_q = jax.value_and_grad(action_value)(q_learns)
        v, grad_v = jax.value_and_grad(value)(critic_learns)
        next_q = jnp.max(state.q.network.peek(came.seen, state.q.memory))
        next_v = state.critic.network.peek(came.seen, state.critic.memory)[0]
        q_error = came.reward + self.discount * goes_on * next_q - q
        v_error = came.reward + self.actor_discount * goes_on * next_v - v

        def objective(params: Network) -> tuple[Array, tuple[Array, Array]]:
            policy = Softmax(_outputs(eqx.combine(params, actor_frozen), state.actor, state))
            log_probability, entropy = policy.log_probability(state.action), policy.entropy()
            bonus = self.entropy * jnp.sign(v_error) * entropy
            return log_probability + bonus, (log_probability, entropy)

        grad_pi, (log_probability, entropy) = jax.grad(objective, has_aux=True)(actor_learns)
        looked_at = q, v, v_error, entropy, grad_q, grad_v, grad_pi
        q_error = senses.sane(q_error, *looked_at)
        learned = jnp.isfinite(q_error)
        ratio = jnp.minimum(1.0, jnp.exp(log_probability) / jnp.maximum(state.chance, 1e-8))
        v_error = jnp.where(learned, ratio * v_error, jnp.nan)
        q_update, q_optimiser = self._of_q().update(
            grad_q, state.q_optimiser, q_learns, td_error=q_error, reset=done | ~state.greedy
        )
        actor_update, actor_optimiser = self._of_actor().update(
            grad_pi, state.actor_optimiser, actor_learns, td_error=v_error, reset=done
        )
        critic_update, critic_optimiser = self._of_critic().update(
            grad_v, state.critic_optimiser, critic_learns, td_error=v_error, reset=done
        )
        metrics = {
            "td_error": q_error,
            "value": q,
            "entropy": entropy,
            "actor_acts": state.acts.astype(float),
        }
        before = state.q_optimiser, state.actor_optimiser, state.critic_optimiser
        metrics |= count_refused(before, (q_optimiser, actor_optimiser, critic_optimiser))
        error = jnp.minimum(jnp.square(q_error), 1.0)
        surprise = state.surprise + (error - state.surprise) / SURPRISED_FOR
        state = state._replace(
            q=learn(state.q, q_update),
            actor=learn(state.actor, actor_update),
            critic=learn(state.critic, critic_update),
            q_optimiser=q_optimiser,
            actor_optimiser=actor_optimiser,
            critic_optimiser=critic_optimiser,
            earned=jnp.where(learned, state.earned + came.reward, state.earned),
            surprise=jnp.where(learned, surprise, state.surprise),
            **came.kept(state, learned, done),
        )
        metrics["epsilon"] = self.epsilon(state)
        return self._settle(state, done), metrics

    def _settle(self, state: RillState, done: Array) -> RillState:
        """Count this step, and at the end of a bout settle who acts in the next."""
        bout = state.bout + 1
        over = done | (bout >= self.longest_bout)
        key, key_choice = jax.random.split(state.key)
        earnings = referee.count(state.earnings, state.acts, state.earned, self.window)
        acts = referee.choose(key_choice, earnings, self.window)
        return state._replace(
            acts=jnp.where(over, acts, state.acts),
            bout=jnp.where(over, 0, bout),
            earned=jnp.where(over, 0.0, state.earned),
            earnings=jax.tree.map(lambda a, b: jnp.where(over, a, b), earnings, state.earnings),
            key=key,
        )

    def watch(self, state: RillState, reward: Array, done: Array) -> RillState:
        """Let a transition go by unlearned, and see what came of the last action all the same."""
        return self.skip(senses.watched(self, state, state.action, reward, done), done)

    def skip(self, state: RillState, done: Array) -> RillState:
        """Let a transition go by unlearned; memory is kept, unless the episode ended with it."""
        return state._replace(
            fresh=state.fresh | done,
            added=senses.at_next(state.added, done),
            q_optimiser=cut_traces(state.q_optimiser, done),
            actor_optimiser=cut_traces(state.actor_optimiser, done),
            critic_optimiser=cut_traces(state.critic_optimiser, done),
        )

    def epsilon(self, state: RillState) -> Float[Array, ""]:
        """It falls in a straight line, to a share of ``epsilon_end`` that is as large as delta_q.

        Where nothing is left to find out, nothing is tried; where values go on erring, a greedy
        policy alone would never see that another action has become the better one.
        """
        end = self.epsilon_end * state.surprise
        left = falling(1.0, 0.0, self.epsilon_frames, state.step)
        return end + (self.epsilon_start - end) * left

    @property
    def network_of_q(self) -> Architecture:
        return replace(self.network, direct=False)

    def _of_q(self) -> optax.GradientTransformationExtraArgs:
        return self.q.build(self.discount * self.trace_decay)

    def _of_actor(self) -> optax.GradientTransformationExtraArgs:
        return self.actor.build(self.actor_discount * self.trace_decay)

    def _of_critic(self) -> optax.GradientTransformationExtraArgs:
        return self.critic.build(self.actor_discount * self.trace_decay)


def _outputs(network: Network, stream: Stream, state: RillState) -> Float[Array, " outputs"]:
    """What a network puts out at o_t."""
    return network(state.observation, stream.previous, stream.memory)
