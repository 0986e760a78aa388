"""PPO with RTU and RTRL gradients, the batched baseline, after Elelimy et al. (2024).

PPO (Schulman et al., 2017) plays a rollout with fixed parameters, then learns from it for epochs:

    delta_t = r_t + gamma v(o_{t+1}) - v(o_t),    A_t = delta_t + gamma lambda A_{t+1}
    L_pi    = -E min(rho A, clip(rho, 1 - c, 1 + c) A),    rho = pi(a | o) / pi_old(a | o)
    L_v     = E (v(o) - v_old(o) - A)^2 / 2

Actor and critic see the same stream, each with a network and a memory of its own. Learning needs,
for every sample, the memory (h, S) that it began with. Parameters do not change during a rollout,
so nothing of that is kept while playing: before an update the memories are played back once, from
the one at the beginning of the rollout. In the update a sample recomputes one step from there with
the parameters in force; the S it began with is stale by the changes of that update alone.

All functions are of one agent that plays in ``environments`` environments at once: N below.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax import networks, normalisation, spaces
from rillax.agents import senses
from rillax.agents.advantages import (
    Sample,
    generalised_advantage,
    policy_loss,
    td_error,
    value_loss,
)
from rillax.agents.policies import Factored, actions_of, as_input, clip_action, make_policy
from rillax.cells import recall
from rillax.networks import Architecture, Network, split
from rillax.networks.sequences import along, hidden_alone, move, read, where
from rillax.utils import ranges
from rillax.utils.counts import next_until_last

Metrics = dict[str, Float[Array, ""]]


class Memories(NamedTuple):
    """What actor and critic remember."""

    actor: networks.Memories
    critic: networks.Memories


class Parameters(NamedTuple):
    """What is learned."""

    actor: Network
    log_deviation: Float[Array, " actions"] | Factored | None
    """None for discrete actions."""
    critic: Network


class Batch(NamedTuple):
    """A rollout cut into sequences."""

    start: Memories
    """Before the first step of each sequence."""
    sample: Sample
    advantage: Float[Array, "sequences length"]


class PPOState(NamedTuple):
    """All that the agent is, but for the rollout under way. Its size never changes."""

    actor: Network
    log_deviation: Float[Array, " actions"] | Factored | None
    critic: Network
    optimiser: Any
    start: Memories
    """At the beginning of the rollout, with sensitivities."""
    now: Memories
    """Hidden states alone: acting needs no more."""
    fresh: Bool[Array, " N"]
    added: Float[Array, "N added"] | None
    """The last actions and rewards, where they are appended to the next observations."""
    sample: Sample
    """The step under way."""
    entropy: Float[Array, " N"]
    """Of the policies that chose the last actions."""
    bounds: tuple[Array, Array] | None
    """What a continuous action is clipped to, for the environment."""
    observations: normalisation.Running
    rewards: normalisation.RewardScale
    """One discounted return for each environment, one deviation for all."""
    losses: Metrics
    """What the last update measured."""
    key: PRNGKeyArray
    updates: Int[Array, ""]


@dataclass(frozen=True)
class PPO(senses.Inputs):
    """The settings of PPO (defaults: those of Elelimy et al., 2024), and what it does."""

    learns_from: ClassVar[Literal["steps", "rollouts"]] = "rollouts"
    acting_fields: ClassVar[tuple[str, ...]] = (
        *("now", "fresh", "added", "sample", "entropy", "observations", "rewards", "key"),
    )
    """The fields of the state that ``act`` and ``record`` change; they are small."""
    update_fields: ClassVar[tuple[str, ...]] = ("optimiser", "start", "updates")
    """The fields that only ``update`` reads or changes."""

    network: Architecture = Architecture()
    discount: float = 0.99
    trace_decay: float = 0.95
    """lambda of the generalised advantage estimate."""
    environments: int = 1
    """Environments that each seed plays in at once."""
    rollout: int = 2048
    """Steps of each environment between updates."""
    epochs: int = 4
    minibatches: int = 32
    """Parts that an epoch divides the rollout into."""
    sequence_length: int = 1
    """Steps in a row that are differentiated together (BPTT). What came before them enters through
    the stored sensitivity with --gradient rtrl, and not at all with --gradient tbptt."""
    clip: float = 0.2
    value_coefficient: float = 0.5
    value_clip: bool = False
    """Clip the change of a value, too, by --clip."""
    entropy: float = 0.0
    """The weight of the policy's entropy."""
    step_size: float = 1e-4
    """Adam's."""
    anneal_frames: int | None = None
    """Let the step size fall to zero over so many frames."""
    max_gradient_norm: float = 0.5
    """Of actor and critic together."""
    actor_gain: float | None = None
    """Start the actor's output layer orthogonal, with this gain; as the others if not given."""
    critic_gain: float | None = None
    """Start the critic's output layer orthogonal, with this gain; as the others if not given."""
    state_deviation: bool = False
    """Whether the deviation of a continuous action depends on the state: the network puts it out,
    through softplus. Otherwise it is a parameter of its own."""
    normalise_advantages: bool = True
    """Within each minibatch."""

    def __post_init__(self) -> None:
        given: list[tuple[str, Any, Any]] = [
            ("update_every", self.network.update_every, 1),
            ("cell_step", self.network.cell_step, 1.0),
        ]
        given += [
            ("correction", getattr(c, "correction", "none"), "none") for c in self.network.layers
        ]
        for name, value, plain in given:
            if value != plain:
                raise ValueError(
                    f"{name} is for the streaming agents: for ppo it must be {plain!r}, got "
                    f"{value!r}"
                )
        senses.check(self)
        counts = ("environments", "rollout", "epochs", "minibatches", "sequence_length")
        ranges.check(self, **dict.fromkeys((*counts, "anneal_frames"), ranges.COUNT))
        ranges.check(self, trace_decay=ranges.SHARE)
        weights = ("value_coefficient", "entropy", "step_size", "actor_gain", "critic_gain")
        ranges.check(self, **dict.fromkeys(weights, ranges.NOT_NEGATIVE))
        ranges.check(self, clip=ranges.POSITIVE, max_gradient_norm=ranges.POSITIVE)
        if self.rollout % self.sequence_length:
            raise ValueError(
                f"a rollout of {self.rollout} steps does not divide into sequences of "
                f"{self.sequence_length}: make rollout a multiple of sequence_length"
            )
        if self.sequences % self.minibatches:
            raise ValueError(
                f"{self.sequences} sequences (rollout x environments / sequence_length) do not "
                f"divide into {self.minibatches} minibatches: choose another number of minibatches"
            )

    @property
    def sequences(self) -> int:
        """How many a rollout has."""
        return self.rollout * self.environments // self.sequence_length

    @property
    def frames(self) -> int:
        """How many a rollout has, over all environments."""
        return self.rollout * self.environments

    def init(self, key: PRNGKeyArray, observation_space: Any, action_space: Any) -> PPOState:
        key, key_actor, key_critic = jax.random.split(key, 3)
        shape = spaces.observation_shape(observation_space)
        outputs, log_deviation, bounds, action = actions_of(action_space, self.state_deviation)
        added = senses.nothing(action_space, self.previous_action, self.previous_reward)
        inputs = senses.input_shape(shape, added)
        count = senses.size(action_space, self.previous_action, self.previous_reward)
        actor = self.network.build(key_actor, inputs, outputs, self.actor_gain, count)
        critic = self.network.build(key_critic, inputs, 1, self.critic_gain, count)
        learns = Parameters(split(actor)[0], log_deviation, split(critic)[0])
        no, number = jnp.bool_(False), jnp.zeros(())
        sample = Sample(
            *(jnp.zeros(inputs), action, number, number, no, no, number, number, no, no, no)
        )
        start = self._for_each(Memories(actor.initial_memory(), critic.initial_memory()))
        return PPOState(
            actor=actor,
            log_deviation=log_deviation,
            critic=critic,
            optimiser=self._optimiser().init(learns),
            start=start,
            now=_hidden_alone(start),
            fresh=self._for_each(jnp.bool_(True)),
            added=self._for_each(added),
            sample=self._for_each(sample),
            entropy=self._for_each(number),
            bounds=bounds,
            observations=normalisation.start(inputs if self.normalise_previous else shape),
            rewards=normalisation.RewardScale(self._for_each(number), normalisation.start(())),
            losses=dict.fromkeys(("policy_loss", "value_loss", "kl", "clipped"), number),
            key=key,
            updates=jnp.int32(0),
        )

    def _for_each(self, tree: Any) -> Any:
        return jax.tree.map(lambda x: jnp.repeat(x[None], self.environments, axis=0), tree)

    # Playing.

    def act(
        self,
        state: PPOState,
        observation: Array,
        seen: Bool[Array, " N"] | None = None,
        explore: bool = True,
    ) -> tuple[PPOState, Array]:
        """Take in N observations, move the memories, and sample N actions, or take the likeliest.

        Where an observation was not ``seen``, memory stays and the last action is repeated.
        """
        if seen is None:
            seen = jnp.ones(self.environments, bool)
        key, *keys = jax.random.split(state.key, 1 + self.environments)
        encoded = self._encode(state, observation)
        observed, observations = self._observe(state, encoded, seen, state.added)

        def one(key: Any, now: Memories, last: Array, o: Array, fresh: Array, seen: Array) -> Any:
            now = _move(state.actor, state.critic, now, o, fresh, seen)
            out = read(state.actor, now.actor, o)
            policy = make_policy(out, state.log_deviation, self.state_deviation)
            chosen = policy.sample(key) if explore else policy.mode()
            action = jnp.where(seen, chosen, last)
            value = read(state.critic, now.critic, o)[0]
            return now, action, policy.log_probability(action), value, policy.entropy()

        now, action, log_probability, value, entropy = jax.vmap(one)(
            jnp.stack(keys), state.now, state.sample.action, observed, state.fresh, seen
        )
        sample = state.sample._replace(
            observation=observed,
            action=action,
            log_probability=log_probability,
            value=value,
            fresh=state.fresh,
            seen=seen,
        )
        state = state._replace(
            now=now,
            fresh=state.fresh & ~seen,
            sample=sample,
            entropy=entropy,
            observations=observations,
            key=key,
        )
        return state, self._taken(state)

    def record(
        self,
        state: PPOState,
        reward: Float[Array, " N"],
        next_observation: Array,
        terminated: Bool[Array, " N"],
        truncated: Bool[Array, " N"],
        usable: Bool[Array, " N"] | None = None,
    ) -> tuple[PPOState, Sample, Metrics]:
        """What followed the last actions, as samples for the rollout; metrics are sums over N."""
        if usable is None:
            usable = jnp.ones(self.environments, bool)
        usable = usable & state.sample.seen
        done = terminated | truncated
        reward, rewards = self._scale(state.rewards, reward, done, usable)
        added = self._added(state, reward)
        encoded = self._encode(state, next_observation)
        peeked, _ = self._observe(state, encoded, usable, added)

        def peek(now: networks.Memories, o: Array) -> Array:
            return state.critic.peek(o, now)[0]

        sample = state.sample._replace(
            reward=reward,
            next_value=jax.vmap(peek)(state.now.critic, peeked),
            terminated=terminated,
            done=done,
            usable=usable,
        )
        state = state._replace(
            fresh=state.fresh | done,
            added=None if added is None else jax.vmap(senses.at_next)(added, done),
            rewards=rewards,
            sample=sample,
        )
        measured = {
            "td_error": td_error(sample, self.discount),
            "value": sample.value,
            "entropy": state.entropy,
        }
        metrics = {name: jnp.sum(each) for name, each in measured.items()}
        metrics |= {name: self.environments * loss for name, loss in state.losses.items()}
        return state, sample, metrics

    def _encode(self, state: PPOState, observation: Array) -> Array:
        shape = senses.observed_shape(state.observations, state.added, self.normalise_previous)
        return jax.vmap(lambda o: spaces.encode(o, shape))(observation)

    def _taken(self, state: PPOState) -> Array:
        """The last actions as the environments take them."""
        actions = state.sample.action
        if state.bounds is None:
            return actions
        return jax.vmap(clip_action, (0, None))(actions, state.bounds)

    def _added(self, state: PPOState, reward: Array) -> Array | None:
        if state.added is None:
            return None

        def one(added: Array, action: Array, reward: Array) -> Array | None:
            remembered = as_input(action, state.log_deviation)
            return senses.of(added, remembered, reward, self.previous_reward)

        return jax.vmap(one)(state.added, self._taken(state), reward)

    def _observe(
        self,
        state: PPOState,
        observation: Array,
        counts: Bool[Array, " N"],
        added: Array | None,
    ) -> tuple[Array, normalisation.Running]:
        """Observations as networks see them, after all that count have been counted."""
        first, last = (added, None) if self.normalise_previous else (None, added)
        seen, running = _join(observation, first), state.observations
        limits, largest = senses.limits(self), normalisation.LARGEST
        seen = jnp.clip(seen, -largest, largest)
        if not self.normalise_observations:
            return _join(seen, last), running

        def count(running: normalisation.Running, x: tuple[Array, Array]) -> Any:
            return where(x[1], normalisation.update(running, x[0], limits), running), None

        running, _ = jax.lax.scan(count, running, (seen, counts))
        seen = jax.vmap(lambda x: normalisation.normalise(running, x, limits))(seen)
        return _join(seen, last), running

    def _scale(
        self, scale: normalisation.RewardScale, reward: Array, done: Array, usable: Array
    ) -> tuple[Array, normalisation.RewardScale]:
        def one(running: normalisation.Running, x: tuple[Array, ...]) -> Any:
            before, reward, done, usable = x
            scaled, after = normalisation.scale_reward(
                normalisation.RewardScale(before, running),
                reward,
                self.discount,
                done,
                self.normalise_rewards,
                senses.limits(self),
            )
            carried = jnp.where(usable, after.discounted_return, jnp.where(done, 0.0, before))
            return where(usable, after.running, running), (scaled, carried)

        each = (scale.discounted_return, reward, done, usable)
        running, (scaled, returns) = jax.lax.scan(one, scale.running, each)
        return scaled, normalisation.RewardScale(returns, running)

    # Learning.

    def update(self, state: PPOState, rollout: Sample) -> PPOState:
        """Learn from a whole rollout."""
        batch, end = self.batch(state, rollout)
        actor, frozen_actor = split(state.actor)
        critic, frozen_critic = split(state.critic)
        learns = Parameters(actor, state.log_deviation, critic)
        frozen = Parameters(frozen_actor, None, frozen_critic)
        optimiser, step_size = self._optimiser(), self._step_size(state.updates)

        def minibatch(carry: Any, indices: Int[Array, " minibatch"]) -> Any:
            learns, optimiser_state = carry
            gradient, losses = jax.grad(self.loss, has_aux=True)(learns, frozen, batch, indices)
            direction, optimiser_state = optimiser.update(gradient, optimiser_state)
            learns = jax.tree.map(lambda p, d: p - step_size * d, learns, direction)
            return (learns, optimiser_state), losses

        def epoch(carry: Any, key: PRNGKeyArray) -> Any:
            order = jax.random.permutation(key, self.sequences)
            return jax.lax.scan(minibatch, carry, order.reshape(self.minibatches, -1))

        key, key_order = jax.random.split(state.key)
        (learns, optimiser_state), losses = jax.lax.scan(
            epoch, (learns, state.optimiser), jax.random.split(key_order, self.epochs)
        )
        return state._replace(
            actor=eqx.combine(learns.actor, frozen_actor),
            log_deviation=learns.log_deviation,
            critic=eqx.combine(learns.critic, frozen_critic),
            optimiser=optimiser_state,
            start=end,
            now=_hidden_alone(end),
            losses=jax.tree.map(jnp.mean, losses),
            key=key,
            updates=next_until_last(state.updates),
        )

    def batch(self, state: PPOState, rollout: Sample) -> tuple[Batch, Memories]:
        """The rollout as sequences, and the memories at its end."""
        start, end = self.play_back(state, rollout)
        advantage = generalised_advantage(rollout, self.discount, self.trace_decay)
        parts, length = self.rollout // self.sequence_length, self.sequence_length

        def sequences(x: Array) -> Array:
            """(steps, N, ...) -> (sequences, length, ...)."""
            cut = x.reshape(parts, length, *x.shape[1:])
            return jnp.moveaxis(cut, 1, 2).reshape(self.sequences, length, *x.shape[2:])

        start = jax.tree.map(lambda x: x.reshape(self.sequences, *x.shape[2:]), start)
        return Batch(start, *jax.tree.map(sequences, (rollout, advantage))), end

    def play_back(self, state: PPOState, rollout: Sample) -> tuple[Memories, Memories]:
        """The memories before each sequence, (rollout / sequence_length, N, ...), and the last."""
        move = jax.vmap(_move, (None, None, 0, 0, 0, 0))

        def step(memories: Memories, x: tuple[Array, ...]) -> tuple[Memories, None]:
            return move(state.actor, state.critic, memories, *x), None

        def sequence(memories: Memories, x: tuple[Array, ...]) -> tuple[Memories, Memories]:
            return jax.lax.scan(step, memories, x)[0], memories

        inputs = jax.tree.map(
            lambda x: x.reshape(-1, self.sequence_length, *x.shape[1:]),
            (rollout.observation, rollout.fresh, rollout.seen),
        )
        end, starts = jax.lax.scan(sequence, state.start, inputs)
        return starts, end

    def loss(
        self,
        learns: Parameters,
        frozen: Parameters,
        batch: Batch,
        indices: Int[Array, " minibatch"],
    ) -> tuple[Array, Metrics]:
        """The loss over some of the sequences, and what it is made of."""
        sample, raw_advantage = jax.tree.map(lambda x: x[indices], (batch.sample, batch.advantage))
        weight = sample.usable.astype(raw_advantage.dtype)

        def mean(x: Array) -> Array:
            return jnp.sum(weight * x) / jnp.maximum(jnp.sum(weight), 1)

        def outputs(network: Network, start: networks.Memories) -> Array:
            layers = zip(network.layers, start, strict=True)
            hidden = tuple(recall(cell, memories, indices) for cell, memories in layers)
            inputs = (sample.observation, sample.fresh, sample.seen)
            return jax.vmap(along, (None, 0, 0, 0, 0))(network, hidden, *inputs)

        def judge(out: Array, action: Array) -> tuple[Array, Array]:
            policy = make_policy(out, learns.log_deviation, self.state_deviation)
            return policy.log_probability(action), policy.entropy()

        out = outputs(eqx.combine(learns.actor, frozen.actor), batch.start.actor)
        log_probability, entropy = jax.vmap(jax.vmap(judge))(out, sample.action)
        value = outputs(eqx.combine(learns.critic, frozen.critic), batch.start.critic)[..., 0]

        advantage = raw_advantage
        if self.normalise_advantages:
            centred = advantage - mean(advantage)
            advantage = centred / (jnp.sqrt(mean(jnp.square(centred))) + normalisation.EPSILON)
        log_ratio = log_probability - sample.log_probability
        ratio = jnp.exp(log_ratio)
        losses = {
            "policy_loss": mean(policy_loss(ratio, advantage, self.clip)),
            "value_loss": mean(
                value_loss(
                    value,
                    sample.value + raw_advantage,
                    sample.value,
                    self.clip if self.value_clip else None,
                )
            ),
            "kl": mean(ratio - 1 - log_ratio),
            "clipped": mean((jnp.abs(ratio - 1) > self.clip).astype(ratio.dtype)),
        }
        total = losses["policy_loss"] + self.value_coefficient * losses["value_loss"]
        return total - self.entropy * mean(entropy), losses

    def _optimiser(self) -> optax.GradientTransformation:
        adam = optax.scale_by_adam(eps=1e-5)
        return optax.flatten(optax.chain(optax.clip_by_global_norm(self.max_gradient_norm), adam))

    def _step_size(self, updates: Int[Array, ""]) -> Float[Array, ""] | float:
        if self.anneal_frames is None:
            return self.step_size
        return self.step_size * jnp.maximum(0.0, 1 - updates * (self.frames / self.anneal_frames))


def _move(
    actor: Network, critic: Network, memories: Memories, o: Array, fresh: Array, seen: Array
) -> Memories:
    """Both memories after one more observation."""
    return Memories(
        move(actor, memories.actor, o, fresh, seen), move(critic, memories.critic, o, fresh, seen)
    )


def _join(seen: Float[Array, "N ..."], added: Array | None) -> Float[Array, "N ..."]:
    return seen if added is None else jax.vmap(senses.join)(seen, added)


def _hidden_alone(memories: Memories) -> Memories:
    return Memories(*map(hidden_alone, memories))
