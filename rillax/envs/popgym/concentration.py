"""Concentration: turn cards over two at a time and find the pairs."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym import deck
from rillax.envs.popgym.game import Game, one_hot

NONE = -1
"""In place of a position: no card is in play."""


@environment.dataclass
class EnvState(environment.EnvState):
    """The table. A card's kind is settled when it is first turned over.

    ``cards`` holds the kinds settled so far and ``facedown`` for the rest, ``left`` what those can
    still be. ``in_play`` is the first card of an unfinished pair, ``visible`` what the player sees.
    """

    cards: Int[Array, " num_cards"]
    left: Int[Array, " kinds"]
    face_up: Bool[Array, " num_cards"]
    visible: Bool[Array, " num_cards"]
    in_play: Int[Array, ""]


class Concentration(Game):
    """A shuffled deck lies face down; each action turns a card, and every second one ends a turn.

    Two cards of a kind stay face up and pay ``2 / num_cards``; any other two are turned back and
    cost ``2 / episode_length``. Turning a card that is up already ends the turn, and each card
    turned in it costs ``1 / episode_length``. The game is won when all cards are up and cut off
    after ``episode_length`` steps; both may come at once. The observation is the kind of every card
    in view, or ``facedown``, one-hot each; two that do not match are seen until the next is turned.
    """

    obs_requires_prev_action = True

    def __init__(self, num_decks: int = 1, deck_type: str = "ranks"):
        super().__init__()
        if deck_type == "suits":
            raise ValueError("suits come in 13s and would not pair up: choose colors or ranks")
        n = self.num_cards = deck.cards_in(num_decks)
        self.facedown = deck.kinds_of(deck_type)
        self.episode_length = math.ceil(2 * n - n / (2 * n - 1))
        self.success_reward_scale = 1 / (n // 2)
        self.failure_reward_scale = -1 / self.episode_length
        self.sizes = (self.facedown + 1,) * n

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        nothing = jnp.zeros(self.num_cards, bool)
        state = EnvState(
            time=jnp.int32(0),
            cards=jnp.full(self.num_cards, self.facedown, jnp.int32),
            left=deck.full(self.num_cards, self.facedown),
            face_up=nothing,
            visible=nothing,
            in_play=jnp.int32(NONE),
        )
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        cards, left = self._turn_over(key, state, action)
        position = jnp.arange(self.num_cards)
        in_play = (position == action) | (position == state.in_play)

        second = state.in_play != NONE
        already_up = state.face_up[action]
        match = (cards[action] == cards[state.in_play]) & (action != state.in_play)
        found = second & match & ~already_up
        ends_turn = second | already_up

        cost = jnp.float32(self.failure_reward_scale) * jnp.where(second, 2, 1)
        reward = jnp.where(found, jnp.float32(self.success_reward_scale), cost)
        state = EnvState(
            time=state.time + 1,
            cards=cards,
            left=left,
            face_up=state.face_up | (in_play & found),
            visible=state.face_up | in_play,
            in_play=jnp.where(ends_turn, NONE, action).astype(jnp.int32),
        )
        return self.finish(key, state, action, jnp.where(ends_turn, reward, 0.0), params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        shown = jnp.where(state.visible, state.cards, self.facedown)
        return one_hot(shown, self.facedown + 1).ravel()

    def decode(self, observation: Float[Array, " size"]) -> Int[Array, " num_cards"]:
        return observation.reshape(self.num_cards, -1).argmax(axis=1)

    def is_terminated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        return state.face_up.all()

    def is_truncated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        """Out of time, also when the last pair comes on the last step: the reference says both."""
        return state.time >= params.max_steps_in_episode

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(self.num_cards)

    def state_space(self, params: Any = None) -> spaces.Dict:
        n, kinds = self.num_cards, self.facedown
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.episode_length + 1),
                "cards": spaces.Box(0, kinds, (n,), jnp.int32),
                "left": spaces.Box(0, n // kinds, (kinds,), jnp.int32),
                "face_up": spaces.Box(0, 1, (n,), jnp.bool_),
                "visible": spaces.Box(0, 1, (n,), jnp.bool_),
                "in_play": spaces.Box(NONE, n - 1, (), jnp.int32),
            }
        )

    def _turn_over(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""]
    ) -> tuple[Int[Array, " num_cards"], Int[Array, " kinds"]]:
        """The table and the deck once the card at ``action`` has a kind."""
        known = state.cards[action]
        drawn, left = deck.deal(key, state.left)
        settled = known != self.facedown
        cards = state.cards.at[action].set(jnp.where(settled, known, drawn))
        return cards, jnp.where(settled, state.left, left)
