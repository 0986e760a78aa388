"""Who acts: of several policies on one stream, the one that earns most, found out by trying.

A policy acts for a bout, usually an episode, and what it earns there is counted. The mean of its
last bouts is a guess of what its next would bring, and the fewer of them count, the wider is the
guess: the policy with the largest draw from these guesses acts next (Thompson, 1933). A bout counts
less with every later one, whoever acted in that (Raj and Kalyani, 2017): policies learn, and one
that was behind is asked again in time. The longer the same policy has led, the later: bouts are
forgotten over a tenth of its reign, so that a question whose answer does not change is asked more
and more seldom. Policies that are equally good take turns, one that is far behind is seldom asked,
and nothing of it is a schedule.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

FEWEST = 1e-6
"""What counts for less has been forgotten."""
PATIENCE = 0.1
"""The share of a reign over which bouts are forgotten."""
LONGEST_REIGN = 10_000
"""A longer one counts as this: after so many bouts the others are asked no more seldom."""


class Earnings(NamedTuple):
    """What each of n policies earned in its last bouts. Its size never changes."""

    bouts: Float[Array, " n"]
    """How many bouts of each are remembered, the older the less."""
    mean: Float[Array, " n"]
    spread: Float[Array, " n"]
    """The variance of what was earned."""
    leader: Int[Array, ""]
    """Who has earned most lately."""
    reign: Int[Array, ""]
    """For how many bouts it has."""


def no_earnings(policies: int) -> Earnings:
    bouts, mean, spread = (jnp.zeros(policies) for _ in range(3))
    return Earnings(bouts, mean, spread, leader=jnp.int32(0), reign=jnp.int32(0))


def count(
    earnings: Earnings, who: Int[Array, ""], earned: Float[Array, ""], window: int
) -> Earnings:
    """With one more bout of a policy; a mean is over about the last ``window`` of its own."""
    mine = jnp.arange(earnings.mean.size) == who
    memory = jnp.maximum(PATIENCE * earnings.reign, window)
    bouts = (1 - 1 / memory) * earnings.bouts + mine
    share = jnp.where(mine, 1 / jnp.clip(bouts, FEWEST, window), 0)
    away = earned - earnings.mean
    mean = earnings.mean + share * away
    leader = jnp.argmax(mean).astype(jnp.int32)
    reign = jnp.minimum(earnings.reign + 1, LONGEST_REIGN)
    return Earnings(
        bouts=bouts,
        mean=mean,
        spread=(1 - share) * (earnings.spread + share * jnp.square(away)),
        leader=leader,
        reign=jnp.where(leader == earnings.leader, reign, 0),
    )


def choose(key: PRNGKeyArray, earnings: Earnings, window: int) -> Int[Array, ""]:
    """Who acts next: one that has not acted yet, or else the largest draw."""
    bouts, mean, spread, *_ = earnings
    weights = bouts / jnp.maximum(jnp.sum(bouts), FEWEST)
    # Of all bouts together: one or two of a policy would say nothing of their spread.
    overall = jnp.sum(weights * (spread + jnp.square(mean - jnp.sum(weights * mean))))
    error = jnp.sqrt(overall / jnp.clip(bouts, FEWEST, window))
    drawn = mean + error * jax.random.normal(key, mean.shape)
    return jnp.argmax(jnp.where(bouts > 0, drawn, jnp.inf)).astype(jnp.int32)
