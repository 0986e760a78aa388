"""Running normalisation of observations and rewards (Elsayed et al., 2024), sample by sample.

It is made for streams that never end. In single precision a mean of many samples would stop moving,
because what one more sample adds rounds away; so mean and variance carry a second, low-order word.
The number of samples has two words as well. And no single sample, however loud, can spoil them.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from rillax.utils.counts import Count, add, as_float, nothing, one_more

EPSILON = 1e-8
LARGEST = 1e15
"""No reading counts for more than this. Its square has room in single precision."""


class Limits(NamedTuple):
    """How far a sample reaches: by default as far as it likes, and for ever."""

    bound: float | None = None
    """Largest normalised value. In the statistics, too, a sample counts for no more deviations."""
    window: int | None = None
    """About how many samples the statistics remember; None: all."""


NO_LIMITS = Limits()


class Running(NamedTuple):
    """Mean and (population) variance of all samples so far, by Welford's recursion.

    The variance itself is carried rather than the sum of squares, so that nothing grows with time.
    """

    samples: Count
    mean: Float[Array, "..."]
    mean_low: Float[Array, "..."]
    """What the mean is more than ``mean``: too little for a single word to hold."""
    variance: Float[Array, "..."]
    variance_low: Float[Array, "..."]


def start(shape: tuple[int, ...]) -> Running:
    return Running(
        nothing(),
        *(jnp.zeros(shape), jnp.zeros(shape)),
        *(jnp.zeros(shape), jnp.zeros(shape)),
    )


def update(running: Running, x: Float[Array, "..."], limits: Limits = NO_LIMITS) -> Running:
    """The statistics after one more sample."""
    samples = one_more(running.samples)
    n = as_float(samples)
    weight = 1 / (n if limits.window is None else jnp.minimum(n, limits.window))
    most = _loud(running, limits)
    before = jnp.clip((x - running.mean) - running.mean_low, -most, most)
    moved = before * weight
    mean, mean_low = add(running.mean, running.mean_low, moved)
    change = (before * (before - moved) - running.variance) * weight
    variance, variance_low = add(running.variance, running.variance_low, change)
    return Running(samples, mean, mean_low, variance, variance_low)


def _loud(running: Running, limits: Limits) -> Float[Array, "..."] | float:
    """The largest distance from the mean that a sample counts for.

    It is ``bound`` deviations. Until the deviation is known, a sample's weight is given to a guess
    of it from the mean. A distance of 1 is never too loud: a feature may be 0 for very long.
    """
    if limits.bound is None:
        return LARGEST
    guess = (1 + jnp.square(running.mean)) / as_float(running.samples)
    most = limits.bound * jnp.sqrt(jnp.maximum(running.variance, 0) + guess)
    return jnp.clip(most, 1.0, LARGEST)


def deviation(running: Running) -> Float[Array, "..."]:
    """The sample standard deviation; 1 until there are two samples."""
    n = as_float(running.samples)
    unbiased = jnp.maximum(running.variance, 0) * n / jnp.maximum(n - 1, 1)
    return jnp.sqrt(jnp.where(n < 2, 1.0, unbiased) + EPSILON)


def normalise(
    running: Running, x: Float[Array, "..."], limits: Limits = NO_LIMITS
) -> Float[Array, "..."]:
    """X in units of what was seen so far; unchanged until there are two samples.

    (Less its own mean, the very first observation would be zero everywhere, where the derivative of
    LayerNorm is at its largest.)
    """
    few = as_float(running.samples) < 2
    return _bounded((x - jnp.where(few, 0.0, running.mean)) / deviation(running), limits)


def _bounded(x: Array, limits: Limits) -> Array:
    return x if limits.bound is None else jnp.clip(x, -limits.bound, limits.bound)


def observe(
    running: Running,
    x: Float[Array, "..."],
    enabled: bool = True,
    limits: Limits = NO_LIMITS,
) -> tuple[Float[Array, "..."], Running]:
    """An observation as a network sees it, and the statistics that have counted it."""
    x = jnp.clip(x, -LARGEST, LARGEST)
    if not enabled:
        return x, running
    running = update(running, x, limits)
    return normalise(running, x, limits), running


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
    limits: Limits = NO_LIMITS,
) -> tuple[Float[Array, ""], RewardScale]:
    """The reward over the deviation of the discounted return; no mean is taken off."""
    reward = jnp.clip(reward, -LARGEST, LARGEST)
    if not enabled:
        return reward, scale
    most = _loud(scale.running, limits)
    discounted_return = discount * scale.discounted_return + jnp.clip(reward, -most, most)
    running = update(scale.running, discounted_return, limits)
    carried = jnp.where(done, 0.0, discounted_return)
    return _bounded(reward / deviation(running), limits), RewardScale(carried, running)
