"""Scripted players: for every game one that plays at random, one perfectly, one to break it.

A player is told what the reference would show (``seen``). Where memory is all a game asks for, the
perfect player works from that alone; elsewhere it may read the hidden ``state``, and says so.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from rillax.envs.popgym import (
    Autoencode,
    Battleship,
    Concentration,
    CountRecall,
    HigherLower,
    MineSweeper,
    MultiarmedBandit,
    PositionOnlyCartPole,
    PositionOnlyPendulum,
    RepeatFirst,
    RepeatPrevious,
)

POLICIES = ("random", "perfect", "adversarial")


class Chance(NamedTuple):
    """The key that the coming step will use, and two numbers in [0, 1) to act on."""

    key: jax.Array
    luck: jax.Array


class Players:
    """The three players of one game; memory is what the perfect one keeps of the past."""

    policies = POLICIES

    def __init__(self, env: Any):
        self.env = env

    def start(self) -> Any:
        return ()

    def remember(self, memory: Any, seen: Any, action: Any) -> Any:
        """Memory after seeing ``seen``, which followed ``action`` (-1 at the start)."""
        return memory

    def note(self, state: Any) -> Any:
        """What is to be kept of every state, for the reference to be put there."""
        return ()

    def random(self, memory: Any, seen: Any, state: Any, chance: Chance) -> Any:
        return (chance.luck[0] * self.env.action_space().n).astype(jnp.int32)

    def perfect(self, memory: Any, seen: Any, state: Any, chance: Chance) -> Any:
        raise NotImplementedError

    def adversarial(self, memory: Any, seen: Any, state: Any, chance: Chance) -> Any:
        """Always wrong, unless a game has better ways to be awkward."""
        right = self.perfect(memory, seen, state, chance)
        return (right + 1) % self.env.action_space().n


class AutoencodePlayers(Players):
    """Pile the cards up while they are shown, then take them off the pile."""

    def start(self):
        return jnp.int32(0), jnp.int32(0), jnp.zeros(self.env.num_cards, jnp.int32)

    def remember(self, memory, seen, action):
        seen_cards, named, pile = memory
        watching = seen_cards < self.env.num_cards
        pile = jnp.where(watching, pile.at[seen_cards].set(seen[1]), pile)
        return seen_cards + watching, named + ~watching, pile

    def perfect(self, memory, seen, state, chance):
        seen_cards, named, pile = memory
        return pile[seen_cards - 1 - named]


class RepeatFirstPlayers(Players):
    def start(self):
        return jnp.int32(0)

    def remember(self, memory, seen, action):
        return jnp.where(action == -1, seen, memory)

    def perfect(self, memory, seen, state, chance):
        return memory


class RepeatPreviousPlayers(Players):
    """Keep the last k cards in the order they came."""

    def start(self):
        return jnp.zeros(self.env.k, jnp.int32)

    def remember(self, memory, seen, action):
        return jnp.append(memory[1:], seen)

    def perfect(self, memory, seen, state, chance):
        return memory[0]


class CountRecallPlayers(Players):
    def start(self):
        return jnp.zeros(self.env.num_distinct_cards, jnp.int32)

    def remember(self, memory, seen, action):
        return memory.at[seen[0]].add(1)

    def perfect(self, memory, seen, state, chance):
        return memory[seen[1]]


class HigherLowerPlayers(Players):
    """Count the cards, and bet on where more of those unseen lie: the best there is to do.

    The clairvoyant knows the next card, by trying the step out; the adversary bets against it.
    """

    policies = (*POLICIES, "clairvoyant")

    def start(self):
        return jnp.full(13, self.env.num_cards // 13)

    def remember(self, memory, seen, action):
        return memory.at[seen].add(-1)

    def perfect(self, memory, seen, state, chance):
        rank = jnp.arange(13)
        higher = jnp.where(rank > seen, memory, 0).sum()
        lower = jnp.where(rank < seen, memory, 0).sum()
        return (higher < lower).astype(jnp.int32)

    def clairvoyant(self, memory, seen, state, chance):
        return self._rewards(state, chance).argmax()

    def adversarial(self, memory, seen, state, chance):
        return self._rewards(state, chance).argmin()

    def _rewards(self, state, chance):
        step_key, _ = jax.random.split(chance.key)  # as Environment.step does
        params = self.env.default_params
        return jnp.stack([self.env.step_env(step_key, state, a, params)[2] for a in (0, 1)])


class ConcentrationPlayers(Players):
    """Never forgets a card: takes a known pair, or turns a new card and looks for its partner.

    The adversary plays the same game half of the time, so that there are pairs on the table, and
    otherwise turns the card it just turned, or one that is up already.
    """

    def start(self):
        n = self.env.num_cards
        return {
            "known": jnp.full(n, self.env.facedown),
            "up": jnp.zeros(n, bool),
            "in_play": jnp.int32(-1),
            "last": jnp.int32(0),
        }

    def remember(self, memory, seen, action):
        known = jnp.where(seen != self.env.facedown, seen, memory["known"])
        first = memory["in_play"]
        pair = (first >= 0) & (known[first] == known[action]) & (first != action)
        found = pair & ~memory["up"][action]
        position = jnp.arange(self.env.num_cards)
        both = (position == first) | (position == action)
        ended = (first >= 0) | memory["up"][action]
        after = {
            "known": known,
            "up": memory["up"] | (both & found),
            "in_play": jnp.where(ended, -1, action),
            "last": action,
        }
        return jax.tree.map(lambda new, old: jnp.where(action < 0, old, new), after, memory)

    def perfect(self, memory, seen, state, chance):
        known, first = memory["known"], memory["in_play"]
        position = jnp.arange(self.env.num_cards)
        usable = ~memory["up"] & (position != first)
        unknown = usable & (known == self.env.facedown)
        candidates = usable & (known != self.env.facedown)
        partners = candidates & (known == known[first])

        new_if_any = jnp.where(unknown.any(), unknown, candidates)
        partner_if_any = jnp.where(partners.any(), partners, unknown)
        return jnp.where(first >= 0, partner_if_any, new_if_any).argmax().astype(jnp.int32)

    def adversarial(self, memory, seen, state, chance):
        coin, pick = chance.luck
        up = jnp.cumsum(memory["up"])
        illegal = jnp.where(up[-1] > 0, (up > pick * up[-1]).argmax(), memory["last"])
        awkward = jnp.where(coin < 0.25, memory["last"], illegal)
        return jnp.where(coin < 0.5, awkward, self.perfect(memory, seen, state, chance))


class MineSweeperPlayers(Players):
    """Knows where the mines are. The adversary steps on viewed squares, and at times on a mine."""

    def perfect(self, memory, seen, state, chance):
        return (~state.mines & ~state.viewed).argmax()

    def adversarial(self, memory, seen, state, chance):
        coin, _ = chance.luck
        again = jnp.where(state.viewed.any(), state.viewed.argmax(), 0)
        awkward = jnp.where(coin < 0.05, state.mines.argmax(), again)
        return jnp.where(coin < 0.5, awkward, self.perfect(memory, seen, state, chance))


class BattleshipPlayers(Players):
    """Knows where the ships are. The adversary shoots at what it has hit before, or at water."""

    def perfect(self, memory, seen, state, chance):
        return (state.board & ~state.guesses).argmax()

    def adversarial(self, memory, seen, state, chance):
        coin, _ = chance.luck
        water = (~state.board).argmax()
        awkward = jnp.where(coin < 0.4, (state.board & state.guesses).argmax(), water)
        return jnp.where(coin < 0.8, awkward, self.perfect(memory, seen, state, chance))


class MultiarmedBanditPlayers(Players):
    """Knows the best arm, and the worst."""

    def perfect(self, memory, seen, state, chance):
        return state.bandits.argmax()

    def adversarial(self, memory, seen, state, chance):
        return state.bandits.argmin()


class CartPolePlayers(Players):
    """Reads the whole state and pushes under the falling pole; the adversary pushes it over."""

    def note(self, state):
        return jnp.stack([state.x, state.x_dot, state.theta, state.theta_dot])

    def perfect(self, memory, seen, state, chance):
        lean = state.theta + 0.5 * state.theta_dot + 0.05 * state.x + 0.1 * state.x_dot
        return (lean > 0).astype(jnp.int32)


class PendulumPlayers(Players):
    """Reads the whole state: pumps energy in until the top is in reach, then holds it there.

    No player is known to be the best here; this one is good. The adversary asks for more torque
    than there is.
    """

    def note(self, state):
        return jnp.stack([state.theta, state.theta_dot])

    def perfect(self, memory, seen, state, chance):
        angle = (state.theta + jnp.pi) % (2 * jnp.pi) - jnp.pi
        energy = state.theta_dot**2 / 6 + 5 * (jnp.cos(angle) - 1)
        pump = -2.0 * jnp.sign(state.theta_dot) * jnp.sign(energy)
        hold = -(20.0 * angle + 5.0 * state.theta_dot)
        near = jnp.abs(angle) < 0.6
        return jnp.clip(jnp.where(near, hold, pump), -2, 2)[None].astype(jnp.float32)

    def random(self, memory, seen, state, chance):
        return 4 * chance.luck[:1] - 2

    def adversarial(self, memory, seen, state, chance):
        return 10 * self.random(memory, seen, state, chance)


_PLAYERS = {
    Autoencode: AutoencodePlayers,
    Battleship: BattleshipPlayers,
    Concentration: ConcentrationPlayers,
    CountRecall: CountRecallPlayers,
    HigherLower: HigherLowerPlayers,
    MineSweeper: MineSweeperPlayers,
    MultiarmedBandit: MultiarmedBanditPlayers,
    PositionOnlyCartPole: CartPolePlayers,
    PositionOnlyPendulum: PendulumPlayers,
    RepeatFirst: RepeatFirstPlayers,
    RepeatPrevious: RepeatPreviousPlayers,
}


def players_of(env: Any) -> Players:
    """The players of a game, without the wrappers around it."""
    return next(players(env) for game, players in _PLAYERS.items() if isinstance(env, game))
