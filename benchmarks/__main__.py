"""``make bench``: what a streaming step costs, as ratios within one run. Writes ``bench.json``."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.floor import like, touch
from rillax import envs
from rillax.agents import QRC, StreamAC
from rillax.cells import Correction
from rillax.experiments import presets
from rillax.experiments.timing import microseconds_per_frame
from rillax.lives import HostLives, JaxLives
from rillax.networks import Architecture

OUT = Path("bench.json")
console = Console(highlight=False)


def sensitivities(state: Any) -> list[Any]:
    names = ("q", "h") if hasattr(state, "q") else ("actor", "critic")
    return [getattr(state, name).memory.sensitivity for name in names]


def touched(state: Any) -> Any:
    """What changes at every step: parameters, traces, sensitivities."""
    if hasattr(state, "q"):
        return state.q.network, state.h.network, state.traces, sensitivities(state)
    networks = state.actor.network, state.critic.network
    return networks, state.actor_optimiser, state.critic_optimiser, sensitivities(state)


def megabytes(tree: Any) -> float:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)) / 1e6


def agent_steps() -> dict[str, dict[str, float]]:
    """A step of each agent against the floor: every array that must change, touched once."""
    env = envs.MemoryChain(8)
    lives = {
        name: JaxLives(agent, env, [0])
        for name, agent in (("qrc", QRC()), ("stream_ac", StreamAC()))
    }
    loops: dict[str, Callable[[int], object]] = {}
    for name, life in lives.items():
        arrays = like(touched(life.agent_state()))
        loops[name] = life.run
        loops[f"{name} floor"] = lambda frames, arrays=arrays: touch(arrays, frames)
    times = microseconds_per_frame(loops)
    return {
        name: {
            "us_per_step": times[name],
            "floor_us_per_step": times[f"{name} floor"],
            "ratio_to_floor": times[name] / times[f"{name} floor"],
            "megabytes_touched": megabytes(touched(life.agent_state())),
        }
        for name, life in lives.items()
    }


def corrections() -> dict[str, dict[str, float]]:
    """A step of each agent with each staleness correction, as a ratio to a step without."""
    env = envs.MemoryChain(8)
    ratios = {}
    for name, agent in (("qrc", QRC), ("stream_ac", StreamAC)):
        loops = {
            correction: JaxLives(agent(network=Architecture(correction=correction)), env, [0]).run
            for correction in get_args(Correction)
        }
        times = microseconds_per_frame(loops)
        ratios[name] = {correction: us / times["none"] for correction, us in times.items()}
    return ratios


def environment_steps(agent_us: float) -> dict[str, float]:
    """A step of each game at its hardest, auto-reset included, as a share of a QRC step."""
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


def host_loop(name: str = "HalfCheetah-P") -> dict[str, float]:
    """The host loop against the sum of its parts: the simulator alone, the agent in a scan."""
    agent = presets.paper("stream_ac", name, 1)
    lives = HostLives(agent, [envs.make(name)], [0])
    env = envs.make(name)
    env.reset(seed=0)
    action = np.zeros(env.action_space.shape, np.float32)

    def simulate(frames: int) -> None:
        for _ in range(frames):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    lives.run(2)
    pending = jax.device_put(lives.pending)

    @jax.jit
    def think(state: Any, frames: Any) -> Any:
        def one(state: Any, t: Any) -> Any:
            state, _ = agent.learn(state, t["reward"], t["final"], t["terminated"], t["truncated"])
            return agent.act(state, t["observation"])[0]

        return jax.lax.fori_loop(0, frames, lambda _, s: jax.vmap(one)(s, pending), state)

    start = lives.agent_state()
    times = microseconds_per_frame(
        {"loop": lives.run, "environment": simulate, "agent": lambda frames: think(start, frames)}
    )
    return {
        "us_per_step": times["loop"],
        "environment_us_per_step": times["environment"],
        "agent_us_per_step": times["agent"],
        "ratio_to_parts": times["loop"] / (times["environment"] + times["agent"]),
    }


def main() -> None:
    steps = agent_steps()
    table = Table("step, 64-192-64, one seed", "us", "floor us", "ratio", "MB touched")
    for name, row in steps.items():
        table.add_row(
            name,
            f"{row['us_per_step']:.1f}",
            f"{row['floor_us_per_step']:.1f}",
            f"{row['ratio_to_floor']:.2f}",
            f"{row['megabytes_touched']:.2f}",
        )
    console.print(table)
    ratios = corrections()
    table = Table("step with a staleness correction, against none", *get_args(Correction))
    for name, row in ratios.items():
        table.add_row(name, *(f"{ratio:.2f}" for ratio in row.values()))
    console.print(table)
    shares = environment_steps(steps["qrc"]["us_per_step"])
    table = Table("environment step", "share of a QRC step")
    for name, share in shares.items():
        table.add_row(name, f"{100 * share:.1f} %")
    console.print(table)
    results: dict[str, Any] = {**steps, "corrections": ratios, "environment_share": shares}
    try:
        host = results["host_loop"] = host_loop()
        console.print(
            f"host loop, HalfCheetah-P, stream AC: {host['us_per_step']:.0f} us a frame; simulator "
            f"{host['environment_us_per_step']:.0f}, agent {host['agent_us_per_step']:.0f}; "
            f"ratio to their sum {host['ratio_to_parts']:.2f}"
        )
    except ModuleNotFoundError as missing:
        console.print(f"host loop: not measured, {missing}")
    OUT.write_text(json.dumps(results, indent=2) + "\n")
    console.print(f"wrote {OUT}")


main()
