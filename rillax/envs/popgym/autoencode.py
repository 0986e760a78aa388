"""Autoencode: watch a deck go by, then recite it backwards."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym import deck
from rillax.envs.popgym.game import Game, plus_or_minus

PLAY, WATCH = 0, 1


@environment.dataclass
class EnvState(environment.EnvState):
    """The suits dealt so far, in order, and how many of each are left."""

    cards: Int[Array, " num_cards"]
    left: Int[Array, " suits"]


class Autoencode(Game):
    """All cards of a deck are shown, one suit per step; then name them, the last one first.

    Actions count for nothing while watching; then each pays ``1 / num_cards`` for the right suit
    and minus that for a wrong one. The game ends when all are named, after ``2 * num_cards - 1``
    steps. The observation is the mode (0 play, 1 watch) and a suit, one-hot each. The last card
    arrives with the mode already at play; from then on the suit shown is 0.
    """

    def __init__(self, num_decks: int = 1):
        super().__init__()
        self.num_cards = deck.cards_in(num_decks)
        self.episode_length = 2 * self.num_cards - 1
        self.sizes = (2, deck.KINDS["suits"])

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        card, left = deck.deal(key, deck.full(self.num_cards, deck.KINDS["suits"]))
        cards = jnp.zeros(self.num_cards, jnp.int32).at[0].set(card)
        state = EnvState(time=jnp.int32(0), cards=cards, left=left)
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        last = self.num_cards - 1
        answer = plus_or_minus(1 / self.num_cards, action == state.cards[2 * last - state.time])
        reward = jnp.where(state.time < last, 0.0, answer)
        card, left = deck.deal(key, state.left)
        # Past the last card the index is out of bounds, and nothing is written.
        cards = state.cards.at[state.time + 1].set(card, mode="drop")
        state = EnvState(time=state.time + 1, cards=cards, left=left)
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        mode = jnp.where(state.time < self.num_cards - 1, WATCH, PLAY)
        suit = jnp.where(state.time < self.num_cards, state.cards[state.time], 0)
        return self.encode(mode, suit)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(deck.KINDS["suits"])

    def state_space(self, params: Any = None) -> spaces.Dict:
        suits = deck.KINDS["suits"]
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.episode_length + 1),
                "cards": spaces.Box(0, suits - 1, (self.num_cards,), jnp.int32),
                "left": spaces.Box(0, self.num_cards // suits, (suits,), jnp.int32),
            }
        )
