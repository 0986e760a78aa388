"""Samples of a rollout, their advantages, and the losses of PPO, as functions of numbers alone."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


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
