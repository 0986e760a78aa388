"""HigherLower: bet on the next card being higher or lower, and count what is gone."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym import deck
from rillax.envs.popgym.game import Game, plus_or_minus

HIGHER = 0
"""The action that bets on a higher card; the other bets on a lower one."""


@environment.dataclass
class EnvState(environment.EnvState):
    """The card on view, and how many of each rank are left."""

    card: Int[Array, ""]
    left: Int[Array, " ranks"]


class HigherLower(Game):
    """Guess whether the next card's rank is higher (action 0) or lower (action 1) than this one's.

    Each step pays ``1 / num_cards`` for a right guess and minus that for a wrong one, and nothing
    when the ranks are equal. The game ends when the last card is dealt, after ``num_cards - 1``
    steps. The observation is the rank of the card just dealt, one-hot; the ace is the lowest.
    """

    def __init__(self, num_decks: int = 1):
        super().__init__()
        self.num_cards = deck.cards_in(num_decks)
        self.episode_length = self.num_cards - 1
        self.sizes = (deck.KINDS["ranks"],)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        card, left = deck.deal(key, deck.full(self.num_cards, deck.KINDS["ranks"]))
        state = EnvState(time=jnp.int32(0), card=card, left=left)
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        card, left = deck.deal(key, state.left)
        guess = plus_or_minus(1 / self.num_cards, (card > state.card) == (action == HIGHER))
        reward = jnp.where(card == state.card, 0.0, guess)
        state = EnvState(time=state.time + 1, card=card, left=left)
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        return self.encode(state.card)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(2)

    def state_space(self, params: Any = None) -> spaces.Dict:
        ranks = deck.KINDS["ranks"]
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.num_cards),
                "card": spaces.Discrete(ranks),
                "left": spaces.Box(0, self.num_cards // ranks, (ranks,), jnp.int32),
            }
        )
