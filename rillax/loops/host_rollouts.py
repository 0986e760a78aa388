"""Rollouts in Gymnasium environments: one compiled call a step, for all seeds.

A call takes in and gives back only what playing changes, in few arrays. It reads the networks, and
what is for learning alone stays out of it.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from rillax.loops.host_envs import DIVERGED, HostEnvironments, transition
from rillax.loops.inputs import OnBadInput
from rillax.loops.interface import (
    Arrays,
    EpisodeStatistics,
    RolloutAgent,
    Tally,
    is_diverged,
    keys,
)
from rillax.loops.packing import Packing
from rillax.loops.rollouts import Rollouts, empty_rollout, put, update
from rillax.utils import checkpoint

Packed = list[Array]
Carry = tuple[Packed, Packed, Packed]
"""What a step changes: fields of the state, the sums of metrics, and the rollout."""


class _Programs:
    """The compiled parts of a step.

    They work on the state taken apart: the packed fields that acting changes, the packed fields
    that it only reads, and the rest, which no step needs.
    """

    def __init__(self, agent: RolloutAgent, state: Any, transitions: Any):
        self.agent = agent
        self._blank = state._replace(**dict.fromkeys(state._fields))
        not_read = (*agent.acting_fields, *agent.update_fields)
        self._read_fields = [name for name in state._fields if name not in not_read]
        self._acting = Packing(_fields(state, agent.acting_fields))
        self._read = Packing(_fields(state, self._read_fields))
        metrics = jax.eval_shape(lambda *x: self._measure(*x)[2], state, transitions)
        self.samples, self.metrics = Packing(state.sample), Packing(metrics)
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), metrics)
        self.no_sums = self.metrics.pack(zeros)
        self.act = jax.jit(self._act, donate_argnums=0)
        self.record = jax.jit(self._record, donate_argnums=0)
        self.record_and_act = jax.jit(self._record_and_act, donate_argnums=0)
        self.update = jax.jit(self._update, donate_argnums=0)

    def take_apart(self, state: Any) -> tuple[Packed, Packed, dict[str, Any]]:
        """The packed fields that acting changes, those that it reads, and all but the first."""
        changed = self._acting.pack(_fields(state, self.agent.acting_fields))
        read = self._read.pack(_fields(state, self._read_fields))
        return changed, read, _fields(state, (*self._read_fields, *self.agent.update_fields))

    def put_together(self, changed: Packed, rest: dict[str, Any]) -> Any:
        return self._blank._replace(**self._acting.unpack(changed), **rest)

    def _act(self, changed: Packed, read: Packed, observation: Array, seen: Array) -> Any:
        state = self.put_together(changed, self._read.unpack(read))
        state, action = jax.vmap(self.agent.act)(state, observation, seen)
        return self._acting.pack(_fields(state, self.agent.acting_fields)), action

    def _measure(self, state: Any, transitions: Any) -> Any:
        state, sample, metrics = jax.vmap(self.agent.record)(state, *transitions)
        diverged = self.agent.environments * jax.vmap(is_diverged)(metrics)
        return state, sample, {**metrics, DIVERGED: diverged.astype(float)}

    def _record(self, carry: Carry, read: Packed, transitions: Any, position: Array) -> Carry:
        changed, total, rollout = carry
        state = self.put_together(changed, self._read.unpack(read))
        state, sample, metrics = self._measure(state, transitions)
        total = [a + b for a, b in zip(total, self.metrics.pack(metrics), strict=True)]
        changed = self._acting.pack(_fields(state, self.agent.acting_fields))
        return changed, total, put(rollout, self.samples.pack(sample), position)

    def _record_and_act(
        self,
        carry: Carry,
        read: Packed,
        transitions: Any,
        position: Array,
        observation: Array,
        seen: Array,
    ) -> tuple[Carry, Array]:
        changed, total, rollout = self._record(carry, read, transitions, position)
        changed, action = self._act(changed, read, observation, seen)
        return (changed, total, rollout), action

    def _update(self, state: Any, rollout: Packed) -> Any:
        return update(self.agent, state, jax.vmap(self.samples.unpack)(rollout))


def _fields(state: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(state, name) for name in names}


class HostRollouts(Rollouts):
    """Rollouts in Gymnasium environments, as many for each seed as the agent plays in at once."""

    def __init__(
        self,
        agent: RolloutAgent,
        make_env: Callable[[], gymnasium.Env],
        seeds: Sequence[int],
        on_bad_input: OnBadInput = "raise",
    ):
        super().__init__(agent)
        self.shape = (len(seeds), agent.environments)
        envs = [make_env() for _ in range(len(seeds) * agent.environments)]
        self.envs = HostEnvironments(envs, seeds, on_bad_input, per_seed=agent.environments)
        self._usable = np.ones(len(envs), bool)
        """Which of the last transitions can be learned from."""
        spaces = self.envs.observation_space, self.envs.action_space
        state = jax.jit(jax.vmap(lambda key: agent.init(key, *spaces)))(keys(seeds))
        self._programs = _Programs(agent, state, self._transitions())
        self._take(state)
        self._rollout = empty_rollout(agent, self._programs.samples.pack(state.sample))
        self.clear()

    def clear(self) -> None:
        self._tally = Tally(self._programs.no_sums)
        self._begin_sums()
        self.envs.clear()

    def _begin_sums(self) -> None:
        self._sums = [jnp.zeros_like(sums) for sums in self._programs.no_sums]

    def _take(self, state: Any) -> None:
        self._changed, self._read, self._rest = self._programs.take_apart(state)

    def agent_state(self) -> Any:
        return self._programs.put_together(self._changed, self._rest)

    def _by_seed(self, values: np.ndarray) -> np.ndarray:
        """A copy, with an axis over seeds and one over the environments of each."""
        return values.reshape(*self.shape, *values.shape[1:]).copy()

    def _transitions(self) -> tuple[np.ndarray, ...]:
        """What ``record`` takes."""
        last = transition(self.envs.outcomes)
        values = last.reward, last.final, last.terminated, last.truncated, self._usable
        return tuple(map(self._by_seed, values))

    def _play(self, steps: int) -> None:
        for i in range(steps):
            actions = self._choose_actions(self.position + i)
            self.envs.step(actions.reshape(-1, *actions.shape[2:]))
            self._usable = self.envs.inspect().transition

    def _choose_actions(self, position: int) -> np.ndarray:
        """Record the last transitions, unless the rollout begins here, and choose actions."""
        observation = self._by_seed(self.envs.outcomes.observations[1])
        seen = self._by_seed(~self.envs.bad_observation)
        if position == 0:
            self._changed, action = self._programs.act(self._changed, self._read, observation, seen)
        else:
            carry, action = self._programs.record_and_act(
                self._carry(), self._read, self._transitions(), position - 1, observation, seen
            )
            self._changed, self._sums, self._rollout = carry
        return np.asarray(action)

    def _carry(self) -> Carry:
        return self._changed, self._sums, self._rollout

    def _learn(self) -> None:
        self._changed, self._sums, self._rollout = self._programs.record(
            self._carry(), self._read, self._transitions(), self.position - 1
        )
        self._take(self._programs.update(self.agent_state(), self._rollout))
        self._tally.add(self._sums)
        self._begin_sums()

    def _statistics(self) -> EpisodeStatistics:
        return self.envs.statistics(self._programs.metrics.unpack(self._tally.with_(self._sums)))

    def save(self) -> Arrays:
        arrays = checkpoint.flatten((self.agent_state(), self._rollout, self._sums))
        arrays |= {f"envs/{name}": value for name, value in self.envs.save().items()}
        arrays |= self._tally.save()
        return {**arrays, **self._save_position(), "usable": self._usable.copy()}

    def restore(self, arrays: Arrays, what: str) -> None:
        like = (self.agent_state(), self._rollout, self._sums)
        state, self._rollout, self._sums = checkpoint.unflatten(like, arrays, what)
        self._tally.restore(arrays, what)
        self.envs.restore(checkpoint.under("envs/", arrays), what)
        self._take(state)
        usable = checkpoint.array_like(self._usable, arrays["usable"], "usable", what)
        self._usable = usable.copy()
        self._restore_position(arrays)
