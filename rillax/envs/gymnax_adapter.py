"""One of our environments with gymnax's own spaces, for code of gymnax's that looks at their class.

Most of gymnax takes our environments as they are, for the interface is the same. Its
``GymnaxToGymWrapper``, ``StickyActionWrapper`` and ``FlattenObservationWrapper`` need this.
"""

from collections.abc import Mapping
from typing import Any

from gymnax.environments import spaces

from rillax.envs.spaces import is_box
from rillax.spaces import is_discrete


class GymnaxAdapter:
    """``env``, but for its spaces, which are gymnax's.

    >>> from rillax.envs import make
    >>> GymnaxAdapter(make("MemoryChain")).action_space()
    Discrete(2, dtype=int32)
    """

    def __init__(self, env: Any):
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked of a copy before it has an environment
            raise AttributeError(name)
        return getattr(self.env, name)

    def action_space(self, params: Any = None) -> spaces.Space:
        return to_gymnax(self.env.action_space(params))

    def observation_space(self, params: Any = None) -> spaces.Space:
        return to_gymnax(self.env.observation_space(params))

    def state_space(self, params: Any = None) -> spaces.Space:
        return to_gymnax(self.env.state_space(params))


def to_gymnax(space: Any) -> spaces.Space:
    """The same space as gymnax's."""
    if is_discrete(space):
        return spaces.Discrete(space.n, dtype=space.dtype)
    if is_box(space):
        return spaces.Box(space.low, space.high, space.shape, space.dtype)
    if isinstance(space.spaces, Mapping):
        return spaces.Dict({name: to_gymnax(part) for name, part in space.spaces.items()})
    return spaces.Tuple([to_gymnax(part) for part in space.spaces])
