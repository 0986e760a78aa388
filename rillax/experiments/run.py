"""One run: an agent, an environment, some seeds, and a directory with what came of it."""

import json
import math
import platform
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import jax
import numpy as np

import rillax
from rillax import agents, envs, staleness
from rillax.agents import PPO
from rillax.envs.environment import is_jax
from rillax.experiments import trackers
from rillax.experiments.results import Bins, iqm, number, standard_error, write_table
from rillax.loops import rollouts
from rillax.loops.compiled import Tally
from rillax.loops.host import Lives, make_lives
from rillax.loops.inputs import OnBadInput
from rillax.networks import Network, Stream
from rillax.paper import figures, presets
from rillax.staleness import MeasuredLives, Replay
from rillax.utils import checkpoint, files, machine
from rillax.utils.checkpoint import CheckpointError

SECONDS_PER_CALL = 0.25
"""How long the loop runs before the host looks up again."""
CHECKPOINT = "checkpoint.rillax"
LAST_GOOD = "last_good.rillax"
CHECKPOINT_SHARE = 0.01
"""Checkpoints take at most this share of the time."""


class Diverged(Exception):
    """Every seed of a run has diverged; the message names seed, frame and network."""


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

    agent: presets.Agent
    env_name: str
    out: Path
    frames: int
    seeds: int = 5
    seed: int = 0
    """The first seed; the others follow it."""
    env_settings: dict[str, Any] = field(default_factory=dict)
    checkpoint_seconds: float = 60.0
    on_bad_input: OnBadInput = "raise"
    tensorboard: bool = False
    """Also write the metrics for TensorBoard."""
    wandb: str | None = None
    """The project of Weights & Biases that the metrics also go to."""
    staleness: int | None = None
    """Measure how stale the sensitivities are every so many frames."""
    replay: Replay = "inputs"
    overwrite: bool = False
    resume: bool = False

    def __post_init__(self) -> None:
        for name in ("frames", "seeds"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.staleness is not None:
            staleness.check(self.staleness, self.replay)

    @property
    def seed_numbers(self) -> list[int]:
        return list(range(self.seed, self.seed + self.seeds))

    def title(self) -> str:
        network = self.agent.network
        memory: str = network.cell
        if memory != "feedforward":
            memory += f"-{network.gradient}"
            if getattr(self.agent, "sequence_length", 1) > 1:
                memory += f"({self.agent.sequence_length})"  # type: ignore[union-attr]
        settings = "".join(f", {name} {value}" for name, value in self.env_settings.items())
        return f"{agents.name_of(self.agent)} ({memory}) on {self.env_name}{settings}"

    def config(self) -> dict[str, Any]:
        return {
            "env": self.env_name,
            "env_settings": self.env_settings,
            **agents.describe(self.agent),
            "frames": self.frames,
            "seeds": self.seeds,
            "seed": self.seed,
            "checkpoint_seconds": self.checkpoint_seconds,
            "on_bad_input": self.on_bad_input,
            "tensorboard": self.tensorboard,
            "wandb": self.wandb,
            "staleness": self.staleness,
            "replay": self.replay,
            "rillax": rillax.__version__,
            "jax": jax.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        }

    @classmethod
    def continued(cls, out: Path) -> Self:
        """The run that ``out`` holds, to go on with it."""
        path = out / "config.json"
        try:
            config = json.loads(path.read_text())
            return cls(
                agent=agents.rebuild(config),
                env_name=config["env"],
                env_settings=config["env_settings"],
                out=out,
                frames=config["frames"],
                seeds=config["seeds"],
                seed=config["seed"],
                checkpoint_seconds=config["checkpoint_seconds"],
                on_bad_input=config["on_bad_input"],
                tensorboard=config.get("tensorboard", False),
                wandb=config.get("wandb"),
                staleness=config.get("staleness"),
                replay=config.get("replay", "inputs"),
                resume=True,
            )
        except OSError as error:
            raise files.OutputError(f"{out} holds no run: cannot read {path.name}") from error
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise files.OutputError(f"{path} is not the config of a run: {error!r}") from error


def prepare(run: Run) -> None:
    """Raise an error that says what is wrong, unless the run can start and has a place to write."""
    spaces = _spaces(run)
    agent: Any = run.agent
    if run.staleness is not None:
        if isinstance(agent, PPO):
            raise ValueError("staleness is measured in qrc and stream_ac, which stream; not in ppo")
        env = envs.make(run.env_name, **run.env_settings)
        agent = staleness.Recorded(agent, staleness.longest_episode(env))
    jax.eval_shape(lambda key: agent.init(key, *spaces), jax.random.key(0))
    trackers.require(run.tensorboard, run.wandb)
    _check_rollout(run)
    files.claim(run.out, overwrite=run.overwrite or run.resume)


def memory_needed(run: Run) -> int | None:
    """Bytes for rollouts and for learning from them; None for agents that keep no rollout."""
    if not isinstance(run.agent, PPO):
        return None
    return rollouts.memory_needed(run.agent, *_spaces(run), run.seeds)


def _check_rollout(run: Run) -> None:
    needed, available = memory_needed(run), machine.available_memory()
    if needed is None:
        return
    assert isinstance(run.agent, PPO)
    if run.frames < run.agent.frames:
        raise ValueError(
            f"a run of {run.frames} frames is shorter than one rollout of {run.agent.frames}, so "
            "nothing would be learned: make --frames larger or --rollout smaller"
        )
    if available is not None and needed > available:
        raise ValueError(
            f"the rollout needs {machine.readable(needed)} of memory, and "
            f"{machine.readable(available)} are available: make --rollout, --environments, "
            "--hidden or --seeds smaller, --sequence-length longer, or use --gradient tbptt"
        )


def _spaces(run: Run) -> tuple[Any, Any]:
    env = envs.make(run.env_name, **run.env_settings)
    if is_jax(env):
        params = env.default_params
        return env.observation_space(params), env.action_space(params)
    return env.observation_space, env.action_space


class _Checkpoints:
    """When to write a checkpoint, and writing it."""

    def __init__(self, run: Run):
        self.run, self.path = run, run.out / CHECKPOINT
        self.due = time.perf_counter() + run.checkpoint_seconds

    def write_if_due(self, lives: Lives, bins: Bins, frame: int, sick: dict[int, Any]) -> None:
        if time.perf_counter() >= self.due:
            self.write(lives, bins, frame, sick)

    def write(self, lives: Lives, bins: Bins, frame: int, sick: dict[int, Any]) -> None:
        if len(sick) == self.run.seeds:
            return  # the last good one stays
        before = time.perf_counter()
        arrays = {f"lives/{k}": v for k, v in lives.save().items()}
        arrays |= {f"bins/{k}": v for k, v in bins.save().items()}
        meta = {"kind": "run", "frame": frame, "diverged": list(sick.values())}
        checkpoint.save(self.path, arrays, meta)
        after = time.perf_counter()
        wait = max(self.run.checkpoint_seconds, (after - before) / CHECKPOINT_SHARE)
        self.due = after + wait

    def read(self, lives: Lives, bins: Bins) -> tuple[int, dict[int, Any]]:
        """The frame to go on from; 0 if the run had come to no checkpoint."""
        if not self.path.exists():
            return 0, {}
        arrays, meta = checkpoint.load(self.path)
        if meta.get("kind") != "run":
            raise CheckpointError(f"{self.path} holds a {meta.get('kind')}, not a run")

        def part(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        lives.restore(part("lives/"), str(self.path))
        bins.restore(part("bins/"))
        return meta["frame"], {entry["seed"]: entry for entry in meta["diverged"]}

    def keep_last_good(self) -> None:
        """Before the first state with a diverged seed is written: what there is, stays."""
        good = self.run.out / LAST_GOOD
        if self.path.exists() and not good.exists():
            files.write(good, lambda beside: beside.write_bytes(self.path.read_bytes()))


def train(
    run: Run,
    report: Callable[[Progress], None] = lambda progress: None,
    stop: threading.Event | None = None,
) -> tuple[dict[str, Any], Bins]:
    """Run it, write it down, and return the summary and the curve.

    ``stop`` ends the run after the frames under way; what was learned so far is still written.
    """
    stop = stop or threading.Event()
    prepare(run)
    if not run.resume:
        for name in (CHECKPOINT, LAST_GOOD):
            (run.out / name).unlink(missing_ok=True)
        files.write_json(run.out / "config.json", run.config())
    lives = _lives(run)
    bins, checkpoints = Bins(run.frames), _Checkpoints(run)
    frame, sick = checkpoints.read(lives, bins) if run.resume else (0, {})
    outcome = run.out / "summary.json"
    if frame == run.frames and outcome.exists():
        return json.loads(outcome.read_text()), bins  # there is nothing left to do
    track = trackers.Trackers(
        run.out,
        title=run.title(),
        config=run.config(),
        seeds=run.seed_numbers,
        tensorboard=run.tensorboard,
        wandb=run.wandb,
        first_frame=frame,
    )
    if frame == 0:
        lives.run(0)  # compiles

    rate, first, started = 100.0, frame, time.perf_counter()
    while frame < run.frames and not stop.is_set() and len(sick) < run.seeds:
        frames = max(1, min(int(rate * SECONDS_PER_CALL), bins.room(frame)))
        before = time.perf_counter()
        tally = lives.run(frames)
        frame += frames
        bins.put(frame, tally)
        rate = frames / (time.perf_counter() - before)
        if found := _newly_sick(run, lives, tally, frame, sick):
            checkpoints.keep_last_good()
            sick |= found
        if bins.is_edge(frame):
            track(frame, bins.latest())
            lives.clear()
        report(Progress(frame, bins.latest_return(), rate * run.seeds))
        checkpoints.write_if_due(lives, bins, frame, sick)
    seconds = time.perf_counter() - started
    track.close()
    checkpoints.write(lives, bins, frame, sick)
    summary = write_outcome(run, bins, frame, (frame - first) / seconds, list(sick.values()))
    if len(sick) == run.seeds:
        raise Diverged(_obituary(run, list(sick.values())))
    return summary, bins


def _lives(run: Run) -> Lives:
    where = _maker(run), run.seed_numbers, run.on_bad_input
    if run.staleness is None:
        return make_lives(run.agent, *where)
    agent: Any = run.agent
    return MeasuredLives(agent, *where, interval=run.staleness, mode=run.replay)


def _maker(run: Run) -> Any:
    env = envs.make(run.env_name, **run.env_settings)
    if is_jax(env):
        return env
    return lambda: envs.make(run.env_name, **run.env_settings)


def _newly_sick(
    run: Run, lives: Lives, tally: Tally, frame: int, known: dict[int, Any]
) -> dict[int, Any]:
    """Seeds that have diverged since the last look: frame and network of each."""
    found = {}
    for i, count in enumerate(np.asarray(tally.diverged)):
        seed = run.seed_numbers[i]
        if count and seed not in known:
            networks = sick_networks(lives.agent_state(), i)
            found[seed] = {"seed": seed, "frame": frame - int(count) + 1, "networks": networks}
    return found


def sick_networks(state: Any, i: int) -> list[str]:
    """Which networks of seed ``i`` have a parameter that is not finite."""
    parts = state._asdict().items()
    networks = {n: s.network if isinstance(s, Stream) else s for n, s in parts}

    def sick(network: Network) -> bool:
        leaves = jax.tree.leaves(network)
        return not all(bool(np.isfinite(np.asarray(leaf[i])).all()) for leaf in leaves)

    return [name for name, n in networks.items() if isinstance(n, Network) and sick(n)]


def _obituary(run: Run, sick: list[dict[str, Any]]) -> str:
    def who(networks: list[str]) -> str:
        return f" ({' and '.join(networks)})" if networks else ""

    parts = [f"seed {s['seed']} at frame {s['frame']}{who(s['networks'])}" for s in sick]
    kept = " and ".join(n for n in (LAST_GOOD, CHECKPOINT) if (run.out / n).exists())
    kept = f"the last good state is in {run.out}/{kept}" if kept else "there was no checkpoint yet"
    return f"diverged: {', '.join(parts)}; {kept}; try a smaller step size"


def write_outcome(
    run: Run, bins: Bins, frame: int, rate: float, sick: list[dict[str, Any]]
) -> dict[str, Any]:
    """``metrics.parquet``, ``curve.png`` and ``summary.json``; returns the summary."""
    finals = bins.final_returns()
    lost = {entry["seed"] for entry in sick}
    for i, seed in enumerate(run.seed_numbers):
        if seed in lost and finals.size:
            finals[i] = np.nan
    ended = finals[np.isfinite(finals)]
    summary = {
        "final_return_iqm": number(float(iqm(ended))) if ended.size else None,
        "final_return_standard_error": number(float(standard_error(ended))) if ended.size else None,
        "final_return_per_seed": [number(value) for value in finals],
        "frames_per_second": rate * run.seeds,
        "frames": frame,
        "seeds": run.seeds,
        "complete": frame == run.frames,
        "diverged": sick,
    }
    write_table(run.out / "metrics.parquet", bins.table(run.seed_numbers))
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
