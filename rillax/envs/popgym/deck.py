"""Cards dealt from a shuffled deck, shuffled only as far as a game has looked.

Drawing each next card uniformly from those left has the same law as shuffling them all at the
start, without the sort. Every step prepares a fresh reset as well, so a reset has to be as cheap
as a step. Only one field of a card matters to a game (its *kind*), so a deck is how many cards of
each kind are left in it.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

CARDS = 52
KINDS = {"colors": 2, "suits": 4, "ranks": 13}
"""The fields of a card, by the reference's names, and how many values each takes."""


def full(num_cards: int, kinds: int) -> Int[Array, " kinds"]:
    """A deck from which nothing has been dealt: every kind is equally common."""
    return jnp.full(kinds, num_cards // kinds, jnp.int32)


def deal(
    key: PRNGKeyArray, left: Int[Array, " kinds"]
) -> tuple[Int[Array, ""], Int[Array, " kinds"]]:
    """The kind of the next card, and what is left after it. From an empty deck nothing is dealt."""
    # Reducing 32 random bits modulo at most 832 cards is off by under 2e-7, relatively.
    total = jnp.maximum(left.sum(), 1).astype(jnp.uint32)
    pick = (jax.random.bits(key) % total).astype(jnp.int32)
    kind = (jnp.cumsum(left) <= pick).sum(dtype=jnp.int32)
    return kind, left - (jnp.arange(left.size) == kind)


def kinds_of(deck_type: str) -> int:
    """How many kinds of card there are, by the field that tells them apart."""
    if deck_type not in KINDS:
        raise ValueError(f"unknown deck_type {deck_type!r}; choose from: {', '.join(KINDS)}")
    return KINDS[deck_type]


def cards_in(num_decks: int) -> int:
    if num_decks < 1:
        raise ValueError(f"a game needs at least one deck, got num_decks={num_decks}")
    return CARDS * num_decks
