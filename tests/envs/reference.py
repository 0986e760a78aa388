"""The ``popgym`` package, put into the hidden state that one of our episodes had, and played."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import popgym.envs

from .rollouts import Batch


class Transcript(NamedTuple):
    """The reference's side of an episode; ``seen`` begins with the reset's."""

    seen: list
    rewards: list
    terminated: list
    truncated: list


def make_reference(name: str) -> Any:
    return getattr(popgym.envs, name)()


def replay(reference: Any, batch: Batch, i: int) -> Transcript:
    """Episode ``i`` again: as many of our actions as the reference needs to come to its end.

    A pole balanced for long multiplies the last bit of its position until both programs drop it at
    different times, so where there is a trail the reference is put back on it before every step.
    """
    seen = put_into(reference, batch, i)
    return run(reference, seen, batch.actions[i], trail=batch.trail[i] if len(batch.trail) else ())


def run(reference: Any, seen: Any, actions: np.ndarray, trail: Any = ()) -> Transcript:
    transcript = Transcript([seen], [], [], [])
    for t, action in enumerate(to_reference(reference, actions)):
        if len(trail):
            reference.state = trail[t]
        seen, reward, terminated, truncated, _ = reference.step(action)
        transcript.seen.append(seen)
        transcript.rewards.append(reward)
        transcript.terminated.append(terminated)
        transcript.truncated.append(truncated)
        if terminated or truncated:
            break
    return transcript


def to_reference(reference: Any, actions: np.ndarray) -> Any:
    """Our actions as the reference takes them: squares of a board have two coordinates there."""
    space = reference.action_space
    if hasattr(space, "nvec"):
        return np.transpose(np.unravel_index(actions, space.nvec))
    return np.asarray(actions).tolist() if hasattr(space, "n") else actions


def put_into(reference: Any, batch: Batch, i: int) -> Any:
    """Resets the reference into the hidden state of episode ``i``; what it then shows."""
    for family, hidden in _HIDDEN.items():
        if isinstance(reference, getattr(popgym.envs, family)):
            return hidden(reference, batch, i)
    raise NotImplementedError(type(reference))


class Scripted:
    """Stands in for the reference's random generator, and answers what it is told to."""

    def __init__(self, **answers: Iterator):
        self.answers = answers

    def shuffle(self, cards: np.ndarray) -> None:
        cards[:] = next(self.answers["shuffle"])

    def random(self, *args: Any, **kwargs: Any) -> Any:
        return next(self.answers["random"])

    def uniform(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return next(self.answers["uniform"])

    def normal(self, mean: float, scale: np.ndarray) -> np.ndarray:
        return mean + scale * next(self.answers["normal"])

    def choice(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return next(self.answers["choice"])


def scripted_reset(reference: Any, **answers: Any) -> Any:
    reference.np_random = Scripted(**{name: iter(given) for name, given in answers.items()})
    return reference.reset()[0]


def cards_of(kinds: np.ndarray, kind_of_card: np.ndarray) -> np.ndarray:
    """Distinct cards of the kinds given, which must make up the whole deck."""
    cards = np.empty(len(kind_of_card), int)
    for kind in np.unique(kind_of_card):
        cards[kinds == kind] = np.flatnonzero(kind_of_card == kind)
    return cards


def _dealt(kinds: np.ndarray, kind_of_card: np.ndarray) -> np.ndarray:
    return cards_of(kinds, kind_of_card)[::-1]  # the reference deals from the end


def _dealer(field: str) -> Callable[[Any, Batch, int], Any]:
    """Games that show the whole deck, card by card, from the reset to the last step."""

    def hidden(reference: Any, batch: Batch, i: int) -> Any:
        kinds = batch.seen[i, : reference.deck.num_cards]
        deck = _dealt(kinds, getattr(reference.deck, field))
        return scripted_reset(reference, shuffle=[deck])

    return hidden


def _autoencode(reference: Any, batch: Batch, i: int) -> Any:
    kinds = batch.seen[i, : reference.deck.num_cards, 1]
    return scripted_reset(reference, shuffle=[_dealt(kinds, reference.deck.suits_idx)])


def _count_recall(reference: Any, batch: Batch, i: int) -> Any:
    decks = [_dealt(batch.seen[i, :, which], reference.deck_idx_type) for which in (0, 1)]
    return scripted_reset(reference, shuffle=decks)


def _concentration(reference: Any, batch: Batch, i: int) -> Any:
    """Cards never turned may be any that are left: neither game ever looks at them."""
    kind_of_card, facedown = reference.deck_idx_type, reference.facedown_card
    table = batch.seen[i, : batch.lengths[i] + 1].min(axis=0)
    left = np.bincount(kind_of_card) - np.bincount(table, minlength=facedown + 1)[:facedown]
    table[table == facedown] = np.repeat(np.arange(facedown), left)
    return scripted_reset(reference, shuffle=[cards_of(table, kind_of_card)])


def _minesweeper(reference: Any, batch: Batch, i: int) -> Any:
    return scripted_reset(reference, choice=[np.flatnonzero(batch.start.mines[i])])


def _battleship(reference: Any, batch: Batch, i: int) -> Any:
    seen, _ = reference.reset(seed=0)
    reference.board = batch.start.board[i].reshape(reference.board.shape).astype(np.int8)
    return seen


def _bandit(reference: Any, batch: Batch, i: int) -> Any:
    """The reference draws a number for each pull; ours come from the keys of the steps."""
    draws = np.asarray(_uniform(batch.keys[i]))
    return scripted_reset(reference, random=[batch.start.bandits[i], *draws.tolist()])


def _motion(reference: Any, batch: Batch, i: int) -> Any:
    return scripted_reset(reference, uniform=[batch.trail[i, 0]], normal=_noise(batch, i))


def _noise(batch: Batch, i: int) -> list[np.ndarray]:
    """What noisy games add, in units of their sigma: the reset's, then each step's."""
    return list(np.asarray(_normal(batch.key_reset[i], batch.keys[i])))


@jax.jit
def _uniform(keys: jax.Array) -> jax.Array:
    draw = jax.vmap(lambda key: jax.random.uniform(key, (), jnp.float32))
    return draw(_step_keys(keys))


@jax.jit
def _normal(key_reset: jax.Array, keys: jax.Array) -> jax.Array:
    draw = jax.vmap(lambda key: jax.random.normal(key, (2,), jnp.float32))
    return draw(jnp.concatenate([jax.random.split(key_reset)[1:], _step_keys(keys)]))


def _step_keys(keys: jax.Array) -> jax.Array:
    """The keys that ``step_env`` gets, from those that ``step`` got."""
    return jax.vmap(jax.random.split)(keys)[:, 0]


_HIDDEN = {
    "Autoencode": _autoencode,
    "Battleship": _battleship,
    "Concentration": _concentration,
    "CountRecall": _count_recall,
    "HigherLower": _dealer("ranks_idx"),
    "MineSweeper": _minesweeper,
    "MultiarmedBandit": _bandit,
    "PositionOnlyCartPole": _motion,
    "VelocityOnlyCartPole": _motion,
    "PositionOnlyPendulum": _motion,
    "RepeatFirst": _dealer("suits_idx"),
    "RepeatPrevious": _dealer("suits_idx"),
}
