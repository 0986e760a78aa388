"""Episodes of our environments, played in one batch and brought to NumPy."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from rillax._jax import kernels
from rillax.envs import make
from rillax.envs.wrappers import PreviousAction

from .players import Chance, players_of

quick_jit = partial(kernels.jit, options={"xla_cpu_use_fusion_emitters": False})
"""Compiles in half the time, for programs that run once."""


class Batch(NamedTuple):
    """Episodes along the first axis, time along the second. What follows an end is not to be read.

    ``seen`` is decoded, and begins with the reset's; ``added`` is what ``PreviousAction`` put into
    the same observations. ``trail`` is what the players noted of the state before each step. The
    keys are those given to ``reset`` and to each ``step``.
    """

    start: Any
    seen: np.ndarray
    added: np.ndarray
    trail: Any
    actions: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    key_reset: jax.Array
    keys: jax.Array

    @property
    def lengths(self) -> np.ndarray:
        return (self.terminated | self.truncated).argmax(axis=1) + 1

    @property
    def returns(self) -> np.ndarray:
        before_the_end = np.arange(self.rewards.shape[1]) < self.lengths[:, None]
        return np.where(before_the_end, self.rewards, 0).sum(axis=1, dtype=np.float64)


def play(name: str, episodes: int, seed: int = 7) -> dict[str, Batch]:
    """So many episodes by each of a game's players, through the step that agents use."""
    env = make(name)
    params = env.default_params
    game = unwrapped(env)
    players = players_of(game)
    choices = [getattr(players, policy) for policy in players.policies]

    def look(observation):
        decoded = env.decode(observation)
        return (decoded, jnp.zeros(0)) if env is game else decoded

    def episode(policy, key_reset, keys, luck):
        observation, start = env.reset(key_reset, params)
        seen, added = look(observation)
        memory = players.remember(players.start(), seen, -1)

        def step(carry, given):
            state, memory, seen = carry
            chance = Chance(*given)
            actions = jnp.stack([choose(memory, seen, state, chance) for choose in choices])
            action = actions[policy]
            _, after, *outcome, info = env.step(chance.key, state, action, params)
            seen, added = look(info["final_observation"])
            memory = players.remember(memory, seen, action)
            return (after, memory, seen), (seen, added, players.note(state), action, *outcome)

        _, (later, later_added, *rest) = jax.lax.scan(step, (start, memory, seen), (keys, luck))
        seen = jnp.concatenate([seen[None], later])
        added = jnp.concatenate([added[None], later_added])
        return Batch(start, seen, added, *rest, key_reset, keys)

    rng = np.random.default_rng(seed)
    policies = np.repeat(np.arange(len(choices)), episodes)
    times = len(policies), params.max_steps_in_episode
    luck = rng.random((*times, 2), np.float32)
    keys = random_keys(rng, len(policies)), random_keys(rng, *times)
    batch = to_host(quick_jit(jax.vmap(episode))(policies, *keys, luck))

    def of(i: int) -> Batch:
        return jax.tree.map(lambda leaf: leaf[i * episodes : (i + 1) * episodes], batch)

    return {policy: of(i) for i, policy in enumerate(players.policies)}


def unwrapped(env: Any) -> Any:
    return env.env if isinstance(env, PreviousAction) else env


class Steps(NamedTuple):
    """What a sequence of actions led to: ``first`` is the reset's observation.

    ``after`` are the observations that ``step`` returned, ``final`` those before any reset.
    """

    start: Any
    first: Any
    after: Any
    final: Any
    rewards: Any
    terminated: Any
    truncated: Any


def unroll(env: Any, keys: jax.Array, actions: np.ndarray, start: Any = None) -> Steps:
    """One episode of given actions, from a given state if there is one."""
    return to_host(quick_jit(partial(_unroll, env))(jax.random.key(0), keys, actions, start))


def unroll_many(env: Any, actions: np.ndarray, seed: int = 0) -> Steps:
    """An episode for each row of actions."""
    rng = np.random.default_rng(seed)
    keys = random_keys(rng, len(actions)), random_keys(rng, *actions.shape[:2])
    return to_host(_unroll_batch(env, *keys, actions))


@partial(quick_jit, static_argnums=0)
def _unroll_batch(env: Any, key_reset: jax.Array, keys: jax.Array, actions: jax.Array) -> Steps:
    return jax.vmap(partial(_unroll, env))(key_reset, keys, actions)


def _unroll(
    env: Any, key_reset: jax.Array, keys: jax.Array, actions: jax.Array, start: Any = None
) -> Steps:
    params = env.default_params
    first, fresh = env.reset(key_reset, params)
    start = fresh if start is None else start

    def step(state, given):
        after, state, *outcome, info = env.step(given[0], state, given[1], params)
        return state, (after, info["final_observation"], *outcome)

    _, outcome = jax.lax.scan(step, start, (keys, actions))
    return Steps(start, first, *outcome)


def random_keys(rng: np.random.Generator, *shape: int) -> jax.Array:
    """Keys made of random bits: splitting one would have to be compiled for every shape."""
    return jax.random.wrap_key_data(rng.integers(2**32, size=(*shape, 2), dtype=np.uint32))


def to_host(tree: Any) -> Any:
    """Everything in NumPy, but for keys, which it does not know."""

    def convert(leaf: jax.Array) -> Any:
        return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)

    return jax.tree.map(convert, tree)
