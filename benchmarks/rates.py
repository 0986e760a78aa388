"""``python -m benchmarks.rates``: what a frame of each kind of cell costs, in floors.

Writes ``rillax/experiments/rates.json``, from which ``rillax reproduce --dry-run`` estimates. Kinds
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

from gymnax.environments.environment import Environment

from rillax import envs
from rillax.experiments import cost, grid, tables
from rillax.lives import make_lives

PATH = Path(cost.__file__).with_name("rates.json")
REPEATS = 150


def floors(job: grid.Training) -> tuple[float, float]:
    """Floors per frame and seed, and the seconds until the first frame."""
    if job.staleness is not None:
        raise ValueError("the loop below does not measure staleness")
    started = time.process_time()
    agent = tables.build(job.agent, job.settings, job.network)

    def make() -> Any:
        return envs.make(job.env, **job.env_settings)

    env = make()
    maker = env if isinstance(env, Environment) else make
    lives = make_lives(agent, maker, list(range(job.seeds)))
    lives.run(1)
    start = time.process_time() - started  # on one core of its own
    best = math.inf
    lives.run(20)
    for _ in range(REPEATS):  # the best of many short stretches: others may be using the machine
        before = time.perf_counter()
        lives.run(20)
        best = min(best, (time.perf_counter() - before) / 20)
    return 1e6 * best / job.seeds / cost.floor(), start


def main() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # one core, as a worker has
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
