"""Frames per second of a run of six seeds on one core and on all, with the default settings.

Each is a process of its own, on its cores from the start; they take turns.
"""

import os
import statistics
import subprocess
import sys
import time

from benchmarks.steps import AGENTS, ENV
from rillax.loops.compiled import CompiledLoop

SEEDS, FRAMES, TURNS = 6, 4000, 3


def frames_per_second(agent: str) -> float:
    """Of all seeds together, in this process."""
    loop = CompiledLoop(AGENTS[agent], ENV, list(range(SEEDS)))
    loop.run(FRAMES)
    rates = []
    for _ in range(3):
        started = time.perf_counter()
        loop.run(FRAMES)
        rates.append(SEEDS * FRAMES / (time.perf_counter() - started))
    return statistics.median(rates)


def measure(cores: list[int], agent: str = "stream_ac") -> dict[str, float]:
    """Rates on one core and on all of them, and their ratio."""
    before = os.sched_getaffinity(0)
    rates: dict[int, list[float]] = {1: [], len(cores): []}
    for _ in range(TURNS):
        for count, found in rates.items():
            os.sched_setaffinity(0, cores[:count])  # which the process inherits
            command = [sys.executable, "-m", "benchmarks.cores", agent]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found.append(float(out))
    os.sched_setaffinity(0, before)
    one, every = (statistics.median(found) for found in rates.values())
    return {
        "cores": len(cores),
        "frames_per_second_on_one": one,
        "frames_per_second_on_all": every,
        "speedup": every / one,
    }


if __name__ == "__main__":
    print(frames_per_second(sys.argv[1]))
