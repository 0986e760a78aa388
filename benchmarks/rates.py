# ruff: noqa: E402
"""``python -m benchmarks.rates``: what a frame of each kind of job costs, in floors.

It writes ``rillax/experiments/rates.json``, from which ``rillax reproduce --dry-run`` estimates.
Kinds that are already there are measured again only with ``--all``.
"""

import dataclasses
import json
import math
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

# One core, as a worker has, before importing rillax makes JAX's threads.
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

from rillax.experiments import Run, cost
from rillax.experiments.training import make_run_loop
from rillax.paper import figures

PATH = Path(cost.__file__).with_name("rates.json")
FRAMES = 3000


def floors(run: Run) -> tuple[float, float]:
    """Floors per frame and seed, and the seconds until the first frame."""
    started = time.process_time()
    rollout = getattr(run.agent, "frames", None)
    seeds = run.seeds if rollout is None else 1
    loop = make_run_loop(dataclasses.replace(run, seeds=seeds))
    loop.run(1)
    start = time.process_time() - started  # on one core of its own
    # The best of several stretches: others may be using the machine. A stretch has in it all that
    # happens now and then, a rollout's update or a measurement.
    stretch = rollout or run.staleness or 20
    loop.run(stretch)
    best = math.inf
    for _ in range(max(3, FRAMES // stretch)):
        before = time.perf_counter()
        loop.run(stretch)
        best = min(best, (time.perf_counter() - before) / stretch)
    return 1e6 * best / seeds / cost.floor(), start


def main() -> None:
    known: dict[str, Any] = json.loads(PATH.read_text()) if PATH.exists() else {}
    result = {} if "--all" in sys.argv else dict(known.get("floors", {}))
    starts = []
    for preset in ("paper", "rillax"):
        for job in figures.jobs_of(figures.figures(preset)):
            if not isinstance(job.work, Run) or cost.kind(job.work) in result:
                continue
            kind = cost.kind(job.work)
            try:
                result[kind], start = floors(job.work)
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
