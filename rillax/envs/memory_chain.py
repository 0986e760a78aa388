"""MemoryChain: a cue at the first step, silence, and one question at the end.

bsuite's diagnostic (Osband et al., 2020), in gymnax's implementation, for any length.
"""

from typing import Any

import jax.numpy as jnp
from gymnax.environments import spaces
from gymnax.environments.bsuite import memory_chain


class MemoryChain(memory_chain.MemoryChain):
    """Remember one bit for ``length`` steps.

    The observation is ``[time left, query, cue]``: the cue is +1 or -1 at the start of the episode
    and 0 afterwards. The action at time ``length`` pays +1 if it names the cue and -1 if not; every
    other reward is 0. An episode takes ``length + 1`` steps. Random play returns 0 on average.
    """

    def __init__(self, length: int = 8):
        if length < 1:
            raise ValueError(f"MemoryChain needs a length of at least 1, got {length}")
        super().__init__(num_bits=1)
        self.length = length

    @property
    def default_params(self) -> memory_chain.EnvParams:
        # gymnax truncates at 1000 steps, which would cut off every chain longer than that.
        return memory_chain.EnvParams(
            memory_length=self.length, max_steps_in_episode=self.length + 2
        )

    def observation_space(self, params: Any = None) -> spaces.Box:
        # gymnax declares [0, 2], but the cue is -1 half of the time.
        return spaces.Box(-1.0, 1.0, (3,), jnp.float32)
