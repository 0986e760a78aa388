"""A step of each game at its hardest, auto-reset included, as a share of a step of QRC."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from rillax import envs
from rillax.experiments.timing import microseconds_per_frame


def environment_steps(agent_us: float) -> dict[str, float]:
    names = [
        "MemoryChain",
        "KMemoryChain",
        *(name for name in envs.POPGYM if name.endswith("Hard")),
    ]
    discrete = [name for name in names if "Pendulum" not in name]
    loops = {name: _play(envs.make(name)) for name in discrete}
    times = microseconds_per_frame(loops, seconds=0.1)
    return {name: us / agent_us for name, us in times.items()}


def _play(env: Any) -> Callable[[int], object]:
    """Frames of an environment alone, its actions taken in turn."""
    params = env.default_params

    @jax.jit
    def play(frames: Any) -> Any:
        _, state = env.reset_env(jax.random.key(0), params)

        def body(t: Any, carry: Any) -> Any:
            state, key, total = carry
            key, key_step = jax.random.split(key)
            action = t % env.action_space(params).n
            observation, state, reward, _, _, _ = env.step(key_step, state, action, params)
            return state, key, total + reward + jnp.sum(observation)

        return jax.lax.fori_loop(0, frames, body, (state, jax.random.key(1), 0.0))

    return play
