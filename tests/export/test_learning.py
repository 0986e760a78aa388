"""It learns: from a fresh start in C alone, as well as the agent in JAX does."""

import subprocess
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from rillax import envs, export
from rillax.agents import QRC, Rill, StreamAC, StreamQ
from rillax.cells import RTU
from rillax.loops.compiled import CompiledLoop
from rillax.networks import Architecture
from rillax.updates import SGD
from rillax.utils import checkpoint
from tests.export.combinations import needs_compiler

SEEDS = range(5)
CHAIN = QRC(
    network=Architecture(cell=RTU(32, r_min=0.5, r_max=0.99), width=16, sparsity=0.0),
    q=SGD(1e-3),
    h=SGD(1e-4),
    epsilon_frames=6_000,
)
POLE = StreamAC(network=Architecture(cell=RTU(32), width=16))
INTENTIONAL = StreamQ(
    network=Architecture(cell=RTU(32, r_min=0.5, r_max=0.99), width=16, sparsity=0.0),
    epsilon_frames=6_000,
)
DEFAULT = Rill(
    network=Architecture(cell=RTU(32, features="tanh"), width=16),
    actor_discount=0.5,
    epsilon_frames=6_000,
)
WORLDS: dict[str, tuple[Any, Any, int]] = {
    "chain": (CHAIN, envs.MemoryChain(8), 40_000),
    "chain-q": (INTENTIONAL, envs.MemoryChain(8), 40_000),
    "chain-rill": (DEFAULT, envs.MemoryChain(8), 40_000),
    "pole": (POLE, envs.make("PositionOnlyCartPoleEasy"), 100_000),
    "pole-q": (INTENTIONAL, envs.make("PositionOnlyCartPoleEasy"), 100_000),
    "pole-rill": (DEFAULT, envs.make("PositionOnlyCartPoleEasy"), 100_000),
}


def in_c(world: str, at: Path) -> list[float]:
    agent, env, frames = WORLDS[world]
    spaces, finals = envs.spaces_of(env), []
    init = jax.jit(lambda key: agent.init(key, *spaces))
    for seed in SEEDS:
        state = checkpoint.flatten(init(jax.random.key(seed)))
        export.write(at, agent, *spaces, state, {"kind": "learner"}, acted=False)
        files = [at / "learner.c", Path(__file__).with_name("worlds.c")]
        build = [
            "cc",
            "-std=c99",
            "-O3",
            "-fno-math-errno",
            f"-I{at}",
            *files,
            "-o",
            at / "a",
            "-lm",
        ]
        subprocess.run(build, check=True)
        place = world.partition("-")[0]
        said = subprocess.run([at / "a", place, str(seed), str(frames)], capture_output=True)
        finals.append(float(said.stdout))
    return finals


def in_jax(world: str) -> list[float]:
    agent, env, frames = WORLDS[world]
    loop = CompiledLoop(agent, env, list(SEEDS))
    loop.run(frames - frames // 10)
    loop.clear()
    last = loop.run(frames // 10)
    return (np.asarray(last.returns) / np.asarray(last.episodes)).tolist()


@needs_compiler
@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_it_learns_in_c_alone(world, tmp_path):
    ours, jaxs = in_c(world, tmp_path), in_jax(world)
    print(f"{world}: C {np.round(ours, 2)}, JAX {np.round(jaxs, 2)}")
    assert (
        abs(np.mean(ours) - np.mean(jaxs)) < 3 * (np.std(ours) + np.std(jaxs)) / np.sqrt(5) + 0.02
    )
    if world.startswith("chain"):
        assert min(ours) > 0.9
