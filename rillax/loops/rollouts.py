"""The loop of an agent that learns from rollouts: it plays for a while, then learns, in turns.

All seeds are at the same place in their rollouts, and the host knows it. So playing and learning
are two compiled programs, and neither waits inside the other. Seeds play side by side and learn one
after the other: what an update needs most, the sensitivities of a whole rollout, exists for one
seed at a time.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from rillax.envs.environment import Environment
from rillax.loops.compiled import count_step
from rillax.loops.interface import (
    Arrays,
    EpisodeStatistics,
    LoopState,
    RolloutAgent,
    Tally,
    is_diverged,
    keys,
)
from rillax.utils import checkpoint

T = TypeVar("T")


def memory_needed(
    agent: RolloutAgent, observation_space: Any, action_space: Any, seeds: int
) -> int:
    """Bytes that rollouts and learning from them take, from the shapes alone."""

    def shapes(key: PRNGKeyArray) -> Any:
        state = agent.init(key, observation_space, action_space)
        rollout = empty_rollout(agent, state.sample)
        return (state, rollout), agent.batch(state, rollout)

    kept, learning = jax.eval_shape(shapes, jax.random.key(0))
    return seeds * bytes_of(kept) + bytes_of(learning)


def bytes_of(tree: Any) -> int:
    """What the arrays of a tree take, or would take if they were there."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if not checkpoint.is_key(leaf)]
    return sum(leaf.size * leaf.dtype.itemsize for leaf in leaves)


# ---- what both kinds of environment share


def empty_rollout(agent: RolloutAgent, sample: T) -> T:
    """Room for a rollout of samples of this shape; its first axis is over steps."""
    return jax.tree.map(lambda leaf: jnp.zeros((agent.rollout, *leaf.shape), leaf.dtype), sample)


def put(rollout: T, sample: T, position: Int[Array, ""]) -> T:
    """The rollout with a sample at this step."""

    def one(room: Array, leaf: Array) -> Array:
        return jax.lax.dynamic_update_index_in_dim(room, leaf, position, axis=0)

    return jax.tree.map(one, rollout, sample)


def update(agent: RolloutAgent, states: Any, rollouts: Any) -> Any:
    """Let every seed learn from its rollout, one after the other."""
    per_seed = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), rollouts)
    return jax.lax.map(lambda x: agent.update(*x), (states, per_seed))


class Rollouts:
    """When to play and when to learn, however the frames are cut into calls."""

    def __init__(self, agent: RolloutAgent):
        self.agent = agent
        self.position = 0
        """Steps of the rollout under way."""
        self.owed = 0
        """Frames that were asked for, but are too few for a step of all environments."""

    def run(self, frames: int) -> EpisodeStatistics:
        steps, self.owed = divmod(self.owed + frames, self.agent.environments)
        while True:
            now = min(steps, self.agent.rollout - self.position)
            self._play(now)
            self.position, steps = self.position + now, steps - now
            if self.position == self.agent.rollout:
                self._learn()
                self.position = 0
            if steps == 0:
                return self._statistics()

    def _play(self, steps: int) -> None:
        raise NotImplementedError

    def _learn(self) -> None:
        raise NotImplementedError

    def _statistics(self) -> EpisodeStatistics:
        raise NotImplementedError

    def _save_position(self) -> Arrays:
        return {"position": np.asarray(self.position), "owed": np.asarray(self.owed)}

    def _restore_position(self, arrays: Arrays) -> None:
        self.position, self.owed = int(arrays["position"]), int(arrays["owed"])
        within = 0 <= self.position < self.agent.rollout
        if not (within and 0 <= self.owed < self.agent.environments):
            raise ValueError(f"it stands at step {self.position} of a rollout, {self.owed} owed")


# ---- JAX environments


class CompiledRollouts(Rollouts):
    """Rollouts in a JAX environment, played in one compiled loop."""

    def __init__(self, agent: RolloutAgent, env: Environment, seeds: Sequence[int]):
        super().__init__(agent)
        self.env = env
        self.state = _begin(agent, env, keys(seeds))
        self.rollout = empty_rollout(agent, self.state.agent.sample)
        one = partial(step, agent, env)
        self.statistics = jax.eval_shape(lambda state: jax.vmap(one)(state)[2], self.state)
        self.clear()

    def clear(self) -> None:
        self._tally = Tally(self.statistics)
        self._begin_sums()

    def _begin_sums(self) -> None:
        self.statistics = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), self.statistics
        )

    def _play(self, steps: int) -> None:
        self.state, self.statistics, self.rollout = _play(
            self.agent, self.env, self.state, self.statistics, self.rollout, self.position, steps
        )

    def _learn(self) -> None:
        self.state = self.state._replace(agent=_update(self.agent, self.state.agent, self.rollout))
        self._tally.add(self.statistics)
        self._begin_sums()

    def _statistics(self) -> EpisodeStatistics:
        return self._tally.with_(self.statistics)

    def save(self) -> Arrays:
        tree = self.state, self.statistics, self.rollout
        return {**checkpoint.flatten(tree), **self._tally.save(), **self._save_position()}

    def restore(self, arrays: Arrays, what: str) -> None:
        like = self.state, self.statistics, self.rollout
        self.state, self.statistics, self.rollout = checkpoint.unflatten(like, arrays, what)
        self._tally.restore(arrays, what)
        self._restore_position(arrays)

    def agent_state(self) -> Any:
        return self.state.agent


@partial(jax.jit, static_argnums=(0, 1))
def _begin(agent: RolloutAgent, env: Environment, keys: PRNGKeyArray) -> LoopState:
    """New agents at the first observations of their environments."""
    params, count = env.default_params, agent.environments

    def one(key: PRNGKeyArray) -> LoopState:
        key, key_agent, key_env = jax.random.split(key, 3)
        observation, environment = jax.vmap(env.reset_env, (0, None))(
            jax.random.split(key_env, count), params
        )
        state = agent.init(key_agent, env.observation_space(params), env.action_space(params))
        going = jnp.zeros(count), jnp.zeros(count), jnp.zeros(count, jnp.int32)
        return LoopState(state, environment, observation, key, *going)

    return jax.vmap(one)(keys)


def step(
    agent: RolloutAgent, env: Environment, state: LoopState
) -> tuple[LoopState, Any, EpisodeStatistics]:
    """One step of every environment of one seed; the statistics are sums over them."""
    key, key_env = jax.random.split(state.key)
    agent_state, action = agent.act(state.agent, state.observation)
    observation, environment, reward, terminated, truncated, info = jax.vmap(
        env.step, (0, 0, 0, None)
    )(
        jax.random.split(key_env, agent.environments),
        state.environment,
        action,
        env.default_params,
    )
    agent_state, sample, metrics = agent.record(
        agent_state, reward, info["final_observation"], terminated, truncated
    )
    ended, under_way = count_step(state, reward, jnp.logical_or(terminated, truncated))
    statistics = EpisodeStatistics(
        frames=jnp.int32(agent.environments),
        diverged=agent.environments * is_diverged(metrics).astype(jnp.int32),
        metrics=metrics,
        **{name: jnp.sum(values) for name, values in ended.items()},
    )
    return LoopState(agent_state, environment, observation, key, **under_way), sample, statistics


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2, 3, 4))
def _play(
    agent: RolloutAgent,
    env: Environment,
    state: LoopState,
    statistics: EpisodeStatistics,
    rollout: Any,
    position: Int[Array, ""],
    steps: Int[Array, ""],
) -> tuple[LoopState, EpisodeStatistics, Any]:
    """``steps`` more steps of all seeds, put into the rollout where they belong."""

    def body(i: Array, carry: tuple[LoopState, EpisodeStatistics, Any]) -> Any:
        state, total, rollout = carry
        state, sample, statistics = jax.vmap(partial(step, agent, env))(state)
        total = jax.tree.map(jnp.add, total, statistics)
        return state, total, put(rollout, sample, position + i)

    return jax.lax.fori_loop(0, steps, body, (state, statistics, rollout))


_update = jax.jit(update, static_argnums=0, donate_argnums=1)
