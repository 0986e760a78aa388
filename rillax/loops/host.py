"""The loop of a streaming agent beside Gymnasium environments: one for each seed.

It is compiled too. In each frame it learns from the last transitions, chooses the next actions, and
calls the host, which steps the environments (``rillax._jax.callbacks``). Nothing but actions and
outcomes crosses over.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from rillax import agents
from rillax._jax.callbacks import PackedBuffer, host_call
from rillax._jax.kernels import Program, one_kernel, quick_jit
from rillax.loops.compiled import unchanged
from rillax.loops.host_envs import (
    DIVERGED,
    HostEnvironments,
    Outcomes,
    Transition,
    Usable,
    transition,
)
from rillax.loops.inputs import OnBadInput
from rillax.loops.interface import (
    DRAINED,
    Agent,
    Arrays,
    EpisodeStatistics,
    Tally,
    is_diverged,
    keys,
)
from rillax.loops.packing import Packing
from rillax.utils import checkpoint

# ---- the compiled parts; all are of several seeds


def _learn(agent: Agent, state: Any, t: Transition) -> Any:
    state, metrics = agent.learn(state, t.reward, t.final, t.terminated, t.truncated)
    return state, {**metrics, DIVERGED: is_diverged(metrics).astype(float)}


def _learn_and_act(agent: Agent, state: Any, sums: Any, outcomes: Outcomes) -> Any:
    def one(state: Any, t: Transition) -> Any:
        state, metrics = _learn(agent, state, t)
        state, action = agent.act(state, t.observation)
        return state, metrics, action

    state, metrics, action = jax.vmap(one)(state, transition(outcomes))
    return state, jax.tree.map(jnp.add, sums, metrics), action


def _learn_and_act_where_usable(
    agent: Agent, state: Any, sums: Any, outcomes: Outcomes, usable: Usable, last: Any
) -> Any:
    """As ``_learn_and_act``, where something is not usable for one of the seeds.

    Such a transition is skipped, and in the place of an action on such an observation the ``last``
    one is repeated.
    """

    def choose(condition: Any, yes: Any, no: Any) -> Any:
        return jax.tree.map(lambda y, n: jnp.where(condition, y, n), yes, no)

    def one(state: Any, t: Transition, usable: Usable, last: Any) -> Any:
        learned, metrics = _learn(agent, state, t)
        skipped = agent.skip(state, t.terminated | t.truncated)
        state = choose(usable.transition, learned, skipped)
        metrics = choose(usable.transition, metrics, jax.tree.map(jnp.zeros_like, metrics))
        acted, action = agent.act(state, t.observation)
        seen = usable.observation
        return choose(seen, acted, state), metrics, jnp.where(seen, action, last)

    state, metrics, action = jax.vmap(one)(state, transition(outcomes), usable, last)
    return state, jax.tree.map(jnp.add, sums, metrics), action


def _frames(agent: Agent, buffer: PackedBuffer, step: Callable, wrap: Callable) -> Callable:
    """The loop: ``step`` is called on the host, ``wrap`` is put around the agent's part of a frame.

    It stops early where an outcome is not finite or ``step`` failed. It carries few arrays, because
    XLA hands out a task for each one that it copies.
    """

    def read(words: jax.Array) -> Outcomes:
        return Outcomes(*buffer.read(words))

    def frames(state: Any, sums: Any, words: jax.Array, count: jax.Array) -> Any:
        packing = Packing((state, sums))
        packed = packing.pack((state, sums))

        @wrap
        def think(left: jax.Array, packed: Any, words: jax.Array) -> Any:
            state, sums = packing.unpack(packed)
            state, sums, action = _learn_and_act(agent, state, sums, read(words))
            return left - 1, packing.pack((state, sums)), action

        def frame(carry: Any) -> Any:
            left, packed, action = think(*carry)
            return left, packed, host_call(step, action, carry[-1])

        def goes_on(carry: Any) -> Any:
            left, _, words = carry
            outcomes = read(words)
            fine = jnp.isfinite(outcomes.numbers).all()
            fine &= jnp.isfinite(outcomes.observations).all()
            return (left > 0) & (outcomes.failed == 0) & fine

        _, packed, _ = jax.lax.while_loop(goes_on, frame, (count, packed, words))
        return packing.unpack(packed)

    return frames


# ---- the loop


class HostLoop:
    """Several seeds, each beside a Gymnasium environment of its own."""

    def __init__(
        self,
        agent: Agent,
        envs: Sequence[gymnasium.Env],
        seeds: Sequence[int],
        on_bad_input: OnBadInput = "raise",
    ):
        self.envs = HostEnvironments(envs, seeds, on_bad_input)
        spaces = self.envs.observation_space, self.envs.action_space
        self._state = quick_jit(jax.vmap(lambda key: agent.init(key, *spaces)))(keys(seeds))
        self._last: Any = None
        """The last actions."""
        self._raised: BaseException | None = None

        self._acts = act = jax.vmap(agent.act)
        fast = agents.one_kernel(agent)
        frames = partial(_frames, agent, self.envs.buffer, self._step)
        acts = [one_kernel(act), act] if fast else [act]
        loops = [frames(one_kernel), frames(unchanged)] if fast else [frames(unchanged)]
        self._act = Program(*acts, donate=(0,))
        self._frames = Program(*loops, donate=(0, 1))
        self._careful = jax.jit(partial(_learn_and_act_where_usable, agent), donate_argnums=(0, 1))
        _, self._metrics = jax.eval_shape(
            jax.vmap(partial(_learn, agent)), self._state, transition(self.envs.outcomes)
        )
        self.clear()

    def clear(self) -> None:
        self._tally = Tally(self._metrics)
        self._begin_sums()
        self.envs.clear()

    def _begin_sums(self) -> None:
        self._sums = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self._metrics)

    def run(self, frames: int) -> EpisodeStatistics:
        last = self.envs.frame + frames
        while self.envs.frame < last:
            drain = self.envs.frame + DRAINED - self.envs.counted % DRAINED
            self._run_until(min(last, drain))
            if self.envs.frame == drain:
                self._tally.add(self._sums)
                self._begin_sums()
        return self.envs.statistics(self._tally.with_(self._sums))

    def _run_until(self, end: int) -> None:
        envs = self.envs
        while envs.frame < end:
            if envs.frame > 0 and envs.all_usable():
                self._state, self._sums = self._frames(
                    self._state, self._sums, envs.buffer.words.copy(), end - envs.frame
                )
                jax.block_until_ready(self._sums)
            else:
                self._step(self._choose_actions())
            if self._raised is not None:
                error, self._raised = self._raised, None
                envs.outcomes.failed[...] = 0
                raise error

    def _step(self, actions: np.ndarray) -> tuple[np.ndarray]:
        """Step the environments; the outcomes are what the agent learns from next.

        The compiled loop calls this, so an error waits until the loop has returned.
        """
        try:
            # A copy, because the compiled loop's own array need not outlive the call.
            self._last = actions.copy()
            self._last.setflags(write=False)
            self.envs.step(self._last)
        except BaseException as error:
            self._raised = error
            self.envs.outcomes.failed[...] = 1
        return (self.envs.buffer.words,)

    def _choose_actions(self) -> np.ndarray:
        """The actions of the first frame, or of one in which something may not be usable."""
        outcomes = self.envs.outcomes
        if self.envs.frame == 0:
            self._state, action = self._act(self._state, outcomes.observations[1])
        else:
            usable = self.envs.inspect()
            self._state, self._sums, action = self._careful(
                self._state, self._sums, outcomes, usable, self._last
            )
        return np.asarray(action)

    def agent_state(self) -> Any:
        return self._state

    def save(self) -> Arrays:
        arrays = {f"agent{k}": v for k, v in checkpoint.flatten(self._state).items()}
        arrays |= {f"sums/{name}": np.asarray(value) for name, value in self._sums.items()}
        arrays |= {f"envs/{name}": value for name, value in self.envs.save().items()}
        arrays |= self._tally.save()
        if self._last is not None:
            arrays["last"] = self._last.copy()
        return arrays

    def restore(self, arrays: Arrays, what: str) -> None:
        def under(prefix: str) -> Arrays:
            return checkpoint.under(prefix, arrays)

        state = checkpoint.unflatten(self._state, under("agent"), what)
        self.envs.restore(under("envs/"), what)
        self._tally.restore(arrays, what)
        sums = checkpoint.of_the_same_form(self._sums, under("sums/"), what)
        self._sums = {name: jnp.asarray(value) for name, value in sums.items()}
        self._last = arrays.get("last")
        if self._last is not None:
            _, action = jax.eval_shape(self._acts, state, self.envs.outcomes.observations[1])
            checkpoint.array_like(action, self._last, "last", what)
        self._state = state
