"""What takes a Learner's steps: JAX, or the same learner in C.

An engine lets a learner's state become the next one and holds it, in one place, ``held``, beside
what the learner knows of it. The iterators that do so run in C, from the call to the new state in
its place: no Python comes between, so nothing can be interrupted.
"""

from collections import deque
from collections.abc import Iterable
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, get_args

import jax
import jax.numpy as jnp
import numpy as np

from rillax import agents, export, spaces
from rillax._jax.kernels import Program, one_kernel, undisturbed
from rillax.agents.frozen import Frozen, can_be_greedy
from rillax.loops import inputs
from rillax.loops.packing import Packing
from rillax.utils import checkpoint
from rillax.utils.names import choose

EngineName = Literal["jax", "c"]
"""What takes the steps; JAX is the reference."""
Result: TypeAlias = tuple[Any, ...]
"""What the last step gave. The last of it is an action or metrics."""
Place: TypeAlias = deque[tuple[Any, Any]]
"""Room for one result, and what is beside it."""


class Engine(Protocol):
    """An agent, one step at a time."""

    names: list[str]
    """Of the metrics."""
    only_learns: bool
    """Whether it can neither act greedily nor be frozen."""

    def start(self, state: Any, acted: bool, out: Any = None) -> Result:
        """What is held of a state; ``acted`` says whether there is an action to learn about."""
        ...

    def state(self, result: Result) -> Any:
        """The agent's state, as a tree."""
        ...

    def act(
        self,
        held: Place,
        beside: Any,
        observation: np.ndarray,
        explore: bool = True,
        frozen: bool = False,
    ) -> None: ...

    def learn(self, held: Place, beside: Any, reward: np.ndarray, *rest: Any) -> None:
        """The rest is the next observation, terminated and truncated."""
        ...

    def watch(self, held: Place, beside: Any, reward: np.ndarray, *rest: Any) -> None:
        """As ``learn``, and nothing is learned; the rest is the next observation and done."""
        ...

    def skip(self, held: Place, beside: Any, done: bool) -> None: ...

    def metrics(self, measured: Any) -> list[float]:
        """The numbers of what the last ``learn`` left at the end of its result."""
        ...

    def refused(self, result: Result) -> bool:
        """Whether the step that gave this was refused, as its numbers would not be finite."""
        ...

    def warm_up(self, held: Place) -> None:
        """Compile everything; what is held stays as it is."""
        ...


def make_engine(
    name: EngineName, agent: Any, observation_space: Any, action_space: Any, state: Any
) -> Engine:
    """An engine for states like this one."""
    choose("engine", name, get_args(EngineName))
    if name == "c":
        return CEngine(agent, observation_space, action_space, state)
    return JaxEngine(agent, state, inputs.blank(observation_space))


class JaxEngine:
    """The agent's functions, compiled for packed states; the old state is donated."""

    only_learns = False

    def __init__(self, agent: Any, state: Any, blank: np.ndarray):
        """``blank`` is an observation."""
        self.agent, self._blank = agent, blank
        self.names: list[str] = []
        self._packing = Packing(state)
        self._unbounded = [not np.isfinite(leaf).all() for leaf in _numbers(state)]
        """Which of its numbers are infinite at the start: such a one may be so again."""
        self._acts = {
            (explore, frozen): self._compiled(self._act(explore, frozen))
            for explore in (True, False)
            for frozen in (True, False)
        }
        self._watch = self._compiled(self._watched)
        self._learn = self._compiled(self._learn_or_refuse)
        self._skip = self._compiled(lambda state, done: (self._skipped(state, done), None))
        self._warm: set[int] = set()
        """The programs that have been called."""

    def _compiled(self, function: Any) -> Program:
        """A function of a state and some inputs, compiled for packed states; the old is donated."""
        packing = self._packing

        def packed(arrays: list[jax.Array], *inputs: Any) -> tuple[list[jax.Array], Any]:
            state, out = function(packing.unpack(arrays), *inputs)
            return packing.pack(state), out

        forms = [one_kernel(packed), packed] if agents.one_kernel(self.agent) else [packed]
        return Program(*forms, donate=(0,))

    def _act(self, explore: bool, frozen: bool) -> Any:
        if frozen:
            return Frozen(self.agent, explore).act
        return self.agent.act if explore else partial(self.agent.act, explore=False)

    def _watched(self, state: Any, message: jax.Array) -> tuple[Any, None]:
        reward, observation, done, _ = self._read(message)
        return Frozen(self.agent).watch(state, reward, observation, done), None

    def _learn_or_refuse(self, state: Any, message: jax.Array) -> tuple[Any, jax.Array]:
        """The agent's ``learn``, and its metrics in one array, the last of which is refusal."""
        transition = self._read(message)
        after, metrics = self.agent.learn(state, *transition)
        self.names = list(metrics)
        numbers = jnp.stack([jnp.asarray(value, float) for value in metrics.values()])
        refused = ~jnp.all(jnp.isfinite(numbers))
        if not agents.one_kernel(self.agent):  # ours refuse by themselves, and at no cost
            refused |= ~self._stays_whole(state, after)
            kept = self._skipped(state, transition[-2] | transition[-1])
            after = jax.tree.map(lambda new, old: jnp.where(refused, old, new), after, kept)
        return after, jnp.append(numbers, refused.astype(float))

    def _stays_whole(self, before: Any, after: Any) -> jax.Array:
        """Whether no number has become infinite or NaN, but where it may be infinite."""
        leaves = zip(*map(_numbers, (before, after)), self._unbounded, strict=True)
        whole = [
            (~jnp.isnan(new) if unbounded else jnp.isfinite(new)) | ~jnp.isfinite(old)
            for old, new, unbounded in leaves
        ]
        return jnp.all(jnp.stack([leaf.all() for leaf in whole]))

    def _skipped(self, state: Any, done: Any) -> Any:
        """The state after a transition that is not learned from."""
        skip = getattr(self.agent, "skip", None)
        return state if skip is None else skip(state, done)

    def start(self, state: Any, acted: bool, out: Any = None) -> Result:
        del acted
        return self._packing.pack_on_host(state), out

    def state(self, result: Result) -> Any:
        return self._packing.unpack([array.copy() for array in result[0]])

    def act(
        self,
        held: Place,
        beside: Any,
        observation: np.ndarray,
        explore: bool = True,
        frozen: bool = False,
    ) -> None:
        self._move(self._acts[explore, frozen], held, beside, observation)

    def learn(self, held: Place, beside: Any, reward: np.ndarray, *rest: Any) -> None:
        self._move(self._learn, held, beside, self._message(reward, *rest))

    def watch(self, held: Place, beside: Any, reward: np.ndarray, *rest: Any) -> None:
        self._move(self._watch, held, beside, self._message(reward, *rest, False))

    def warm_up(self, held: Place) -> None:
        observation = self._blank
        message = self._message(np.zeros((), np.float32), observation, False, False)
        programs: list[tuple[Program, Any]] = [(self._learn, message), (self._watch, message)]
        programs.append((self._skip, False))
        greedy = can_be_greedy(self.agent)
        programs += [(p, observation) for how, p in self._acts.items() if how[0] or greedy]
        for program, given in programs:
            if id(program) not in self._warm:
                self._first_call(program, held[0][0][0], given)

    def _message(self, reward: np.ndarray, observation: np.ndarray, *ends: bool) -> np.ndarray:
        """A transition as one array: what a program takes in has its price for each array."""
        message = np.empty(3 + observation.size, np.float32)
        message[0] = reward
        message[1], message[2] = ends
        message[3:] = observation.ravel()
        return message

    def _read(self, message: jax.Array) -> tuple[Any, ...]:
        """Reward, observation, terminated and truncated."""
        observation = message[3:].reshape(self._blank.shape).astype(self._blank.dtype)
        return message[0], observation, message[1] != 0, message[2] != 0

    def skip(self, held: Place, beside: Any, done: bool) -> None:
        self._move(self._skip, held, beside, done)

    def metrics(self, measured: Any) -> list[float]:
        return np.asarray(measured).tolist()

    def refused(self, result: Result) -> bool:
        return bool(np.asarray(result[1])[-1])

    def _move(self, program: Program, held: Place, beside: Any, *inputs: Any) -> None:
        """Let a program make the next state of the one that is held, and hold it.

        The first call of a program compiles it, in Python, and so is given a copy to use up.
        """
        packed = held[0][0][0]
        if id(program) in self._warm:
            results = map(program.compiled, (packed,), *((value,) for value in inputs))
            held.extend(zip(results, (beside,), strict=False))
            return
        held.append((self._first_call(program, packed, *inputs), beside))

    def _first_call(self, program: Program, packed: Any, *inputs: Any) -> Any:
        def call() -> Any:
            copies = [jnp.array(np.asarray(array)) for array in packed]
            return jax.block_until_ready(program(copies, *inputs))

        undisturbed(call)
        result = call()  # what is compiled for another thread is not for this one, if they differ
        self._warm.add(id(program))
        return result


def _numbers(state: Any) -> list[Any]:
    """The leaves of a state that are no integers, flags or keys."""
    leaves = jax.tree.leaves(state)
    return [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.inexact)]


class CEngine:
    """The agent in C, compiled on this machine. Its state is a struct that each call changes."""

    only_learns = True

    def __init__(self, agent: Any, observation_space: Any, action_space: Any, state: Any):
        self._source = export.source(agent, observation_space, action_space)
        self.names = list(self._source.metrics)
        self._like, self._arrays = state, checkpoint.flatten(state)
        self._source.layout.check_complete(self._arrays, self._source.constants)
        self._discrete = spaces.is_discrete(action_space)
        self._shape = () if self._discrete else tuple(action_space.shape)
        self._one_hot = int(observation_space.n) if spaces.is_discrete(observation_space) else 0
        double = state.observation.dtype == np.float64
        self._c = export.Library(self._source, int(np.prod(self._shape)), self._discrete, double)
        # What goes in and comes out has one place each: to ask numpy for an address takes longer
        # than a small step.
        shape = spaces.observation_shape(observation_space)
        self._seen = np.zeros(shape, self._c.dtype)
        self._action = np.zeros(self._shape, self._c.dtype)
        self._seen_at, self._action_at = ((a.ctypes.data,) for a in (self._seen, self._action))
        self._act, self._learn = (self._c.functions[name] for name in ("act", "learn"))

    def start(self, state: Any, acted: bool, out: Any = None) -> Result:
        self._c.load(self._source.layout.write(checkpoint.flatten(state), acted))
        return 0, out

    def state(self, result: Result) -> Any:
        del result
        arrays, _ = self._source.layout.read(self._c.save(), self._arrays, "the C learner")
        return checkpoint.unflatten(self._like, arrays, "the C learner")

    def act(self, held: Place, beside: Any, observation: np.ndarray, *how: bool) -> None:
        del how  # it only learns
        self._take_in(observation)
        given: list[tuple[Any, ...]] = [(self._c.address,), self._seen_at]
        results: Iterable[Any]
        if self._discrete:
            results = zip(map(self._act, *given), strict=False)
        else:
            codes = map(self._act, *given, self._action_at)
            results = zip(codes, map(np.ndarray.copy, (self._action,)), strict=False)
        held.extend(zip(results, (beside,), strict=False))

    def learn(self, held: Place, beside: Any, reward: np.ndarray, *rest: Any) -> None:
        after, terminated, truncated = rest
        self._take_in(after)
        given = (float(reward),), self._seen_at, (terminated,), (truncated,)
        codes = map(self._learn, (self._c.address,), *given)
        held.extend(zip(zip(codes, strict=False), (beside,), strict=False))

    def watch(self, held: Place, beside: Any, reward: np.ndarray, *rest: Any) -> None:
        raise NotImplementedError

    def skip(self, held: Place, beside: Any, done: bool) -> None:
        codes = map(self._c.functions["skip"], (self._c.address,), (done,))
        held.extend(zip(zip(codes, (None,), strict=False), (beside,), strict=False))

    def metrics(self, measured: Any) -> list[float]:
        del measured  # the struct has the numbers, until the next step is learned from
        return list(self._c.metrics.values())

    def refused(self, result: Result) -> bool:
        return result[0] == export.REFUSED

    def warm_up(self, held: Place) -> None:
        """It was compiled when it was made."""

    def _take_in(self, observation: np.ndarray) -> None:
        """An observation as C takes it: of one type, end to end, an integer as one-hot."""
        if self._one_hot:
            observation = np.arange(self._one_hot) == observation
        self._seen[...] = observation
