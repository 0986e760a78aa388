"""Who acts: of several policies on one stream, the one that earns most, found out by trying.

A policy acts for a bout, usually an episode, and what it earns there is counted. The mean of its
last bouts is a guess of what its next would bring, and the fewer of them count, the wider is the
guess: the policy with the largest draw from these guesses acts next (Thompson, 1933). A bout counts
less with every later one, whoever acted in that (Raj and Kalyani, 2017): policies learn, and one
that was behind is asked again in time. Policies that are equally good take turns, one that is far
behind is seldom asked, and nothing of it is a schedule.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

FEWEST = 1e-6
"""What counts for less has been forgotten."""


class Earnings(NamedTuple):
    """What each of n policies earned in its last bouts. Its size never changes."""

    bouts: Float[Array, " n"]
    """How many bouts of each count, the older the less; over all at most the window."""
    mean: Float[Array, " n"]
    spread: Float[Array, " n"]
    """The variance of what was earned."""


def no_earnings(policies: int) -> Earnings:
    return Earnings(*(jnp.zeros(policies) for _ in range(3)))


def count(
    earnings: Earnings, who: Int[Array, ""], earned: Float[Array, ""], window: int
) -> Earnings:
    """With one more bout of a policy; about ``window`` of the last ones count."""
    mine = jnp.arange(earnings.mean.size) == who
    bouts = (1 - 1 / window) * earnings.bouts + mine
    share = jnp.where(mine, 1 / jnp.maximum(bouts, FEWEST), 0)
    away = earned - earnings.mean
    return Earnings(
        bouts=bouts,
        mean=earnings.mean + share * away,
        spread=(1 - share) * (earnings.spread + share * jnp.square(away)),
    )


def choose(key: PRNGKeyArray, earnings: Earnings) -> Int[Array, ""]:
    """Who acts next: one that has not acted yet, or else the largest draw."""
    bouts, mean, spread = earnings
    weights = bouts / jnp.maximum(jnp.sum(bouts), FEWEST)
    # Of all bouts together: one or two of a policy would say nothing of their spread.
    overall = jnp.sum(weights * (spread + jnp.square(mean - jnp.sum(weights * mean))))
    error = jnp.sqrt(overall / jnp.maximum(bouts, FEWEST))
    drawn = mean + error * jax.random.normal(key, mean.shape)
    return jnp.argmax(jnp.where(bouts > 0, drawn, jnp.inf)).astype(jnp.int32)
