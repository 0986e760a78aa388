"""Battleship: sink a fleet on a board that is never shown."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym.game import Game


@environment.dataclass
class EnvState(environment.EnvState):
    """The ships, the squares shot at, how many were hits, and whether the last one was."""

    board: Bool[Array, " squares"]
    guesses: Bool[Array, " squares"]
    hits: Int[Array, ""]
    hit: Int[Array, ""]


class Battleship(Game):
    """Shoot at one square per step until every square of every ship is hit.

    With s ship squares of n in all, a hit pays ``1 / s`` and anything else, a square hit before
    included, costs ``1 / (n - s)``. The game is won with the last hit and cut off after n steps;
    both may come at once. The action is the square, row by row; the observation is whether the shot
    hit, one-hot, and no at the start.
    """

    obs_requires_prev_action = True

    def __init__(self, board_size: int = 10, ship_sizes: Sequence[int] = (2, 3, 3, 4)):
        super().__init__()
        self.board_size = board_size
        self.ship_sizes = tuple(ship_sizes)
        self.needed_hits = sum(self.ship_sizes)
        self.episode_length = board_size**2
        self.sizes = (2,)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        board = jnp.zeros((self.board_size, self.board_size), bool)
        for bits, size in zip(
            jax.random.bits(key, (len(self.ship_sizes),)), self.ship_sizes, strict=True
        ):
            board = _place_ship(bits, board, size)
        state = EnvState(
            time=jnp.int32(0),
            board=board.ravel(),
            guesses=jnp.zeros(self.episode_length, bool),
            hits=jnp.int32(0),
            hit=jnp.int32(0),
        )
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        hit = state.board[action] & ~state.guesses[action]
        miss = -1.0 / (self.episode_length - self.needed_hits)
        reward = jnp.where(hit, jnp.float32(1 / self.needed_hits), jnp.float32(miss))
        state = EnvState(
            time=state.time + 1,
            board=state.board,
            guesses=state.guesses | (jnp.arange(self.episode_length) == action),
            hits=state.hits + hit,
            hit=hit.astype(jnp.int32),
        )
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        return self.encode(state.hit)

    def is_terminated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        return state.hits == self.needed_hits

    def is_truncated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        """Out of time, also when the last hit came on the last step: the reference says both."""
        return state.time >= params.max_steps_in_episode

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(self.episode_length)

    def state_space(self, params: Any = None) -> spaces.Dict:
        squares = spaces.Box(0, 1, (self.episode_length,), jnp.bool_)
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.episode_length + 1),
                "board": squares,
                "guesses": squares,
                "hits": spaces.Discrete(self.needed_hits + 1),
                "hit": spaces.Discrete(2),
            }
        )


def _place_ship(
    bits: Array, board: Bool[Array, "side side"], size: int
) -> Bool[Array, "side side"]:
    """Adds a ship, every free place along a row or a column being equally likely.

    The reference draws a bow and a heading until the ship fits: that finds each place from both of
    its ends, so all alike.
    """
    side = len(board)
    places = jnp.concatenate([_places(board, size), _places(board.T, size)])
    upto = jnp.cumsum(places.sum(axis=1))
    pick = (bits % upto[-1].astype(jnp.uint32)).astype(jnp.int32)
    line = (upto <= pick).sum()
    in_line = pick - (upto[line] - places[line].sum())
    start = (jnp.cumsum(places[line]) <= in_line).sum()

    lines, along = jnp.indices(board.shape)
    ship = (lines == line % side) & (start <= along) & (along < start + size)
    return board | jnp.where(line < side, ship, ship.T)


def _places(board: Bool[Array, "side side"], size: int) -> Bool[Array, "side starts"]:
    """Where along each row a ship could start."""
    starts = board.shape[1] - size + 1
    taken = [board[:, i : i + starts] for i in range(size)]
    return ~jnp.stack(taken).any(axis=0)
