"""Policies: a distribution over actions, made of what an actor's network puts out."""

import itertools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax import spaces
from rillax.networks import pick

LEAST_DEVIATION = 1e-3
"""Of a Gaussian whose network puts it out: without it, a policy that is certain is not finite."""


class Softmax(NamedTuple):
    """A policy over discrete actions."""

    logits: Float[Array, " actions"]

    def sample(self, key: PRNGKeyArray) -> Int[Array, ""]:
        return jax.random.categorical(key, self.logits).astype(jnp.int32)

    def mode(self) -> Int[Array, ""]:
        """The likeliest action."""
        return jnp.argmax(self.logits).astype(jnp.int32)

    def log_probability(self, action: Int[Array, ""]) -> Float[Array, ""]:
        return pick(jax.nn.log_softmax(self.logits), action)

    def entropy(self) -> Float[Array, ""]:
        log_p = jax.nn.log_softmax(self.logits)
        return -jnp.sum(jnp.exp(log_p) * log_p)


class Gaussian(NamedTuple):
    """A policy over vectors."""

    mean: Float[Array, " actions"]
    log_deviation: Float[Array, " actions"]

    def sample(self, key: PRNGKeyArray) -> Float[Array, " actions"]:
        noise = jax.random.normal(key, self.mean.shape, self.mean.dtype)
        return self.mean + jnp.exp(self.log_deviation) * noise

    def mode(self) -> Float[Array, " actions"]:
        """The likeliest action."""
        return self.mean

    def log_probability(self, action: Float[Array, " actions"]) -> Float[Array, ""]:
        standard = (action - self.mean) * jnp.exp(-self.log_deviation)
        return jnp.sum(-0.5 * jnp.square(standard) - self.log_deviation - 0.5 * jnp.log(2 * jnp.pi))

    def entropy(self) -> Float[Array, ""]:
        return jnp.sum(self.log_deviation + 0.5 * jnp.log(2 * jnp.pi * jnp.e))


class Joint(NamedTuple):
    """A policy over structured actions: some choices and a vector, each independent of the others.

    An action is one vector, the choices first.
    """

    choices: tuple[Softmax, ...]
    box: Gaussian | None

    def sample(self, key: PRNGKeyArray) -> Float[Array, " numbers"]:
        keys = jax.random.split(key, 1 + len(self.choices))
        chosen = [part.sample(k) for part, k in zip(self.choices, keys[1:], strict=True)]
        return _joined(chosen, None if self.box is None else self.box.sample(keys[0]))

    def mode(self) -> Float[Array, " numbers"]:
        """The likeliest action."""
        chosen = [part.mode() for part in self.choices]
        return _joined(chosen, None if self.box is None else self.box.mode())

    def log_probability(self, action: Float[Array, " numbers"]) -> Float[Array, ""]:
        each = [part.log_probability(a) for part, a in zip(self.choices, action, strict=False)]
        if self.box is not None:
            each.append(self.box.log_probability(action[len(self.choices) :]))
        return sum(each[1:], each[0])

    def entropy(self) -> Float[Array, ""]:
        each = [part.entropy() for part in (*self.choices, self.box) if part is not None]
        return sum(each[1:], each[0])


def _joined(choices: list[Array], numbers: Array | None) -> Float[Array, " numbers"]:
    parts = [choice.reshape(1).astype(float) for choice in choices]
    return jnp.concatenate(parts if numbers is None else [*parts, numbers])


Policy = Softmax | Gaussian | Joint


class Factored(eqx.Module):
    """In the place of a log-deviation where actions are structured: it says how, too."""

    log_deviation: Float[Array, " numbers"] | None
    sizes: tuple[int, ...] = eqx.field(static=True)
    """Of the choices."""


class Actions(NamedTuple):
    """What an actor needs to know of the actions it may take."""

    outputs: int
    """Of its network."""
    log_deviation: Float[Array, " actions"] | Factored | None
    """A parameter; None for discrete actions, and where the network puts it out."""
    bounds: tuple[Array, Array] | None
    """What a continuous action is clipped to, for the environment."""
    first: Array
    """An action before there has been any."""


def actions_of(space: Any, state_deviation: bool = False) -> Actions:
    """With ``state_deviation`` the network puts out a deviation beside each mean."""
    if spaces.is_structured(space):
        return _structured_actions(space, state_deviation)
    if spaces.is_discrete(space):
        if state_deviation:
            raise ValueError(f"state_deviation is for continuous actions, got {space}")
        return Actions(spaces.action_count(space), None, None, jnp.int32(0))
    bounds = spaces.action_bounds(space)
    size = bounds[0].size
    if state_deviation:
        return Actions(2 * size, None, bounds, jnp.zeros(size))
    return Actions(size, jnp.zeros(size), bounds, jnp.zeros(size))


def _structured_actions(space: Any, state_deviation: bool) -> Actions:
    """A head for each choice, and one for all numbers; the outputs of the choices come first."""
    parts = spaces.factors(space)
    numbers = parts.low.size
    if state_deviation and not numbers:
        raise ValueError(f"state_deviation is for continuous actions, got {space}")
    deviation = jnp.zeros(numbers) if numbers and not state_deviation else None
    most = np.array([size - 1 for size in parts.sizes], np.float32)
    low = jnp.concatenate([jnp.zeros(most.size), jnp.asarray(parts.low, float)])
    high = jnp.concatenate([jnp.asarray(most, float), jnp.asarray(parts.high, float)])
    outputs = sum(parts.sizes) + numbers * (2 if state_deviation else 1)
    return Actions(outputs, Factored(deviation, parts.sizes), (low, high), jnp.zeros(low.size))


def as_input(action: Array, log_deviation: Any) -> Array:
    """An action as the networks take it in: the choices of a structured one are one-hot."""
    if not isinstance(log_deviation, Factored):
        return action
    count = len(log_deviation.sizes)
    choices = zip(action[:count], log_deviation.sizes, strict=True)
    chosen = [jax.nn.one_hot(a.astype(jnp.int32), size) for a, size in choices]
    return jnp.concatenate([*chosen, action[count:]])


def make_policy(
    out: Float[Array, " outputs"],
    log_deviation: Array | Factored | None,
    state_deviation: bool = False,
    least_deviation: float = LEAST_DEVIATION,
) -> Policy:
    """Discrete actions have no deviation; of others it is a parameter or half of the outputs.

    The half of the outputs is at least ``least_deviation``.
    """
    if isinstance(log_deviation, Factored):
        ends = list(itertools.accumulate(log_deviation.sizes))
        *choices, rest = jnp.split(out, ends)
        softmaxes = tuple(Softmax(logits) for logits in choices)
        if rest.size == 0:
            return Joint(softmaxes, None)
        box = make_policy(rest, log_deviation.log_deviation, state_deviation, least_deviation)
        assert isinstance(box, Gaussian)
        return Joint(softmaxes, box)
    if state_deviation:
        mean, raw = jnp.split(out, 2)
        return Gaussian(mean, jnp.log(jax.nn.softplus(raw) + least_deviation))
    return Softmax(out) if log_deviation is None else Gaussian(out, log_deviation)


def clip_action(action: Float[Array, " actions"], bounds: tuple[Array, Array]) -> Array:
    """A sample as the environment takes it: in its shape and within its bounds."""
    low, high = bounds
    return jnp.clip(action.reshape(low.shape), low, high)
