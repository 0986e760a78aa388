"""Running normalisation of observations and rewards (Elsayed et al., 2024), sample by sample."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

EPSILON = 1e-8


class Running(NamedTuple):
    """Mean and (population) variance of all samples so far, by Welford's recursion.

    The variance itself is carried rather than the sum of squares, so that nothing grows with time.
    """

    samples: Int[Array, ""]
    mean: Float[Array, "..."]
    variance: Float[Array, "..."]


def start(shape: tuple[int, ...]) -> Running:
    return Running(jnp.int32(0), jnp.zeros(shape), jnp.zeros(shape))


def update(running: Running, x: Float[Array, "..."]) -> Running:
    n = running.samples + 1
    before = x - running.mean
    mean = running.mean + before / n
    variance = running.variance + (before * (x - mean) - running.variance) / n
    return Running(n, mean, variance)


def deviation(running: Running) -> Float[Array, "..."]:
    """The sample standard deviation; 1 until there are two samples."""
    n = running.samples
    unbiased = running.variance * n / jnp.maximum(n - 1, 1)
    return jnp.sqrt(jnp.where(n < 2, 1.0, unbiased) + EPSILON)


def normalise(running: Running, x: Float[Array, "..."]) -> Float[Array, "..."]:
    """X in units of what was seen so far; unchanged until there are two samples.

    (Less its own mean, the very first observation would be zero everywhere, where the derivative of
    LayerNorm is at its largest.)
    """
    return (x - jnp.where(running.samples < 2, 0.0, running.mean)) / deviation(running)


def observe(
    running: Running, x: Float[Array, "..."], enabled: bool = True
) -> tuple[Float[Array, "..."], Running]:
    """An observation as a network sees it, and the statistics that have counted it."""
    if not enabled:
        return x, running
    running = update(running, x)
    return normalise(running, x), running


class RewardScale(NamedTuple):
    """What reward scaling remembers: the discounted return of this episode, and its statistics."""

    discounted_return: Float[Array, ""]
    running: Running


def start_reward_scale() -> RewardScale:
    return RewardScale(jnp.zeros(()), start(()))


def scale_reward(
    scale: RewardScale,
    reward: Float[Array, ""],
    discount: float,
    done: Array,
    enabled: bool = True,
) -> tuple[Float[Array, ""], RewardScale]:
    """The reward over the deviation of the discounted return; no mean is taken off."""
    if not enabled:
        return reward, scale
    discounted_return = discount * scale.discounted_return + reward
    running = update(scale.running, discounted_return)
    carried = jnp.where(done, 0.0, discounted_return)
    return reward / deviation(running), RewardScale(carried, running)
