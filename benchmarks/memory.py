"""Resident memory of a Learner after 50,000 and after 500,000 steps: it must not grow.

python -m benchmarks.memory
"""

import os

import numpy as np
from gymnasium.spaces import Box, Discrete

from rillax import Learner
from rillax.agents import StreamAC
from rillax.cells import RTU
from rillax.networks import Architecture

FIRST, LAST = 50_000, 500_000
LIMIT_MB = 4.0


def resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    agent = StreamAC(network=Architecture(cell=RTU(16), width=16))
    learner = Learner(agent, Box(-np.inf, np.inf, (4,)), Discrete(2))
    rng = np.random.default_rng(0)
    sizes = {}
    for step in range(1, LAST + 1):
        learner.act(rng.normal(size=4))
        learner.learn(rng.normal(), rng.normal(size=4), terminated=step % 100 == 0)
        if step in (FIRST, LAST):
            sizes[step] = resident_mb()
            print(f"{step} steps: {sizes[step]:.1f} MB resident", flush=True)
    growth = sizes[LAST] - sizes[FIRST]
    print(f"growth {growth:+.2f} MB (at most {LIMIT_MB})")
    raise SystemExit(growth > LIMIT_MB)


main()
