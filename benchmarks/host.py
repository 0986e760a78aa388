"""The host loop on HalfCheetah-P, against the simulator alone and the agent alone."""

from typing import Any

import jax
import numpy as np

from rillax import envs
from rillax.experiments import presets
from rillax.experiments.timing import microseconds_per_frame
from rillax.kernels import Program, one_kernel
from rillax.lives import HostLives, transition


def host_loop(name: str = "HalfCheetah-P", remembered: int = 1000) -> dict[str, float]:
    """The simulator repeats actions of the agent's: a body at rest is cheaper to simulate."""
    agent = presets.paper("stream_ac", name, 1)
    lives = HostLives(agent, [envs.make(name)], [0])
    actions = []
    for _ in range(remembered):
        lives.run(1)
        actions.append(np.array(lives._last[0]))
    env = envs.make(name)
    env.reset(seed=0)

    def simulate(frames: int) -> None:
        for t in range(frames):
            _, _, terminated, truncated, _ = env.step(actions[t % remembered])
            if terminated or truncated:
                env.reset()

    last = jax.device_put(lives.pending)

    def one(state: Any, t: Any) -> Any:
        state, _ = agent.learn(state, t.reward, t.final, t.terminated, t.truncated)
        return agent.act(state, t.observation)[0]

    def step(state: Any, answers: Any) -> Any:
        return jax.vmap(one)(state, transition(answers))

    def scan(step: Any) -> Any:
        return lambda state, answers, frames: jax.lax.fori_loop(
            0, frames, lambda _, state: step(state, answers), state
        )

    think = Program(scan(one_kernel(step)), scan(step), donate=())
    start = jax.tree.map(lambda leaf: leaf.copy(), lives.agent_state())
    times = microseconds_per_frame(
        {
            "loop": lives.run,
            "environment": simulate,
            "agent": lambda frames: think(start, last, frames),
        }
    )
    return {
        "us_per_step": times["loop"],
        "environment_us_per_step": times["environment"],
        "agent_us_per_step": times["agent"],
        "ratio_to_parts": times["loop"] / (times["environment"] + times["agent"]),
    }
