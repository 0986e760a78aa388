"""What random play earns in every environment of ours: the numbers in docs/environments.md.

python benchmarks/random_play.py [name ...]
"""

import sys
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from rillax.envs import make
from rillax.envs.environment import Environment
from rillax.envs.popgym import GAMES

EPISODES, BATCH = 10_000, 500


def random_returns(env: Environment, key: PRNGKeyArray, episodes: int) -> np.ndarray:
    """The returns of so many episodes of uniformly random actions."""
    batches = jax.random.split(key, (episodes // BATCH, BATCH))
    return np.concatenate([_batch_returns(env, keys) for keys in batches])


@partial(jax.jit, static_argnums=0)
def _batch_returns(env: Environment, keys: PRNGKeyArray) -> Float[Array, " episodes"]:
    return jax.vmap(partial(_episode_return, env))(keys)


def _episode_return(env: Environment, key: PRNGKeyArray) -> Float[Array, ""]:
    params = env.default_params

    def step(i: Array, carry: tuple[Any, Array, Array]) -> tuple[Any, Array, Array]:
        state, over, total = carry
        key_action, key_step = jax.random.split(jax.random.fold_in(key, i))
        action = env.action_space(params).sample(key_action)
        _, state, reward, terminated, truncated, _ = env.step(key_step, state, action, params)
        return state, over | terminated | truncated, total + jnp.where(over, 0.0, reward)

    _, state = env.reset(jax.random.fold_in(key, params.max_steps_in_episode), params)
    start = (state, jnp.array(False), jnp.float32(0))
    return jax.lax.fori_loop(0, params.max_steps_in_episode, step, start)[2]


def main(names: list[str]) -> None:
    for name in names or ["MemoryChain", "KMemoryChain", *GAMES]:
        returns = random_returns(make(name), jax.random.key(0), EPISODES)
        error = returns.std(ddof=1) / np.sqrt(len(returns))
        print(f"{name:32} {returns.mean():8.4f} ± {error:.4f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
