# ruff: noqa: E402
"""``python -m benchmarks.rates``: what a frame of each kind of cell costs, in floors.

Writes ``rillax/paper/rates.json``, from which ``rillax reproduce --dry-run`` estimates. Kinds
that are already there are measured again only with ``--all``.
"""

import json
import math
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# One core, as a worker has, before importing gymnax makes JAX's threads.
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

from gymnax.environments.environment import Environment

from rillax import envs
from rillax.agents import PPO
from rillax.loops.host import Lives, make_lives
from rillax.paper import cost, grid, tables
from rillax.staleness import MeasuredLives

PATH = Path(cost.__file__).with_name("rates.json")
FRAMES = 3000


def floors(job: grid.Training) -> tuple[float, float]:
    """Floors per frame and seed, and the seconds until the first frame."""
    started = time.process_time()
    agent = tables.build(job.agent, job.settings, job.network)

    def make() -> Any:
        return envs.make(job.env, **job.env_settings)

    env = make()
    seeds = 1 if isinstance(agent, PPO) else job.seeds
    where = env if isinstance(env, Environment) else make, list(range(seeds))
    lives: Lives
    if job.staleness is None:
        lives = make_lives(agent, *where)
    else:
        lives = MeasuredLives(agent, *where, interval=job.staleness)
    lives.run(1)
    start = time.process_time() - started  # on one core of its own
    # The best of several stretches: others may be using the machine. A stretch has in it all that
    # happens now and then, a rollout's update or a measurement.
    stretch = agent.frames if isinstance(agent, PPO) else job.staleness or 20
    lives.run(stretch)
    best = math.inf
    for _ in range(max(3, FRAMES // stretch)):
        before = time.perf_counter()
        lives.run(stretch)
        best = min(best, (time.perf_counter() - before) / stretch)
    return 1e6 * best / seeds / cost.floor(), start


def main() -> None:
    known: dict[str, Any] = json.loads(PATH.read_text()) if PATH.exists() else {}
    result = {} if "--all" in sys.argv else dict(known.get("floors", {}))
    starts = []
    for preset in ("paper", "rillax"):
        for cell in grid.cells_of(grid.figures(preset)):
            if not isinstance(cell.work, grid.Training) or cost.kind(cell.work) in result:
                continue
            kind = cost.kind(cell.work)
            try:
                result[kind], start = floors(cell.work)
            except (ValueError, ModuleNotFoundError) as missing:
                print(f"{kind}: not measured: {missing}", flush=True)
                continue
            starts.append(start)
            print(f"{kind}: {result[kind]:.2f} floors, {start:.1f} s to start", flush=True)
            seconds = statistics.median(starts) if starts else known["seconds_to_start"]
            value = {"seconds_to_start": round(seconds, 1), "floors": dict(sorted(result.items()))}
            value["floors"] = {k: round(v, 2) for k, v in value["floors"].items()}
            PATH.write_text(json.dumps(value, indent=2) + "\n")


main()
