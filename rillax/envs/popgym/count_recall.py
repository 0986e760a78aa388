"""CountRecall: say how often a kind of card has been dealt so far."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym import deck
from rillax.envs.popgym.game import Game, plus_or_minus


@environment.dataclass
class EnvState(environment.EnvState):
    """The card on view, the kind asked about, and what is left of both decks."""

    value: Int[Array, ""]
    query: Int[Array, ""]
    values_left: Int[Array, " kinds"]
    queries_left: Int[Array, " kinds"]


class CountRecall(Game):
    """Each step shows a card and asks how many of some kind have been dealt, this one included.

    Each step pays ``1 / (num_cards - 1)`` for the right count and minus that for any other. Cards
    and queries come from two decks shuffled apart; the game ends when the last of each is dealt, so
    the last query is never answered. The observation is the card's kind and the query's, one-hot
    each.
    """

    def __init__(self, num_decks: int = 1, deck_type: str = "colors"):
        super().__init__()
        self.num_cards = deck.cards_in(num_decks)
        self.num_distinct_cards = deck.kinds_of(deck_type)
        self.max_card_count = self.num_cards // self.num_distinct_cards
        self.episode_length = self.num_cards - 1
        self.sizes = (self.num_distinct_cards, self.num_distinct_cards)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        full = deck.full(self.num_cards, self.num_distinct_cards)
        state = self._deal(key, jnp.int32(0), full, full)
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        count = self.max_card_count - state.values_left[state.query]
        reward = plus_or_minus(1 / self.episode_length, action == count)
        state = self._deal(key, state.time + 1, state.values_left, state.queries_left)
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        return self.encode(state.value, state.query)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(self.max_card_count + 1)

    def state_space(self, params: Any = None) -> spaces.Dict:
        kinds = self.num_distinct_cards
        left = spaces.Box(0, self.max_card_count, (kinds,), jnp.int32)
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.num_cards),
                "value": spaces.Discrete(kinds),
                "query": spaces.Discrete(kinds),
                "values_left": left,
                "queries_left": left,
            }
        )

    def _deal(
        self,
        key: PRNGKeyArray,
        time: Int[Array, ""],
        values_left: Int[Array, " kinds"],
        queries_left: Int[Array, " kinds"],
    ) -> EnvState:
        key_value, key_query = jax.random.split(key)
        value, values_left = deck.deal(key_value, values_left)
        query, queries_left = deck.deal(key_query, queries_left)
        return EnvState(
            time=time,
            value=value,
            query=query,
            values_left=values_left,
            queries_left=queries_left,
        )
