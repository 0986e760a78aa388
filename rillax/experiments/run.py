"""One run: an agent, an environment, some seeds, and a directory with what came of it."""

import math
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np
from gymnax.environments.environment import Environment

import rillax
from rillax import envs
from rillax.experiments import figures, files, presets
from rillax.experiments.results import Bins, iqm, number, standard_error, write_table
from rillax.stream import begin, live

SECONDS_PER_CALL = 0.25
"""How long the compiled loop runs before the host looks up again."""


@dataclass(frozen=True)
class Progress:
    """Where a run stands."""

    frames: int
    latest_return: float
    """Mean over seeds; NaN until an episode has ended."""
    frames_per_second: float
    """Of all seeds together."""


@dataclass(frozen=True)
class Run:
    """What to run. ``frames`` and the curve are per seed."""

    agent_name: str
    agent: presets.Agent
    env_name: str
    out: Path
    frames: int
    seeds: int = 5
    seed: int = 0
    """The first seed; the others follow it."""
    env_settings: dict[str, Any] = field(default_factory=dict)
    overwrite: bool = False

    def __post_init__(self) -> None:
        for name in ("frames", "seeds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")

    def title(self) -> str:
        network = self.agent.network
        memory: str = network.cell
        if memory != "feedforward":
            memory += f"-{network.gradient}"
        settings = "".join(f", {name} {value}" for name, value in self.env_settings.items())
        return f"{self.agent_name} ({memory}) on {self.env_name}{settings}"

    def config(self) -> dict[str, Any]:
        return {
            "env": self.env_name,
            "env_settings": self.env_settings,
            "agent": self.agent_name,
            "settings": presets.describe(self.agent),
            "frames": self.frames,
            "seeds": self.seeds,
            "seed": self.seed,
            "rillax": rillax.__version__,
            "jax": jax.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        }


def prepare(run: Run) -> Environment:
    """The environment of a run, once it is known that it can start and has a place to write to."""
    env = envs.make(run.env_name, **run.env_settings)
    jax.eval_shape(lambda key: begin(run.agent, env, key), jax.random.key(0))
    files.claim(run.out, overwrite=run.overwrite)
    return env


def train(
    run: Run,
    report: Callable[[Progress], None] = lambda progress: None,
    stop: threading.Event | None = None,
) -> tuple[dict[str, Any], Bins]:
    """Run it, write it down, and return the summary and the curve.

    ``stop`` ends the run after the frames under way; what was learned so far is still written.
    """
    stop = stop or threading.Event()
    env = prepare(run)
    files.write_json(run.out / "config.json", run.config())
    # A seed's stream depends on the seed alone, not on how many others run beside it.
    keys = jax.vmap(jax.random.key)(np.arange(run.seed, run.seed + run.seeds))
    life = jax.jit(jax.vmap(lambda key: begin(run.agent, env, key)))(keys)
    life, _ = live(run.agent, env, life, 0)  # compiles

    bins = Bins(run.frames)
    frame, rate = 0, 100.0
    started = time.perf_counter()
    while frame < run.frames and not stop.is_set():
        frames = max(1, min(int(rate * SECONDS_PER_CALL), bins.room(frame)))
        before = time.perf_counter()
        life, tally = live(run.agent, env, life, frames)
        frame += frames
        bins.add(frame, jax.device_get(tally))
        rate = frames / (time.perf_counter() - before)
        report(Progress(frame, bins.latest_return(), rate * run.seeds))
    return write_outcome(run, bins, frame, time.perf_counter() - started), bins


def write_outcome(run: Run, bins: Bins, frame: int, seconds: float) -> dict[str, Any]:
    """``metrics.parquet``, ``curve.png`` and ``summary.json``; returns the summary."""
    finals = bins.final_returns()
    ended = finals[np.isfinite(finals)]
    summary = {
        "final_return_iqm": number(float(iqm(ended))) if ended.size else None,
        "final_return_standard_error": number(float(standard_error(ended))) if ended.size else None,
        "final_return_per_seed": [number(value) for value in finals],
        "frames_per_second": frame * run.seeds / seconds if seconds > 0 else None,
        "seconds": seconds,
        "frames": frame,
        "seeds": run.seeds,
        "complete": frame == run.frames,
    }
    seeds = list(range(run.seed, run.seed + run.seeds))
    write_table(run.out / "metrics.parquet", bins.table(seeds))
    if frame:
        figures.draw_curves(run.out / "curve.png", {run.title(): curve(bins)}, run.title())
    files.write_json(run.out / "summary.json", summary)
    return summary


def curve(bins: Bins, points: int = 25) -> figures.Curve:
    columns = bins.columns(points)
    return np.cumsum(columns["frames"][:, 0]), columns["return"]


def shown(value: float | None) -> str:
    """A return as a person reads it."""
    return "-" if value is None or math.isnan(value) else f"{value:.3g}"
