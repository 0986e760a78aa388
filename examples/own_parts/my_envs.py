"""An environment of your own: a T-maze, where a sign at the entrance says which way to turn.

rillax train --env my_envs:TMaze --env-arg length=5 --agent qrc
"""

from typing import Any

import gymnasium
import numpy as np


class TMaze(gymnasium.Env):
    """Walk down a corridor and turn where the sign at its entrance pointed.

    The observation is [sign, at the junction]. The actions are left, right, and forward.
    """

    def __init__(self, length: int = 5):
        self.length = length
        self.observation_space = gymnasium.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(3)
        self.place, self.sign = 0, 1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        self.place, self.sign = 0, int(self.np_random.choice([-1, 1]))
        return self._observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        if action == 2:  # forward
            self.place = min(self.place + 1, self.length)
            return self._observe(), -0.05, False, False, {}
        if self.place < self.length:  # a wall
            return self._observe(), -0.1, False, False, {}
        right_way = (action == 1) == (self.sign == 1)
        return self._observe(), 1.0 if right_way else -1.0, True, False, {}

    def _observe(self) -> np.ndarray:
        sign = self.sign if self.place == 0 else 0
        return np.array([sign, self.place == self.length], np.float32)
