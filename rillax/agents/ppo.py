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
from rillax.agents.policies import clip_action, make_policy
from rillax.cells import recall
from rillax.networks import Architecture, Network, hiddens, split

Metrics = dict[str, Float[Array, ""]]


class Sample(NamedTuple):
    """One step in one environment. A rollout holds them with leading axes (steps, N)."""

    observation: Float[Array, "..."]
    """o_t as the networks saw it."""
    action: Array
    """a_t as it was sampled, before any clipping."""
    log_probability: Float[Array, ""]
    value: Float[Array, ""]
    fresh: Bool[Array, ""]
    """An episode begins: memory is blank before o_t."""
    seen: Bool[Array, ""]
    """Whether o_t entered memory; one that is not finite does not."""
    reward: Float[Array, ""]
    """r_t after scaling."""
    next_value: Float[Array, ""]
    """v(o_{t+1}) by a peek, so that the last observation of an episode has a value too."""
    terminated: Bool[Array, ""]
    done: Bool[Array, ""]
    usable: Bool[Array, ""]
    """Whether the transition is to be learned from."""


class Memories(NamedTuple):
    """What actor and critic remember."""

    actor: networks.Memories
    critic: networks.Memories


class Parameters(NamedTuple):
    """What is learned."""

    actor: Network
    log_deviation: Float[Array, " actions"] | None
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
    log_deviation: Float[Array, " actions"] | None
    critic: Network
    optimiser: Any
    start: Memories
    """At the beginning of the rollout, with sensitivities."""
    now: Memories
    """Hidden states alone: acting needs no more."""
    fresh: Bool[Array, " N"]
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
class PPO:
    """The settings of PPO (defaults: those of Elelimy et al., 2024), and what it does."""

    learns_from: ClassVar[Literal["steps", "rollouts"]] = "rollouts"
    acting_fields: ClassVar[tuple[str, ...]] = (
        *("now", "fresh", "sample", "entropy", "observations", "rewards", "key"),
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
    normalise_observations: bool = True
    normalise_rewards: bool = True
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
        for name in ("environments", "rollout", "epochs", "minibatches", "sequence_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.anneal_frames is not None and self.anneal_frames < 1:
            raise ValueError(f"anneal_frames must be at least 1, got {self.anneal_frames}")
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
        if spaces.is_discrete(action_space):
            outputs, log_deviation, bounds = spaces.action_count(action_space), None, None
            action: Array = jnp.int32(0)
        else:
            bounds = spaces.action_bounds(action_space)
            outputs, log_deviation = bounds[0].size, jnp.zeros(bounds[0].size)
            action = jnp.zeros(outputs)
        actor = self.network.build(key_actor, shape, outputs)
        critic = self.network.build(key_critic, shape, 1)
        learns = Parameters(split(actor)[0], log_deviation, split(critic)[0])
        no, number = jnp.bool_(False), jnp.zeros(())
        sample = Sample(
            *(jnp.zeros(shape), action, number, number, no, no, number, number, no, no, no)
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
            sample=self._for_each(sample),
            entropy=self._for_each(number),
            bounds=bounds,
            observations=normalisation.start(shape),
            rewards=normalisation.RewardScale(self._for_each(number), normalisation.start(())),
            losses=dict.fromkeys(("policy_loss", "value_loss", "kl", "clipped"), number),
            key=key,
            updates=jnp.int32(0),
        )

    def _for_each(self, tree: Any) -> Any:
        return jax.tree.map(lambda x: jnp.repeat(x[None], self.environments, axis=0), tree)

    # Playing.

    def act(
        self, state: PPOState, observation: Array, seen: Bool[Array, " N"] | None = None
    ) -> tuple[PPOState, Array]:
        """Take in N observations, move the memories, and sample N actions.

        Where an observation was not ``seen``, memory stays and the last action is repeated.
        """
        if seen is None:
            seen = jnp.ones(self.environments, bool)
        key, *keys = jax.random.split(state.key, 1 + self.environments)
        encoded = self._encode(state, observation)
        observed, observations = self._observe(state, encoded, seen)

        def one(key: Any, now: Memories, last: Array, o: Array, fresh: Array, seen: Array) -> Any:
            now = _move(state.actor, state.critic, now, o, fresh, seen)
            policy = make_policy(_read(state.actor, now.actor), state.log_deviation)
            action = jnp.where(seen, policy.sample(key), last)
            value = _read(state.critic, now.critic)[0]
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
        if state.bounds is None:
            return state, action
        return state, jax.vmap(clip_action, (0, None))(action, state.bounds)

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
        peeked, _ = self._observe(state, self._encode(state, next_observation), usable)

        def peek(now: networks.Memories, o: Array) -> Array:
            return state.critic.peek(o, now)[0]

        sample = state.sample._replace(
            reward=reward,
            next_value=jax.vmap(peek)(state.now.critic, peeked),
            terminated=terminated,
            done=done,
            usable=usable,
        )
        state = state._replace(fresh=state.fresh | done, rewards=rewards, sample=sample)
        measured = {
            "td_error": td_error(sample, self.discount),
            "value": sample.value,
            "entropy": state.entropy,
        }
        metrics = {name: jnp.sum(each) for name, each in measured.items()}
        metrics |= {name: self.environments * loss for name, loss in state.losses.items()}
        return state, sample, metrics

    def _encode(self, state: PPOState, observation: Array) -> Array:
        shape = state.sample.observation.shape[1:]
        return jax.vmap(lambda o: spaces.encode(o, shape))(observation)

    def _observe(
        self, state: PPOState, observation: Array, counts: Bool[Array, " N"]
    ) -> tuple[Array, normalisation.Running]:
        """Observations as networks see them, after all that count have been counted."""
        running = state.observations
        if not self.normalise_observations:
            return observation, running

        def count(running: normalisation.Running, x: tuple[Array, Array]) -> Any:
            return _where(x[1], normalisation.update(running, x[0]), running), None

        running, _ = jax.lax.scan(count, running, (observation, counts))
        return jax.vmap(normalisation.normalise, (None, 0))(running, observation), running

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
            )
            carried = jnp.where(usable, after.discounted_return, jnp.where(done, 0.0, before))
            return _where(usable, after.running, running), (scaled, carried)

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
            updates=state.updates + 1,
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
            policy = make_policy(out, learns.log_deviation)
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


def td_error(sample: Sample, discount: float) -> Float[Array, "..."]:
    """Delta; a time limit is no termination, and still bootstraps."""
    return sample.reward + discount * ~sample.terminated * sample.next_value - sample.value


def generalised_advantage(
    rollout: Sample, discount: float, decay: float
) -> Float[Array, "steps N"]:
    """GAE(lambda) (Schulman et al., 2016): the sum is cut wherever an episode ends.

    It is cut as well where a transition is not usable, whose own advantage is zero.
    """
    carries = discount * decay * ~rollout.done

    def back(later: Array, x: tuple[Array, ...]) -> tuple[Array, Array]:
        delta, carry, usable = x
        advantage = jnp.where(usable, delta + carry * later, 0.0)
        return advantage, advantage

    delta = td_error(rollout, discount)
    xs = (delta, carries, rollout.usable)
    return jax.lax.scan(back, jnp.zeros_like(delta[0]), xs, reverse=True)[1]


def policy_loss(ratio: Array, advantage: Array, clip: float) -> Float[Array, "..."]:
    """The clipped surrogate (Schulman et al., 2017, equation 7), to be made small."""
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)


def value_loss(value: Array, target: Array, old: Array, clip: float | None) -> Float[Array, "..."]:
    """Half the squared error, or the larger of it and that of a value kept close to the old one."""
    error = jnp.square(value - target)
    if clip is not None:
        near = old + jnp.clip(value - old, -clip, clip)
        error = jnp.maximum(error, jnp.square(near - target))
    return error / 2


def along(
    network: Network,
    hidden: Any,
    observation: Float[Array, "length ..."],
    fresh: Bool[Array, " length"],
    seen: Bool[Array, " length"],
) -> Float[Array, "length outputs"]:
    """What a network puts out along a sequence before which its states were ``hidden``."""

    def step(hidden: Any, inputs: tuple[Array, Array, Array]) -> Any:
        x, fresh, seen = inputs
        after = []
        for cell, state in zip(network.layers, hidden, strict=True):
            before = _where(fresh, cell.initial_hidden(), state)
            after.append(_where(seen, cell.step(before, x), before))
            x = cell.read(after[-1])
        return tuple(after), tuple(after)

    inputs = (jax.vmap(network.encoder)(observation), fresh, seen)
    _, hidden = jax.lax.scan(step, hidden, inputs)
    return jax.vmap(network.output)(hidden)


def _move(
    actor: Network, critic: Network, memories: Memories, o: Array, fresh: Array, seen: Array
) -> Memories:
    """Both memories after one more observation, with or without sensitivities."""

    def one(network: Network, memory: networks.Memories) -> networks.Memories:
        before = _blank_if(fresh, network, memory)
        return _where(seen, network.advance(before, o), before)

    return Memories(one(actor, memories.actor), one(critic, memories.critic))


def _blank_if(
    fresh: Bool[Array, ""], network: Network, memory: networks.Memories
) -> networks.Memories:
    blank = tuple(
        new if old.sensitivity is not None else new._replace(sensitivity=None)
        for new, old in zip(network.initial_memory(), memory, strict=True)
    )
    return _where(fresh, blank, memory)


def _read(network: Network, memory: networks.Memories) -> Float[Array, " outputs"]:
    return network.output(hiddens(memory))


def _hidden_alone(memories: Memories) -> Memories:
    def alone(layers: networks.Memories) -> networks.Memories:
        return tuple(memory._replace(sensitivity=None) for memory in layers)

    return Memories(alone(memories.actor), alone(memories.critic))


def _where(condition: Bool[Array, ""], yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda y, n: jnp.where(condition, y, n), yes, no)
