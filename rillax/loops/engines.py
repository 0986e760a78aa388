"""What takes a Learner's steps: JAX, or the same learner in C."""

from typing import Any, Literal, Protocol, get_args

import jax
import numpy as np

from rillax import agents, export, spaces
from rillax._jax.kernels import Program, one_kernel
from rillax.loops.packing import Packing
from rillax.utils import checkpoint
from rillax.utils.names import choose

EngineName = Literal["jax", "c"]
"""What takes the steps; JAX is the reference."""


class Engine(Protocol):
    """An agent and its state, one call at a time."""

    @property
    def metrics(self) -> dict[str, float]:
        """What the last ``learn`` measured."""
        ...

    def get_state(self) -> Any: ...

    def set_state(self, state: Any, acted: bool) -> None:
        """Go on from a state; ``acted`` says whether there is an action to learn about."""
        ...

    def act(self, observation: np.ndarray) -> np.ndarray: ...

    def learn(
        self, reward: np.ndarray, after: np.ndarray, terminated: bool, truncated: bool
    ) -> None: ...

    def skip(self, done: bool) -> None: ...


def make_engine(
    name: EngineName, agent: Any, observation_space: Any, action_space: Any, seed: int
) -> Engine:
    choose("engine", name, get_args(EngineName))
    state = jax.jit(lambda key: agent.init(key, observation_space, action_space))(
        jax.random.key(seed)
    )
    if name == "c":
        return CEngine(agent, observation_space, action_space, state)
    return JaxEngine(agent, state)


class JaxEngine:
    """The agent's functions, compiled for packed states; the old state is donated."""

    def __init__(self, agent: Any, state: Any):
        self.agent = agent
        self._measured: dict[str, jax.Array] = {}
        self._packing = Packing(state)
        self._packed = self._packing.pack(state)
        self._act = self._compiled(agent.act)
        self._learn = self._compiled(agent.learn)
        self._skip = self._compiled(lambda state, done: (agent.skip(state, done), None))

    def _compiled(self, function: Any) -> Any:
        packing = self._packing

        def packed(arrays: list[jax.Array], *inputs: Any) -> tuple[list[jax.Array], Any]:
            state, out = function(packing.unpack(arrays), *inputs)
            return packing.pack(state), out

        forms = [one_kernel(packed), packed] if agents.one_kernel(self.agent) else [packed]
        return Program(*forms, donate=(0,))

    @property
    def metrics(self) -> dict[str, float]:
        return {name: float(value) for name, value in self._measured.items()}

    def get_state(self) -> Any:
        return self._packing.unpack(self._packed)

    def set_state(self, state: Any, acted: bool) -> None:
        self._packed = self._packing.pack(state)

    def act(self, observation: np.ndarray) -> np.ndarray:
        self._packed, action = self._act(self._packed, observation)
        return np.asarray(action)

    def learn(
        self, reward: np.ndarray, after: np.ndarray, terminated: bool, truncated: bool
    ) -> None:
        self._packed, self._measured = self._learn(
            self._packed, reward, after, terminated, truncated
        )

    def skip(self, done: bool) -> None:
        self._packed, _ = self._skip(self._packed, done)


class CEngine:
    """The agent in C, compiled on this machine."""

    def __init__(self, agent: Any, observation_space: Any, action_space: Any, state: Any):
        self._source = export.source(agent, observation_space, action_space)
        self._like = state
        self._arrays = checkpoint.flatten(state)
        self._source.layout.check_complete(self._arrays, self._source.constants)
        discrete = spaces.is_discrete(action_space)
        self._shape = () if discrete else tuple(action_space.shape)
        self._one_hot = int(observation_space.n) if spaces.is_discrete(observation_space) else 0
        double = state.observation.dtype == np.float64
        self._c = export.Library(self._source, int(np.prod(self._shape)), discrete, double)
        self._measured = False
        self.set_state(state, acted=False)

    @property
    def metrics(self) -> dict[str, float]:
        return self._c.metrics if self._measured else {}

    def get_state(self) -> Any:
        arrays, _ = self._source.layout.read(self._c.save(), self._arrays, "the C learner")
        return checkpoint.unflatten(self._like, arrays, "the C learner")

    def set_state(self, state: Any, acted: bool) -> None:
        self._c.load(self._source.layout.write(checkpoint.flatten(state), acted))

    def act(self, observation: np.ndarray) -> np.ndarray:
        action = self._c.act(self._numbers(observation))
        return action.reshape(self._shape)

    def learn(
        self, reward: np.ndarray, after: np.ndarray, terminated: bool, truncated: bool
    ) -> None:
        self._c.learn(float(reward), self._numbers(after), terminated, truncated)
        self._measured = True

    def skip(self, done: bool) -> None:
        self._c.skip(done)

    def _numbers(self, observation: np.ndarray) -> np.ndarray:
        """An observation as C takes it: of one type, end to end, an integer as one-hot."""
        if self._one_hot:
            observation = np.arange(self._one_hot) == observation
        return np.ascontiguousarray(observation, self._c.dtype)
