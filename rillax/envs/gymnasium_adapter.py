"""An environment in JAX, seen through Gymnasium's interface: one step at a time, on the host."""

from typing import Any

import gymnasium
import jax
import numpy as np

from rillax.envs.environment import Environment
from rillax.envs.spaces import to_gymnasium


class GymnasiumAdapter(gymnasium.Env):
    """Plays ``env`` as a ``gymnasium.Env``; seeding ``reset`` settles everything that follows.

    >>> from rillax.envs import make
    >>> env = GymnasiumAdapter(make("AutoencodeEasy"))
    >>> observation, info = env.reset(seed=0)

    Gymnasium's callers reset for themselves, so the last observation of an episode is returned as
    it is, and not that of the next episode.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own declaration

    def __init__(self, env: Environment, params: Any = None):
        self.env = env
        self.params = env.default_params if params is None else params
        self.observation_space = to_gymnasium(env.observation_space(self.params))
        self.action_space = to_gymnasium(env.action_space(self.params))
        self._state: Any = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        observation, self._state = self.env.reset(self._next_key(), self.params)
        return self._to_host(observation), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        _, self._state, reward, terminated, truncated, info = self.env.step(
            self._next_key(), self._state, action, self.params
        )
        observation = self._to_host(info.pop("final_observation"))
        info = jax.tree.map(np.asarray, info)
        return observation, float(reward), bool(terminated), bool(truncated), info

    def _next_key(self) -> jax.Array:
        return jax.random.key(self.np_random.integers(2**63))

    def _to_host(self, observation: Any) -> Any:
        if isinstance(self.observation_space, gymnasium.spaces.Discrete):
            return np.int64(observation)
        return jax.tree.map(np.asarray, observation)
