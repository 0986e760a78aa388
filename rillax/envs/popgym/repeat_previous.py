"""RepeatPrevious: name the suit of the card seen k cards back, at every step."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym import deck
from rillax.envs.popgym.game import Game, plus_or_minus


@environment.dataclass
class EnvState(environment.EnvState):
    """The last k cards, the card of time t in slot t mod k, and how many of each suit are left."""

    recent: Int[Array, " k"]
    left: Int[Array, " suits"]


class RepeatPrevious(Game):
    """A deck is dealt one suit at a time; name the k-th last one, the card on view being the first.

    So ``k = 1`` asks for the card on view and ``k = 4`` for the one three steps before it, as in
    the reference. Once k cards are out, each step pays ``1 / (num_cards - k)`` for the right suit
    and minus that for a wrong one. The game ends when the last card is dealt. The observation is
    the suit of the card just dealt, one-hot.
    """

    def __init__(self, num_decks: int = 1, k: int = 4):
        super().__init__()
        self.num_cards = deck.cards_in(num_decks)
        if not 1 <= k < self.num_cards:
            raise ValueError(f"k must lie between 1 and {self.num_cards - 1}, got {k}")
        self.k = k
        self.episode_length = self.num_cards - 1
        self.sizes = (deck.KINDS["suits"],)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        card, left = deck.deal(key, deck.full(self.num_cards, deck.KINDS["suits"]))
        recent = jnp.zeros(self.k, jnp.int32).at[0].set(card)
        state = EnvState(time=jnp.int32(0), recent=recent, left=left)
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        time = state.time + 1
        slot = time % self.k
        answer = plus_or_minus(1 / (self.num_cards - self.k), action == state.recent[slot])
        reward = jnp.where(time >= self.k, answer, 0.0)
        card, left = deck.deal(key, state.left)
        state = EnvState(time=time, recent=state.recent.at[slot].set(card), left=left)
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        return self.encode(state.recent[state.time % self.k])

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(deck.KINDS["suits"])

    def state_space(self, params: Any = None) -> spaces.Dict:
        suits = deck.KINDS["suits"]
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.num_cards),
                "recent": spaces.Box(0, suits - 1, (self.k,), jnp.int32),
                "left": spaces.Box(0, self.num_cards // suits, (suits,), jnp.int32),
            }
        )
