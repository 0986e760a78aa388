"""Gymnasium environments on the host: stepping, bad input, episode statistics and snapshots.

This is the only place that steps a Gymnasium environment. Loops differ in how an agent learns from
what comes back.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from rillax import spaces
from rillax._jax.callbacks import PackedBuffer
from rillax.envs.snapshot import restore, snapshot
from rillax.loops import inputs
from rillax.loops.inputs import OnBadInput
from rillax.loops.interface import Arrays, EpisodeStatistics
from rillax.utils.checkpoint import of_the_same_form, under

DIVERGED = "diverged"
"""The name under which agents' sums of metrics count diverged frames."""


class Outcomes(NamedTuple):
    """What a step of all environments led to, in few arrays."""

    numbers: Any
    """Reward, termination and truncation, of every environment."""
    observations: Any
    """The last observations of the transitions, and those to act on; they differ where an episode
    ended."""
    failed: Any
    """Not zero if an environment raised an error; then nothing else here counts."""


class Transition(NamedTuple):
    """What an agent learns from, and the observation that it acts on next."""

    reward: Any
    final: Any
    terminated: Any
    truncated: Any
    observation: Any


def transition(outcomes: Outcomes) -> Transition:
    (reward, terminated, truncated), (final, observation), _ = outcomes
    return Transition(reward, final, terminated != 0, truncated != 0, observation)


class Usable(NamedTuple):
    """Of every environment, what an agent may use because it is finite."""

    transition: Any
    """Learn from it. The observation before it has to be finite as well."""
    observation: Any
    """Act on it."""


class HostEnvironments:
    """Some Gymnasium environments for each seed, stepped one after the other.

    Arrays have one axis over all environments, those of the first seed first. ``outcomes`` is what
    the last step led to; before the first step it holds the first observations. It is a view of
    ``buffer``, which crosses into a compiled program as a single array.
    """

    def __init__(
        self,
        envs: Sequence[gymnasium.Env],
        seeds: Sequence[int],
        on_bad_input: OnBadInput = "raise",
        per_seed: int = 1,
    ):
        inputs.check_policy(on_bad_input)
        self.envs, self.seeds, self.per_seed = list(envs), list(seeds), per_seed
        self.on_bad_input: OnBadInput = on_bad_input
        if len(self.envs) != len(self.seeds) * per_seed:
            raise ValueError(
                f"{per_seed} environments for each of {len(self.seeds)} seeds are needed, got "
                f"{len(self.envs)} in all"
            )
        self.observation_space = self.envs[0].observation_space
        self._read = inputs.reader(self.observation_space)
        self.action_space = self.envs[0].action_space
        self._give = spaces.giver(self.action_space)
        self.frame = 0
        """Frames of each seed so far, over all its environments."""
        count = len(self.envs)
        self.episode_return, self.episode_length = np.zeros(count), np.zeros(count, np.int64)
        self.bad_observation = np.zeros(count, bool)
        """Where the observation to act on is not finite; what follows it is not learned from."""
        first = np.stack([self._reset(i, self.env_seed(i)) for i in range(count)])
        for i, observation in enumerate(first):
            self._refuse(i, inputs.what_is_wrong("the observation", observation), "raise")
        self.buffer = PackedBuffer(
            ((3, count), np.dtype(np.float32)),
            ((2, *first.shape), first.dtype),
            ((), np.dtype(np.int32)),
        )
        self.outcomes = Outcomes(*self.buffer.parts)
        self.outcomes.observations[:] = first
        self._rewards, self._terminations, self._truncations = self.outcomes.numbers
        self.clear()

    def env_seed(self, i: int) -> int:
        """The first environment of a seed gets that seed, the others numbers made from it."""
        seed, other = self.seeds[i // self.per_seed], i % self.per_seed
        if other == 0:
            return seed
        return int(np.random.SeedSequence((seed, other)).generate_state(1)[0])

    # Stepping.

    def step(self, actions: np.ndarray) -> None:
        """Take one action in each environment, and reset those whose episode ended."""
        observations = self.outcomes.observations
        for i, env in enumerate(self.envs):
            action = self._give(actions[i])
            observation, reward, terminated, truncated, _ = env.step(action)
            self._rewards[i] = inputs.as_reward(reward)
            self._terminations[i] = inputs.as_flag("terminated", terminated)
            self._truncations[i] = inputs.as_flag("truncated", truncated)
            observations[:, i] = self._as_array(observation)
            self.episode_return[i] += float(self._rewards[i])
            self.episode_length[i] += 1
            if self._terminations[i] or self._truncations[i]:
                observations[1, i] = self._reset(i)
                self._count_episode(i)
        self.frame += self.per_seed

    def _reset(self, i: int, seed: int | None = None) -> np.ndarray:
        return self._as_array(self.envs[i].reset(seed=seed)[0])

    def _as_array(self, observation: Any) -> np.ndarray:
        array = self._read(observation)
        if spaces.is_discrete(self.observation_space) and array.dtype != np.int32:
            raise inputs.BadInput(f"{inputs.what_is_wrong('the observation', array)}")
        return array

    # Bad input.

    def all_usable(self) -> bool:
        """Whether everything that the last step led to can be used."""
        return self._is_finite() and not self.bad_observation.any()

    def inspect(self) -> Usable:
        """What can be used of the last step; numbers that are not finite become zero.

        A transition that cannot be used is counted as skipped, or raises ``BadInput``.
        """
        usable = Usable(~self.bad_observation, np.ones(len(self.envs), bool))
        if not self._is_finite():
            last = transition(self.outcomes)
            for i in range(len(self.envs)):
                for name, values, good in (
                    ("the reward", last.reward, usable.transition),
                    ("the observation", last.final, usable.transition),
                    ("the observation", last.observation, usable.observation),
                ):
                    wrong = inputs.what_is_wrong(name, values[i])
                    self._refuse(i, wrong, self.on_bad_input)
                    good[i] &= wrong is None
            for values in (self.outcomes.numbers, self.outcomes.observations):
                np.nan_to_num(values, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
        self.bad_observation = ~usable.observation
        self._counts["skipped"] += (~usable.transition).reshape(-1, self.per_seed).sum(axis=1)
        return usable

    def _is_finite(self) -> bool:
        numbers, observations, _ = self.outcomes
        return bool(np.isfinite(numbers).all() and np.isfinite(observations).all())

    def _refuse(self, i: int, wrong: str | None, policy: OnBadInput) -> None:
        if wrong is not None:
            which = f", environment {i % self.per_seed}" if self.per_seed > 1 else ""
            where = f"seed {self.seeds[i // self.per_seed]}{which}, frame {self.frame}"
            inputs.refuse(policy, f"{where}: {wrong}; nothing was learned from it")

    # Statistics.

    def clear(self) -> None:
        """Start new statistics."""
        count = len(self.seeds)
        self._cleared = self.frame
        self._counts: Arrays = {
            "episodes": np.zeros(count, np.int64),
            "returns": np.zeros(count),
            "lengths": np.zeros(count, np.int64),
            "skipped": np.zeros(count),
        }

    def _count_episode(self, i: int) -> None:
        seed = i // self.per_seed
        self._counts["episodes"][seed] += 1
        self._counts["returns"][seed] += self.episode_return[i]
        self._counts["lengths"][seed] += self.episode_length[i]
        self.episode_return[i], self.episode_length[i] = 0.0, 0

    @property
    def counted(self) -> int:
        """Frames of each seed since the last ``clear``."""
        return self.frame - self._cleared

    def _all_counts(self) -> Arrays:
        frames = np.full(len(self.seeds), self.counted)
        return {"frames": frames} | {name: value.copy() for name, value in self._counts.items()}

    def statistics(self, metrics: Mapping[str, Any]) -> EpisodeStatistics:
        """The statistics since the last ``clear``, with the agent's sums of metrics."""
        counts = self._all_counts()
        sums = {name: np.asarray(value) for name, value in metrics.items()}
        diverged = sums.pop(DIVERGED).astype(int)
        sums["skipped"] = counts.pop("skipped")
        return EpisodeStatistics(diverged=diverged, metrics=sums, **counts)

    # Snapshots.

    def save(self) -> Arrays:
        arrays = {f"counts/{name}": value for name, value in self._all_counts().items()}
        for i, env in enumerate(self.envs):
            arrays |= {f"env/{i}/{name}": value for name, value in snapshot(env).items()}
        return arrays | {
            "frame": np.asarray(self.frame),
            "episode_return": self.episode_return.copy(),
            "episode_length": self.episode_length.copy(),
            "bad_observation": self.bad_observation.copy(),
            "numbers": self.outcomes.numbers.copy(),
            "observations": self.outcomes.observations.copy(),
        }

    def restore(self, arrays: Arrays, what: str) -> None:
        counts = of_the_same_form(self._all_counts(), under("counts/", arrays), what)
        for i, env in enumerate(self.envs):
            restore(env, under(f"env/{i}/", arrays))
        self.frame = int(arrays["frame"])
        self._cleared = self.frame - int(counts.pop("frames")[0])
        self._counts = {name: value.copy() for name, value in counts.items()}
        self.episode_return[:] = arrays["episode_return"]
        self.episode_length[:] = arrays["episode_length"]
        self.bad_observation[:] = arrays["bad_observation"]
        self.outcomes.numbers[:] = arrays["numbers"]
        self.outcomes.observations[:] = arrays["observations"]
