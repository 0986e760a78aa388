"""MineSweeper: clear a board of which only the square last stepped on is seen."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym.game import Game


@environment.dataclass
class EnvState(environment.EnvState):
    """The mines, the squares viewed, the mines around the last one, and whether it was a mine."""

    mines: Bool[Array, " squares"]
    viewed: Bool[Array, " squares"]
    neighbors: Int[Array, ""]
    exploded: Bool[Array, ""]


class MineSweeper(Game):
    """Step on every square without a mine; each step tells how many mines lie on and around it.

    With n free squares, a new one pays ``1 / n`` and one viewed before costs ``0.5 / (n - 2)``; a
    mine costs ``0.5 + 1 / n`` and ends the game, as does the last free square. The game is cut off
    after n steps. The action is the square, row by row; the observation is the number of mines in
    the 3 by 3 squares around it, one-hot, and 0 at the start.
    """

    obs_requires_prev_action = True

    def __init__(self, side: int = 4, num_mines: int = 2):
        super().__init__()
        self.side = side
        self.num_mines = num_mines
        self.episode_length = side**2 - num_mines
        self.success_reward_scale = 1 / self.episode_length
        self.fail_reward_scale = -0.5 - self.success_reward_scale
        self.bad_action_reward_scale = -0.5 / (self.episode_length - 2)
        self.sizes = (min(num_mines + 1, 10),)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        state = EnvState(
            time=jnp.int32(0),
            mines=_choose(key, self.side**2, self.num_mines),
            viewed=jnp.zeros(self.side**2, bool),
            neighbors=jnp.int32(0),
            exploded=jnp.array(False),
        )
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        mine = state.mines[action]
        free = jnp.where(
            state.viewed[action],
            jnp.float32(self.bad_action_reward_scale),
            jnp.float32(self.success_reward_scale),
        )
        reward = jnp.where(mine, jnp.float32(self.fail_reward_scale), free)
        square = jnp.arange(self.side**2)
        state = EnvState(
            time=state.time + 1,
            mines=state.mines,
            viewed=state.viewed | ((square == action) & ~mine),
            neighbors=(state.mines & self._around(action)).sum(dtype=jnp.int32),
            exploded=mine,
        )
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        return self.encode(state.neighbors)

    def is_terminated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        return state.exploded | (state.mines | state.viewed).all()

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(self.side**2)

    def state_space(self, params: Any = None) -> spaces.Dict:
        board = spaces.Box(0, 1, (self.side**2,), jnp.bool_)
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.episode_length + 1),
                "mines": board,
                "viewed": board,
                "neighbors": spaces.Discrete(*self.sizes),
                "exploded": spaces.Box(0, 1, (), jnp.bool_),
            }
        )

    def _around(self, action: Int[Array, ""]) -> Bool[Array, " squares"]:
        """The square itself and those that touch it."""
        row, column = jnp.divmod(jnp.arange(self.side**2), self.side)
        near_row = jnp.abs(row - action // self.side) <= 1
        return near_row & (jnp.abs(column - action % self.side) <= 1)


def _choose(key: PRNGKeyArray, n: int, k: int) -> Bool[Array, " n"]:
    """A set of k of n squares, all sets equally likely, in k draws (Floyd's algorithm)."""
    chosen = jnp.zeros(n, bool)
    bits = jax.random.bits(key, (k,))
    for i, last in enumerate(range(n - k, n)):
        pick = (bits[i] % (last + 1)).astype(jnp.int32)
        chosen = chosen.at[jnp.where(chosen[pick], last, pick)].set(True)
    return chosen
