"""MultiarmedBandit: find out within an episode which arm pays best."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax.envs import environment, spaces
from rillax.envs.popgym.game import Game, plus_or_minus


@environment.dataclass
class EnvState(environment.EnvState):
    """How likely each arm is to pay, and whether the last one pulled did."""

    bandits: Float[Array, " num_bandits"]
    paid: Int[Array, ""]


class MultiarmedBandit(Game):
    """Each episode draws how likely each arm is to pay, uniformly; pull one at every step.

    A pull pays ``1 / episode_length`` with the arm's probability and costs as much otherwise. The
    game never ends by itself; it is cut off after ``episode_length`` steps. The observation is
    whether the last pull paid, one-hot, and no at the start.
    """

    obs_requires_prev_action = True

    def __init__(self, num_bandits: int = 10, episode_length: int = 200):
        super().__init__()
        self.num_bandits = num_bandits
        self.episode_length = episode_length
        self.sizes = (2,)

    def reset_env(self, key: PRNGKeyArray, params: Any) -> tuple[Float[Array, " size"], EnvState]:
        bandits = jax.random.uniform(key, (self.num_bandits,), jnp.float32)
        state = EnvState(time=jnp.int32(0), bandits=bandits, paid=jnp.int32(0))
        return self.observe(key, state, None, params), state

    def step_env(
        self, key: PRNGKeyArray, state: EnvState, action: Int[Array, ""], params: Any
    ) -> tuple:
        paid = jax.random.uniform(key, (), jnp.float32) < state.bandits[action]
        reward = plus_or_minus(1 / self.episode_length, paid)
        state = state.replace(time=state.time + 1, paid=paid.astype(jnp.int32))
        return self.finish(key, state, action, reward, params)

    def observe(self, key: Any, state: EnvState, action: Any, params: Any) -> Float[Array, " size"]:
        return self.encode(state.paid)

    def is_terminated(self, state: EnvState, params: Any) -> Bool[Array, ""]:
        return jnp.array(False)

    def action_space(self, params: Any = None) -> spaces.Discrete:
        return spaces.Discrete(self.num_bandits)

    def state_space(self, params: Any = None) -> spaces.Dict:
        return spaces.Dict(
            {
                "time": spaces.Discrete(self.episode_length + 1),
                "bandits": spaces.Box(0, 1, (self.num_bandits,), jnp.float32),
                "paid": spaces.Discrete(2),
            }
        )
