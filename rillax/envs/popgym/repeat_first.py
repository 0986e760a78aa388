"""RepeatFirst: keep naming the first card's suit while others go by."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym import deck
from rillax.envs.popgym.game import Game, plus_or_minus


@environment.dataclass
class EnvState(environment.EnvState):
    """The card on view, the first card, and how many of each suit are left."""

    card: Int[Array, ""]
    first: Int[Array, ""]
    left: Int[Array, " suits"]


class RepeatFirst(Game):
    """A deck is dealt one suit at a time; every action is to name the suit of the first card.

    Each step pays ``1 / (num_cards - 1)`` for the right suit and minus that for a wrong one. The
    game ends when the last card is dealt, after ``num_cards - 1`` steps. The observation is the
    suit of the card just dealt, one-hot; nothing marks the first.
    """

    def __init__(self, num_decks: int = 1):
        super().__init__()
        self.num_cards = deck.cards_in(num_decks)
        self.episode_length = self.num_cards - 1
        self.sizes = (deck.KINDS["suits"],)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        card, left = deck.deal(key, deck.full(self.num_cards, deck.KINDS["suits"]))
        state = EnvState(time=jnp.int32(0), card=card, first=card, left=left)
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        reward = plus_or_minus(1 / self.episode_length, action == state.first)
        card, left = deck.deal(key, state.left)
        state = EnvState(time=state.time + 1, card=card, first=state.first, left=left)
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        return self.encode(state.card)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(deck.KINDS["suits"])

    def state_space(self, params: Any = None) -> spaces.Dict:
        suits = deck.KINDS["suits"]
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.num_cards),
                "card": spaces.Discrete(suits),
                "first": spaces.Discrete(suits),
                "left": spaces.Box(0, self.num_cards // suits, (suits,), jnp.int32),
            }
        )
