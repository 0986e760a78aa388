"""An agent and its state in one object, for a loop of your own: call act, then learn."""

from pathlib import Path
from typing import Any, Self

import numpy as np

from rillax import spaces
from rillax.loops import inputs
from rillax.loops.engines import EngineName, make_engine
from rillax.loops.inputs import BadInput, OnBadInput, as_observation, what_is_wrong
from rillax.loops.interface import require_steps
from rillax.utils import checkpoint, settings

__all__ = ["BadInput", "Learner"]


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
        inputs.check_policy(on_bad_input)
        require_steps(agent, "a Learner needs a streaming agent such as StreamAC")
        self.agent = agent
        self.observation_space, self.action_space = observation_space, action_space
        self.on_bad_input: OnBadInput = on_bad_input
        self.step = 0
        """Transitions seen, learned from or not."""
        self.skipped = 0
        """Transitions dropped for bad input."""
        self._dropped = False
        self._last: np.ndarray | None = None
        self._engine = make_engine(engine, agent, observation_space, action_space, seed)

    @property
    def state(self) -> Any:
        """The agent's state, as a tree."""
        return self._engine.get_state()

    @property
    def acted(self) -> bool:
        """Whether an action was ever chosen."""
        return self._last is not None

    def go_on(self, state: Any, acted: bool = True) -> None:
        """Go on from a state of the agent; ``acted``: it has an action to learn about."""
        self._engine.set_state(state, acted)
        self.step = int(state.step) + self.skipped
        discrete = spaces.is_discrete(self.action_space)
        if not acted:
            self._last = None
        elif discrete:
            self._last = np.asarray(state.action) + inputs.first(self.action_space)
        else:
            bounds = spaces.action_bounds(self.action_space)
            self._last = np.clip(np.reshape(state.action, self.action_space.shape), *bounds)

    @property
    def metrics(self) -> dict[str, float]:
        """What the last ``learn`` measured, and how many transitions have been skipped so far."""
        return {**self._engine.metrics, "skipped": float(self.skipped)}

    def act(self, observation: Any) -> Any:
        """Take in an observation and choose an action for the environment."""
        array = as_observation(observation, self.observation_space)
        if (wrong := what_is_wrong("the observation", array)) is not None:
            self._refuse(wrong)
            self._dropped = True
            return self._neutral() if self._last is None else self._last
        self._last = self._engine.act(array)
        if spaces.is_discrete(self.action_space):
            self._last = self._last + inputs.first(self.action_space)
        return self._last

    def learn(
        self,
        reward: float,
        next_observation: Any,
        terminated: bool = False,
        truncated: bool = False,
    ) -> None:
        """Learn from what the last action led to, and forget the sample."""
        if self._last is None and not self._dropped:
            raise ValueError("learn was called before act: there is no action to learn about")
        array = as_observation(next_observation, self.observation_space)
        number = np.asarray(reward, np.float32)
        wrong = what_is_wrong("the reward", number) or what_is_wrong("the next observation", array)
        if wrong is not None:
            self._refuse(wrong)
        self.step += 1
        if wrong is not None or self._dropped:
            self.skipped += 1
            self._dropped = False
            self._engine.skip(bool(terminated) or bool(truncated))
            return
        self._engine.learn(number, array, bool(terminated), bool(truncated))

    def _refuse(self, wrong: str) -> None:
        inputs.refuse(
            self.on_bad_input,
            f"step {self.step}: {wrong}; nothing was learned and nothing changed "
            "(on_bad_input='skip' drops such a transition)",
        )

    def _neutral(self) -> np.ndarray:
        """An action before any has been chosen: the first one, or the middle of the box."""
        if spaces.is_discrete(self.action_space):
            return np.asarray(inputs.first(self.action_space))
        low, high = (np.asarray(b) for b in spaces.action_bounds(self.action_space))
        return np.nan_to_num((low + high) / 2, nan=0.0, posinf=0.0, neginf=0.0)

    def save(self, path: str | Path) -> None:
        """Write the whole learner into one file, atomically."""
        checkpoint.save(path, checkpoint.flatten(self.state), self.describe())

    def describe(self) -> dict[str, Any]:
        """Everything about the learner but the arrays of its state, as JSON can hold it."""
        return {
            "kind": "learner",
            "agent": settings.to_json(self.agent),
            "observation_space": spaces.describe(self.observation_space),
            "action_space": spaces.describe(self.action_space),
            "on_bad_input": self.on_bad_input,
            "step": self.step,
            "skipped": self.skipped,
            "dropped": self._dropped,
            "last": None if self._last is None else self._last.tolist(),
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
        arrays, meta = checkpoint.load(path)
        if meta.get("kind") != "learner":
            raise checkpoint.CheckpointError(f"{path} holds a {meta.get('kind')}, not a learner")
        learner = cls.described(meta, agent, trust, engine)
        state = checkpoint.unflatten(learner.state, arrays, str(path))
        learner._engine.set_state(state, learner.acted)
        return learner

    @classmethod
    def described(
        cls,
        meta: dict[str, Any],
        agent: Any = None,
        trust: bool = False,
        engine: EngineName = "jax",
    ) -> Self:
        """The learner that ``describe`` described, with a new state."""
        learner = cls(
            settings.from_json(meta["agent"], trust) if agent is None else agent,
            spaces.rebuild(meta["observation_space"]),
            spaces.rebuild(meta["action_space"]),
            on_bad_input=meta["on_bad_input"],
            engine=engine,
        )
        learner.step, learner.skipped = meta["step"], meta["skipped"]
        learner._dropped = meta["dropped"]
        if meta["last"] is not None:
            kind = np.int64 if spaces.is_discrete(learner.action_space) else np.float32
            learner._last = np.asarray(meta["last"], kind)
        return learner
