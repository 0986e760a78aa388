"""The host loop on HalfCheetah-P, against the simulator alone and the agent alone."""

from typing import Any

import gymnasium
import jax

from rillax import envs
from rillax._jax.kernels import Program, one_kernel
from rillax.envs.snapshot import restore, snapshot
from rillax.experiments.timing import microseconds_per_frame
from rillax.loops.host import HostLoop
from rillax.loops.host_envs import transition
from rillax.paper import presets


class Recorded(gymnasium.Wrapper):
    """An environment that keeps the actions it was given."""

    actions: list[Any]

    def step(self, action: Any) -> Any:
        self.actions.append(action.copy())
        return self.env.step(action)


def host_loop(name: str = "HalfCheetah-P", warm: int = 2000) -> dict[str, float]:
    """The simulator alone repeats the loop's frames: some movements cost more than others."""
    agent = presets.paper("stream_ac", name, 1)
    env, twin = Recorded(envs.make(name)), envs.make(name)
    loop = HostLoop(agent, [env], [0])
    twin.reset(seed=0)
    beginning: Any = None

    def run(frames: int) -> Any:
        nonlocal beginning
        beginning, env.actions = snapshot(env.env), []
        return loop.run(frames)

    def simulate(frames: int) -> None:
        for t in range(frames):
            t = t % len(env.actions)
            if t == 0:
                restore(twin, beginning)
            _, _, terminated, truncated, _ = twin.step(env.actions[t])
            if terminated or truncated:
                twin.reset()

    run(warm)
    last = jax.device_put(loop.envs.outcomes)

    def one(state: Any, t: Any) -> Any:
        state, _ = agent.learn(state, t.reward, t.final, t.terminated, t.truncated)
        return agent.act(state, t.observation)[0]

    def step(state: Any, outcomes: Any) -> Any:
        return jax.vmap(one)(state, transition(outcomes))

    def scan(step: Any) -> Any:
        return lambda state, outcomes, frames: jax.lax.fori_loop(
            0, frames, lambda _, state: step(state, outcomes), state
        )

    think = Program(scan(one_kernel(step)), scan(step), donate=())
    start = jax.tree.map(lambda leaf: leaf.copy(), loop.agent_state())
    times = microseconds_per_frame(
        {
            "loop": run,
            "environment": simulate,
            "agent": lambda frames: think(start, last, frames),
        },
        repeats=21,  # the simulator's time varies from stretch to stretch
    )
    return {
        "us_per_step": times["loop"],
        "environment_us_per_step": times["environment"],
        "agent_us_per_step": times["agent"],
        "ratio_to_parts": times["loop"] / (times["environment"] + times["agent"]),
    }
