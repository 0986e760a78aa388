"""An agent and its state in one object, for a loop of your own: call act, then learn.

A step uses up the state before it: its memory is what the new one is written into. So between a
step and the moment that its result is kept, nothing may come: no Ctrl-C, no other thread. All that
a learner is stands in one place, ``_held``, and is exchanged in a single operation of the
interpreter (``engines``). Whatever interrupts it, it is in the state before the step, or after it.
"""

import os
import threading
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

import jax
import numpy as np

from rillax import spaces
from rillax._jax.kernels import quick_jit
from rillax.agents.frozen import require_greedy
from rillax.export import NoCompiler
from rillax.loops import inputs
from rillax.loops.engines import EngineName, Place, Result, make_engine
from rillax.loops.inputs import BadInput, OnBadInput, as_flag, as_reward, what_is_wrong
from rillax.loops.interface import require_steps
from rillax.utils import checkpoint, machine, settings
from rillax.utils.checkpoint import CheckpointError

__all__ = ["BadInput", "Learner", "NotFinite"]

_LAST = NEW, ACTED, DROPPED, LEARNED, SKIPPED = "new", "acted", "dropped", "learned", "skipped"
"""What a learner has done last; ``DROPPED``: it skipped the observation it was to act on."""
_TO_LEARN_ABOUT = (ACTED, DROPPED)

_forks = 0
"""How often this process has been forked off from another."""
_made_one = False
"""Whether this process has made a learner, and so has threads of JAX."""
_lost_threads = False
"""Whether a process that this one was forked off from had made a learner."""
_HOW = (
    "JAX's threads are not in the child: save what you have and Learner.load it in a process that "
    "was started by multiprocessing.get_context('spawn')"
)


def _forked() -> None:
    global _forks, _lost_threads
    _forks += 1
    _lost_threads |= _made_one


def _require_threads() -> None:
    """Raise a RuntimeError where a new learner would wait for threads that are not there."""
    if _lost_threads:
        raise RuntimeError(
            f"this process was forked off from one that had made a learner, and {_HOW}"
        )


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forked)


class NotFinite(BadInput):
    """To learn from a transition would have made the agent infinite or NaN; it was skipped."""


class UntrustedFile(CheckpointError, settings.Untrusted):
    """A file names code that may not be imported because of it."""


class _Beside(NamedTuple):
    """What a learner knows beside the agent's state."""

    step: int = 0
    skipped: int = 0
    last: str = NEW
    frozen: bool = False
    action: Any = None
    """The action before the last call, as the agent gave it; None before the first."""
    metrics: Any = None
    """What was measured before the last call."""


class _Held(NamedTuple):
    """All that a learner is."""

    result: Result
    """What the engine gave last: of the state, and at the end an action or metrics."""
    beside: _Beside

    @property
    def action(self) -> Any:
        return self.result[-1] if self.beside.last == ACTED else self.beside.action

    @property
    def metrics(self) -> Any:
        return self.result[-1] if self.beside.last == LEARNED else self.beside.metrics


def _after(held: tuple[Any, Any], last: str, seen: int = 0, skipped: int = 0) -> _Beside:
    """What is beside the state after one more call, which saw and skipped so many.

    Every step comes through here, and Python is slow once a step has filled the processor's cache.
    """
    step, dropped, before, frozen, action, metrics = held[1]
    if before == ACTED:
        action = held[0][-1]
    elif before == LEARNED:
        metrics = held[0][-1]
    return _new(_Beside, (step + seen, dropped + skipped, last, frozen, action, metrics))


_new = tuple.__new__


class Learner:
    """An agent and its state, for loops that are not written in JAX.

    >>> import gymnasium as gym
    >>> from rillax.agents import StreamAC
    >>> from rillax.cells import RTU
    >>> from rillax.networks import Architecture
    >>> env = gym.make("CartPole-v1")
    >>> agent = StreamAC(network=Architecture(cell=RTU(8), width=8))
    >>> learner = Learner(agent, env.observation_space, env.action_space, seed=0)
    >>> observation, _ = env.reset(seed=0)
    >>> for _ in range(3):
    ...     action = learner.act(observation)
    ...     observation, reward, terminated, truncated, _ = env.step(action)
    ...     learner.learn(reward, observation, terminated, truncated)
    ...     if terminated or truncated:
    ...         observation, _ = env.reset()

    Memory and time per step are fixed. A NaN or an infinity in an observation or reward raises
    ``BadInput`` and changes nothing. With ``on_bad_input="skip"`` that transition is dropped
    instead: memory is kept, the last action is repeated, and ``skipped`` counts it.

    A step that would leave the agent with numbers that are not finite is refused: its transition is
    skipped, which raises ``NotFinite`` or, with ``on_bad_input="skip"``, is counted.

    After an interrupt (Ctrl-C) in any call, the learner is in the state before that step or after
    it. Several threads may use one; ``save`` in one waits for a step in another.

    ``Learner.from_run`` takes a seed of a trained run, ``freeze`` turns learning off, and
    ``act(observation, explore=False)`` is greedy.

    ``engine="c"`` takes the steps in C, compiled on this machine (docs/device.md).
    """

    def __init__(
        self,
        agent: Any,
        observation_space: Any,
        action_space: Any,
        seed: int = 0,
        on_bad_input: OnBadInput = "raise",
        engine: EngineName = "jax",
    ):
        global _made_one
        _require_threads()
        _made_one = True
        inputs.check_policy(on_bad_input)
        require_steps(agent, "a Learner needs a streaming agent such as StreamAC")
        self.agent = agent
        self.observation_space, self.action_space = observation_space, action_space
        self.on_bad_input: OnBadInput = on_bad_input
        self._read = inputs.reader(observation_space)
        self._give = spaces.giver(action_space)

        machine.keep_compilations()
        start = quick_jit(lambda key: agent.init(key, observation_space, action_space))
        state = start(jax.random.key(seed))
        self._engine = make_engine(engine, agent, observation_space, action_space, state)
        self._held: Place = deque(maxlen=1)
        """What ``_Held`` describes, as a plain tuple."""
        self._held.append((self._engine.start(state, acted=False), _Beside()))
        self._lock, self._fork = threading.RLock(), _forks

    # What it is.

    def _now(self) -> _Held:
        return _Held(*self._held[0])

    def _require_same_process(self) -> None:
        """Call it before the lock is taken: at the fork another thread may have held it."""
        if self._fork != _forks:
            raise RuntimeError(f"this learner was made before the process was forked, and {_HOW}")

    @property
    def state(self) -> Any:
        """The agent's state, as a tree."""
        self._require_same_process()
        with self._lock:
            return self._engine.state(self._held[0][0])

    @property
    def step(self) -> int:
        """Transitions seen, learned from or not."""
        return self._held[0][1].step

    @property
    def skipped(self) -> int:
        """Transitions dropped for bad input, or refused."""
        return self._held[0][1].skipped

    @property
    def metrics(self) -> dict[str, float]:
        """What the last ``learn`` measured, and how many transitions have been skipped so far."""
        self._require_same_process()
        with self._lock:
            measured, skipped = self._now().metrics, self.skipped
            values = () if measured is None else self._engine.metrics(measured)
        return {**dict(zip(self._engine.names, values, strict=False)), "skipped": float(skipped)}

    @property
    def frozen(self) -> bool:
        """Whether learning is off."""
        return self._held[0][1].frozen

    # What it does.

    def freeze(self) -> None:
        """Turn learning off, until ``thaw``.

        Parameters and running statistics then stay as they are, and ``learn`` lets the transition
        go by. Memory works as ever, so ``learn`` still has to be called: it says when an episode
        ends. A frozen learner is saved and loaded as one.
        """
        self._require_whole("frozen")
        self._set_frozen(True)

    def thaw(self) -> None:
        """Turn learning on again; it goes on from where it was."""
        self._set_frozen(False)

    def _set_frozen(self, frozen: bool) -> None:
        self._require_same_process()
        with self._lock:
            result, beside = self._held[0]
            self._held.append((result, beside._replace(frozen=frozen)))

    def _require_whole(self, what: str) -> None:
        if self._engine.only_learns:
            raise ValueError(
                f"engine='c' acts as in training and learns, so it cannot be {what}: save the "
                "learner and Learner.load it without engine='c'"
            )

    def warm_up(self) -> None:
        """Compile all that the learner will ever need, so that no later call has to.

        Acting with and without exploration, learning, skipping, all that once more for a frozen
        learner, and saving. The learner stays as it is.
        """
        self._require_same_process()
        with self._lock:
            self._engine.warm_up(self._held)
            checkpoint.flatten(self.state)

    def act(self, observation: Any, explore: bool = True) -> Any:
        """Take in an observation and choose an action for the environment.

        Without ``explore`` it is the best action, the likeliest or the mean, as the agent has it.
        """
        self._require_same_process()
        if not explore:
            self._require_whole("greedy")
            require_greedy(self.agent, "act with explore=True")
        array = self._read(observation)
        wrong = what_is_wrong("the observation", array)
        with self._lock:
            held = self._held[0]
            if wrong is not None:
                self._refuse(wrong)
                self._held.append(((*held[0][:-1], None), _after(held, DROPPED)))
            else:
                how = bool(explore), held[1].frozen
                self._engine.act(self._held, _after(held, ACTED), array, *how)
            action = self._now().action
        return self._give(spaces.neutral_action(self.action_space) if action is None else action)

    def learn(
        self,
        reward: float,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from what the last action led to, and forget the sample.

        A frozen learner only sees it go by.
        """
        self._require_same_process()
        array = self._read(next_observation)
        number = as_reward(reward)
        ends = as_flag("terminated", terminated), as_flag("truncated", truncated)
        wrong = what_is_wrong("the reward", number) or what_is_wrong("the next observation", array)
        with self._lock:
            held = self._held[0]
            last, frozen = held[1].last, held[1].frozen
            if last not in _TO_LEARN_ABOUT:
                self._refuse_order()
            if wrong is not None:
                self._refuse(wrong)
            if wrong is not None or last == DROPPED:
                self._engine.skip(self._held, _after(held, SKIPPED, 1, 1), any(ends))
                return
            if frozen:
                self._engine.watch(self._held, _after(held, SKIPPED, 1), number, array, any(ends))
                return
            self._engine.learn(self._held, _after(held, LEARNED, 1), number, array, *ends)
            result, beside = self._held[0]
            if self._engine.refused(result):
                self._held.append((result, beside._replace(skipped=beside.skipped + 1)))
                inputs.refuse(self.on_bad_input, _not_finite(beside.step), NotFinite)

    def _refuse_order(self) -> None:
        said = "before act" if self.step == 0 else "twice"
        raise BadInput(
            f"learn was called {said}: there is no action to learn about; call act first"
        )

    def _refuse(self, wrong: str) -> None:
        inputs.refuse(
            self.on_bad_input,
            f"step {self.step}: {wrong}; nothing was learned and nothing changed "
            "(on_bad_input='skip' drops such a transition)",
        )

    # Files.

    def save(self, path: str | Path) -> None:
        """Write the whole learner into one file, atomically."""
        self._require_same_process()
        with self._lock:
            meta, state = self.describe(), self.state
        arrays = checkpoint.flatten(state)
        if (name := _not_a_number(arrays)) is not None:
            raise CheckpointError(
                f"the learner was not saved to {path}: {name} is not finite; load an earlier file"
            )
        checkpoint.save(path, arrays, meta)

    def describe(self) -> dict[str, Any]:
        """Everything about the learner but the arrays of its state, as JSON can hold it."""
        held = self._now()
        action = None if held.action is None else np.asarray(held.action).tolist()
        return {
            "kind": "learner",
            "agent": settings.to_json(self.agent),
            "observation_space": spaces.describe(self.observation_space),
            "action_space": spaces.describe(self.action_space),
            "on_bad_input": self.on_bad_input,
            "step": held.beside.step,
            "skipped": held.beside.skipped,
            "last": held.beside.last,
            "frozen": held.beside.frozen,
            "action": action,
        }

    @classmethod
    def load(
        cls,
        path: str | Path,
        agent: Any = None,
        trust: bool = False,
        engine: EngineName = "jax",
    ) -> Self:
        """The learner as it was saved, to the bit.

        Code is not in the file. An agent, cell or rule of your own is taken from the module it was
        defined in, which you have imported, or say that the file may import with ``trust``. An
        agent with a function of your own, such as an encoder, is given as ``agent``.
        """
        _require_threads()
        arrays, meta = checkpoint.load(path)
        if meta.get("kind") != "learner":
            raise CheckpointError(f"{path} holds a {meta.get('kind')}, not a learner")
        if (name := _not_a_number(arrays)) is not None:
            raise CheckpointError(f"{path} cannot be used: {name} in it is not finite")
        try:
            return cls._from(path, arrays, meta, agent, trust, engine)
        except (CheckpointError, NoCompiler):
            raise
        except settings.Untrusted as error:
            raise UntrustedFile(f"{path} cannot be used: {error}") from error
        except Exception as error:  # a file from a stranger may raise anything
            raise CheckpointError(f"{path} cannot be used: {error}") from error

    @classmethod
    def _from(
        cls,
        path: Any,
        arrays: Any,
        meta: Mapping[str, Any],
        agent: Any,
        trust: bool,
        engine: EngineName,
    ) -> Any:
        """The learner that a file describes. Nothing is built before its arrays are seen to fit."""
        agent, observed, acted = described(meta, agent, trust)
        shapes = jax.eval_shape(lambda key: agent.init(key, observed, acted), jax.random.key(0))
        state = checkpoint.unflatten(shapes, arrays, str(path))
        beside = _beside(meta, acted)
        learner = cls(agent, observed, acted, on_bad_input=meta["on_bad_input"], engine=engine)
        if beside.frozen:
            learner._require_whole("frozen")
        learner._go_on(state, beside)
        return learner

    @classmethod
    def from_run(
        cls,
        path: str | Path,
        seed: int | None = None,
        on_bad_input: OnBadInput = "raise",
        trust: bool = False,
        engine: EngineName = "jax",
    ) -> Self:
        """One seed of a run that ``rillax train`` wrote, the first if not given.

        It stands where the run stopped and begins a new episode. It goes on learning, unless it is
        frozen; the run's directory stays as it is. ``trust`` is as in ``load``.
        """
        _require_threads()
        # Runs are of a room above this one, so it is looked up by name as the parts of a file are.
        open_run = settings.find("rillax.experiments.learners:open_run")
        run, (observed, acted), state = open_run(Path(path), seed, trust)
        learner = cls(run.agent, observed, acted, on_bad_input=on_bad_input, engine=engine)
        learner.begin_with(state)
        return learner

    def _go_on(self, state: Any, beside: _Beside) -> None:
        acted = beside.last == ACTED
        self._require_same_process()
        with self._lock:
            result = self._engine.start(state, acted, beside.action if acted else None)
            self._held.append((result, beside))

    def go_on(self, state: Any, acted: bool = False) -> None:
        """Go on from a state of the agent; ``acted``: it has an action to learn about."""
        step, action = int(getattr(state, "step", 0)), None
        if (acted or step) and hasattr(state, "action"):
            action = np.asarray(state.action)
            if getattr(state, "bounds", None) is not None:
                low, high = map(np.asarray, state.bounds)
                action = np.clip(action.reshape(low.shape), low, high)
        last = ACTED if acted else LEARNED if step else NEW
        self._go_on(state, _Beside(step + self.skipped, self.skipped, last, action=action))

    def begin_with(self, state: Any) -> None:
        """Go on from a state of the agent with a new episode."""
        self._require_same_process()
        skip = getattr(self.agent, "skip", None)
        self.go_on(state if skip is None else jax.jit(skip)(state, True))

    @property
    def acted(self) -> bool:
        """Whether there is an action to learn about."""
        return self._held[0][1].last == ACTED


def described(meta: Mapping[str, Any], agent: Any = None, trust: bool = False) -> Any:
    """The agent and the spaces of what ``Learner.describe`` described."""
    if agent is None:
        agent = settings.from_json(meta["agent"], trust)
        settings.check_numbers(agent)
    return agent, *(spaces.rebuild(meta[f"{n}_space"]) for n in ("observation", "action"))


def _beside(meta: Mapping[str, Any], action_space: Any) -> _Beside:
    """What a file says beside the agent's state."""
    step, skipped, last, action = (meta[name] for name in ("step", "skipped", "last", "action"))
    frozen = meta.get("frozen", False)
    counted = all(isinstance(n, int) and n >= 0 for n in (step, skipped))
    if not counted or last not in _LAST or frozen not in (True, False):
        raise ValueError(f"its counters are not right: {step}, {skipped}, {last!r:.20}")
    if action is not None:
        shape, dtype = spaces.action_form(action_space)
        action = np.asarray(action, dtype)
        if action.shape != shape:
            raise ValueError(f"its last action has shape {action.shape}")
    return _Beside(step, skipped, last, bool(frozen), action)


def _not_finite(step: int) -> str:
    return (
        f"step {step}: to learn from this transition would leave the agent with numbers that are "
        "not finite, so it was skipped; either an input is far too large, or the agent is "
        "diverging and needs a smaller step size (on_bad_input='skip' only counts such transitions)"
    )


def _not_a_number(arrays: Mapping[str, np.ndarray]) -> str | None:
    """Which array has a number that is not finite; bounds of actions may be infinite."""
    for name, array in arrays.items():
        if array.dtype.kind != "f":
            continue
        bad = np.isnan(array) if ".bounds" in name else ~np.isfinite(array)
        if bad.any():
            return name
    return None
