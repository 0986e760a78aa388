"""A step of each agent against the floor, over widths and seeds, on one core."""

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import gymnasium
import jax
import numpy as np

from benchmarks.floor import like, touch
from rillax import Learner, envs
from rillax.agents import QRC, Rill, StreamAC, StreamQ
from rillax.cells import Correction, MinGRU
from rillax.experiments.timing import microseconds_per_frame
from rillax.loops.compiled import CompiledLoop
from rillax.loops.engines import EngineName
from rillax.networks import Architecture, streams
from rillax.updates import Intentional, IntentionalPolicy, ObGD
from rillax.utils import settings

AGENTS: dict[str, Any] = {"stream_ac": StreamAC(), "qrc": QRC()}
WIDTHS = (64, 128, 192, 256, 512, 1024)
SEEDS = (1, 5, 16)
LAYERS = (1, 2)
ENV = envs.MemoryChain(8)

Row = dict[str, float]


def touched(state: Any) -> Any:
    """What changes at every step: parameters, eligibility traces, sensitivities."""
    traces = [getattr(state, n) for n in state._fields if n == "traces" or "optimiser" in n]
    networks = streams(state).values()
    return [(s.network, [m.sensitivity for m in s.memory]) for s in networks], traces


def megabytes(tree: Any) -> float:
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree)) / 1e6


def against_floor(agents: dict[str, Any], seeds: int = 1) -> dict[str, Row]:
    """Microseconds per step and seed, and the ratio to touching the same arrays once."""
    loops: dict[str, Callable[[int], object]] = {}
    rows: dict[str, Row] = {}
    for name, agent in agents.items():
        started = time.perf_counter()
        loop = CompiledLoop(agent, ENV, list(range(seeds)))
        loop.run(1)
        compiled = time.perf_counter() - started
        arrays = like(touched(CompiledLoop(agent, ENV, [0]).agent_state()))
        loops[name] = loop.run
        loops[f"{name} floor"] = lambda frames, arrays=arrays: touch(arrays, frames)
        rows[name] = {"megabytes_touched": megabytes(arrays), "compile_seconds": compiled}
    times = microseconds_per_frame(loops)
    for name, row in rows.items():
        step, floor = times[name] / seeds, times[f"{name} floor"]
        row |= {"us_per_step": step, "floor_us_per_step": floor, "ratio_to_floor": step / floor}
    return rows


def by_width() -> dict[int, dict[str, Row]]:
    return {
        width: against_floor({n: settings.change(a, units=width) for n, a in AGENTS.items()})
        for width in WIDTHS
    }


def by_layers() -> dict[int, dict[str, Row]]:
    """One recurrent layer of 192 units, and two: each layer has arrays of its own to touch."""
    return {
        layers: against_floor(
            {
                name: replace(a, network=replace(a.network, layers=layers * a.network.layers))
                for name, a in AGENTS.items()
            }
        )
        for layers in LAYERS
    }


def by_seeds() -> dict[int, dict[str, Row]]:
    return {seeds: against_floor(AGENTS, seeds) for seeds in SEEDS}


def corrections() -> dict[str, Row]:
    """A step with each staleness correction, as a ratio to a step without."""
    ratios = {}
    for name, agent in AGENTS.items():
        loops = {
            correction: CompiledLoop(settings.change(agent, correction=correction), ENV, [0]).run
            for correction in get_args(Correction)
        }
        times = microseconds_per_frame(loops)
        ratios[name] = {correction: us / times["none"] for correction, us in times.items()}
    return ratios


def rules() -> dict[str, float]:
    """A step of each agent with the intentional update, as a ratio to one with ObGD."""
    pairs = {
        "stream_q": (StreamQ(q=ObGD()), StreamQ(q=Intentional())),
        "stream_ac": (StreamAC(), StreamAC(actor=IntentionalPolicy(), critic=Intentional())),
    }
    return {name: _ratio(*pair) for name, pair in pairs.items()}


def rill(**changes: Any) -> dict[str, float]:
    """A step of Rill, which has three networks, as a ratio to one of each agent that it is made of.

    They have one network and two, and these are larger than Rill's.
    """
    parts = {"stream_q": StreamQ(), "stream_ac": StreamAC()}
    return {name: _ratio(part, settings.change(Rill(), **changes)) for name, part in parts.items()}


def cells() -> dict[str, float]:
    """A step with a minGRU, as a ratio to one with an RTU."""
    agents = {"stream_q": StreamQ(q=ObGD()), "stream_ac": StreamAC()}
    mingru = Architecture(cell=MinGRU(192))
    return {
        name: _ratio(agent, dataclasses.replace(agent, network=mingru))
        for name, agent in agents.items()
    }


def _ratio(one: Any, other: Any) -> float:
    """The time of a step of the second over that of the first, measured in turns."""
    loops = {
        name: CompiledLoop(a, ENV, [0]).run for name, a in {"one": one, "other": other}.items()
    }
    times = microseconds_per_frame(loops)
    return times["other"] / times["one"]


def learner() -> dict[str, dict[str, dict[str, float]]]:
    """``act`` and ``learn`` of a Learner with each engine, against a step in a compiled loop.

    Microseconds, measured in turns: the median and the 99th percentile of single calls of both, and
    the median as a ratio to a step of the agent inside a loop.
    """
    return {name: _beside_a_loop(agent) for name, agent in AGENTS.items()}


def _beside_a_loop(agent: Any, rounds: int = 30, calls: int = 100) -> dict[str, dict[str, float]]:
    loop = CompiledLoop(agent, ENV, [0])
    spaces = gymnasium.spaces.Box(-1, 1, (8,)), gymnasium.spaces.Discrete(2)
    learners = {engine: Learner(agent, *spaces, engine=engine) for engine in _engines()}
    for one in learners.values():
        one.warm_up()
    loop.run(calls)
    steps, times = [], {engine: list[float]() for engine in learners}
    for _ in range(rounds):
        started = time.perf_counter()
        loop.run(calls)
        steps.append((time.perf_counter() - started) / calls)
        for engine, one in learners.items():
            times[engine] += [_act_and_learn(one) for _ in range(calls)]
    step = float(np.median(steps))
    return {
        engine: {
            "median_us": 1e6 * float(np.median(seconds)),
            "p99_us": 1e6 * float(np.percentile(seconds, 99)),
            "ratio_to_step": float(np.median(seconds)) / step,
        }
        for engine, seconds in times.items()
    }


def _engines() -> list[EngineName]:
    return ["jax", "c"] if shutil.which(os.environ.get("CC", "cc")) else ["jax"]


def _act_and_learn(learner: Learner) -> float:
    observation = np.zeros(8, np.float32)
    started = time.perf_counter()
    learner.act(observation)
    learner.learn(0.0, observation, False, False)
    return time.perf_counter() - started


_FIRST_ACTION = """
import time
import numpy as np
from gymnasium.spaces import Box, Discrete
from rillax import Learner
from rillax.agents import StreamAC
Learner, StreamAC
started = time.perf_counter()
learner = Learner(StreamAC(), Box(-1, 1, (8,)), Discrete(2))
learner.act(np.zeros(8, np.float32))
print(time.perf_counter() - started)
"""


def first_action() -> float:
    """Seconds from making a Learner to its first action, its programs compiled before."""
    command = [sys.executable, "-c", _FIRST_ACTION]
    for _ in range(2):
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return float(said)
