"""Runs a ``Run`` to its end, or on from a checkpoint, in a directory with what came of it."""

import json
import math
import platform
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import rillax
from rillax import envs, staleness
from rillax.envs.others import names_code
from rillax.experiments import trackers
from rillax.experiments.checkpoints import CHECKPOINT, LAST_GOOD, Checkpoints, NoCheckpoints
from rillax.experiments.curves import curve, draw_curves
from rillax.experiments.description import Options, Run
from rillax.experiments.results import Bins, iqm, number, standard_error, write_table
from rillax.loops import EpisodeStatistics, Loop, make_loop
from rillax.loops.interface import learns_from
from rillax.loops.rollouts import bytes_of, memory_needed
from rillax.networks import Network, Stream
from rillax.staleness import MeasuredLoop
from rillax.utils import files, machine, settings

RUNAWAY = 1e6
"""No parameter is as large as this, unless its network has diverged."""
SECONDS_PER_CALL = 0.25
"""How long the loop runs before the host looks up again."""
CONFIG, SUMMARY, METRICS, CURVE = "config.json", "summary.json", "metrics.parquet", "curve.png"
LOCK = ".train.lock"
WRITTEN = (CONFIG, METRICS, CURVE, SUMMARY, CHECKPOINT)


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


# ---- the description in the directory


def write_config(run: Run, out: Path, options: Options) -> None:
    files.write_json(out / CONFIG, config(run, options))


def config(run: Run, options: Options) -> dict[str, Any]:
    """What ``config.json`` holds: the run, how it was run, and with what."""
    return {
        "run": settings.to_json(run),
        "options": settings.to_json(options),
        "rillax": rillax.__version__,
        "jax": jax.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }


def read_config(out: Path, trust: bool = False) -> tuple[Run, Options]:
    """The run that a directory holds."""
    path = out / CONFIG
    value = files.read_json(path)
    if value is None:
        raise files.OutputError(f"{out} holds no run: cannot read {path.name}")
    return described_run(path, value, trust)


def read_run(path: Path, trust: bool = False) -> tuple[Run, Options]:
    """The run that a file like ``config.json`` describes, or that a directory holds."""
    if path.is_dir():
        return read_config(path, trust)
    value = files.read_json(path)
    if value is None:
        raise files.OutputError(f"cannot read {path}: there is no such file")
    return described_run(path, {"options": settings.to_json(Options()), **value}, trust)


def described_run(path: Path, value: Mapping[str, Any], trust: bool) -> tuple[Run, Options]:
    """The run in what a file held; an error names the file."""
    if "run" not in value:
        raise files.OutputError(
            f"{path} is not the config of a run that this rillax can resume: it was written by "
            f"rillax {value.get('rillax', 'another version')}, this is {rillax.__version__}"
        )
    try:
        run, options = (settings.from_json(value[name], trust) for name in ("run", "options"))
        settings.check_numbers(run)
    except settings.Untrusted:
        raise
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise files.OutputError(f"{path} is not the config of a run: {error}") from error
    if not isinstance(run, Run) or not isinstance(options, Options):
        raise files.OutputError(f"{path} is not the config of a run")
    if names_code(run.env):
        settings.require_trust(run.env.removeprefix("gymnasium:"), trust)
    return run, options


# ---- before it starts


def prepare(run: Run, out: Path, options: Options, *, overwrite: bool = False) -> None:
    """Raise an error that says what is wrong, unless the run can start and has a place to write."""
    check_memory(run)
    trackers.require(options.tensorboard, options.wandb)
    files.claim(out, overwrite=overwrite)


def check_memory(run: Run) -> None:
    """Raise an error unless the run can be built in the memory there is; nothing is built."""
    env = envs.make(run.env, **run.env_settings)
    spaces = envs.spaces_of(env)
    agent: Any = run.agent
    if run.staleness is not None:
        agent = staleness.Recorded(agent, staleness.longest_episode(env))
    state = jax.eval_shape(lambda key: agent.init(key, *spaces), jax.random.key(0))
    _check_memory(run, run.seeds * bytes_of(state))


def bytes_needed(run: Run) -> int | None:
    """Bytes for rollouts and for learning from them; None for agents that keep no rollout."""
    if learns_from(run.agent) != "rollouts":
        return None
    env = envs.make(run.env, **run.env_settings)
    return memory_needed(run.agent, *envs.spaces_of(env), run.seeds)


def _check_memory(run: Run, state: int) -> None:
    needed, available = bytes_needed(run), machine.available_memory()
    if available is not None and state > available:
        raise ValueError(
            f"the agent needs {machine.readable(state)} of memory, and "
            f"{machine.readable(available)} are available: make --units, --width or --seeds smaller"
        )
    if needed is None:
        return
    if run.frames < run.agent.frames:
        raise ValueError(
            f"a run of {run.frames} frames is shorter than one rollout of {run.agent.frames}, so "
            "nothing would be learned: make --frames larger or --rollout smaller"
        )
    if available is not None and needed > available:
        raise ValueError(
            f"the rollout needs {machine.readable(needed)} of memory, and "
            f"{machine.readable(available)} are available: make --rollout, --environments, "
            "--units or --seeds smaller, --sequence-length longer, or use --gradient tbptt"
        )


def make_run_loop(run: Run) -> Loop:
    """The loop that a run is, before its first frame."""
    env: Any = envs.make(run.env, **run.env_settings)
    if not envs.is_jax(env):
        env = lambda: envs.make(run.env, **run.env_settings)  # noqa: E731 - one for every seed
    where = env, run.seed_numbers, run.on_bad_input
    if run.staleness is None:
        return make_loop(run.agent, *where)
    return MeasuredLoop(run.agent, *where, interval=run.staleness, mode=run.replay)


# ---- running


class Moment(NamedTuple):
    """A run at the end of a bin."""

    frame: int
    bins: Bins
    state: Callable[[], Any]
    """The agent's state."""


Report = Callable[[Progress], None]
Track = Callable[[int, dict[str, np.ndarray]], None]
Watch = Callable[[Moment], None]


def _ignore(_: Any) -> None:
    pass


def train(
    run: Run,
    out: Path,
    options: Options = Options(),
    *,
    resume: bool = False,
    overwrite: bool = False,
    report: Report = _ignore,
    stop: threading.Event | None = None,
) -> tuple[dict[str, Any], Bins]:
    """Run it, write it down, and return the summary and the curve.

    ``stop`` ends the run after the frames under way; what was learned so far is still written. To
    ``resume`` a run that was extended (``Run.extend``), finished or not, goes on to its new end.
    """
    how: dict[str, Any] = {"resume": resume, "overwrite": overwrite, "report": report}
    summary, training = train_into(run, out, options, **how, stop=stop)
    return summary, training.bins


def train_into(
    run: Run,
    out: Path,
    options: Options = Options(),
    *,
    resume: bool = False,
    overwrite: bool = False,
    report: Report = _ignore,
    watch: Watch = _ignore,
    stop: threading.Event | None = None,
) -> tuple[dict[str, Any], "Training"]:
    """As ``train``; ``watch`` is called at the end of each bin, and the run itself is returned."""
    prepare(run, out, options, overwrite=overwrite or resume)
    with files.locked(out / LOCK, f"another process is at work in {out}"):
        # Once more: another process may have begun and ended a run since then.
        files.claim(out, overwrite=overwrite or resume)
        files.remove_all_leftovers(out)
        if not resume:
            if (out / CONFIG).exists():
                trackers.forget(out)
            # The config first: without one, the rest is not taken for a run.
            _remove(out, CONFIG, SUMMARY, METRICS, CURVE, CHECKPOINT, LAST_GOOD)
            write_config(run, out, options)
        else:
            _follow_extension(run, out, options)
        checkpoints = checkpoints_of(run, out, options.checkpoint_seconds)
        training = Training(run, make_run_loop(run), checkpoints, watch)
        if resume:
            training.resume(checkpoints)
        if training.complete and (summary := _finished(out, digest(run))) is not None:
            _draw_missing(run, out, training.bins)
            return summary, training  # nothing is left to do
        _remove(out, SUMMARY, METRICS, CURVE)  # of when it was stopped before
        track = trackers.Trackers(
            out,
            title=run.title(),
            config=config(run, options),
            seeds=run.seed_numbers,
            tensorboard=options.tensorboard and not training.complete,
            wandb=None if training.complete else options.wandb,
            first_frame=training.frame,
        )
        rate = training.go(report, stop or threading.Event(), track)
        track.close()
        diverged = list(training.diverged.values())
        summary = write_outcome(run, out, training.bins, training.frame, rate, diverged)
    if len(diverged) == run.seeds:
        raise Diverged(_how_it_diverged(out, diverged))
    return summary, training


def play(run: Run, loop: Loop, watch: Watch, stop: threading.Event) -> "Training":
    """Run a loop to its end, or until it is stopped, and write nothing down."""
    training = Training(run, loop, NoCheckpoints(), watch)
    training.go(_ignore, stop)
    if not training.alive:
        raise Diverged(_how_it_diverged(None, list(training.diverged.values())))
    return training


def digest(run: Run) -> str:
    """Of everything that decides the results of a run."""
    return files.digest(_as_json(run))


def _as_json(run: Run) -> Any:
    return json.loads(json.dumps(settings.to_json(run)))


def bins_of(run: Run) -> Bins:
    return Bins(run.frames, extended=run.extended)


def checkpoints_of(run: Run, out: Path, every: float = 0.0) -> Checkpoints:
    return Checkpoints(out, run.seeds, every, digest(run), [digest(r) for r in run.earlier])


def _follow_extension(run: Run, out: Path, options: Options) -> None:
    """Let the config be that of an extended run; a checkpoint from before still belongs to it.

    Killed after this, the run is an extended one that was stopped.
    """
    before = (files.read_json(out / CONFIG) or {}).get("run")
    if any(before == _as_json(earlier) for earlier in run.earlier):
        write_config(run, out, options)


def held_in(out: Path, run: Run) -> Run | None:
    """The run in a directory, extended to as many frames as this one; None if there is none.

    It must be the same but for its length.
    """
    if not (out / CONFIG).exists():
        return None
    value = (files.read_json(out / CONFIG) or {}).get("run") or {}
    frames, extended = value.get("frames"), tuple(value.get("extended", ()))
    there = replace(run, frames=frames or run.frames, extended=extended)
    if value != _as_json(there) or run.frames < there.frames:
        raise files.OutputError(
            f"{out} holds another run, or a longer one: choose another out, or overwrite it"
        )
    return there if run.frames == there.frames else there.extend(run.frames)


def _remove(out: Path, *names: str) -> None:
    for name in names:
        try:
            (out / name).unlink(missing_ok=True)
        except OSError as error:
            raise files.OutputError(
                f"cannot remove {out / name}: {files.reason(error)}; choose another --out"
            ) from error


def _finished(out: Path, run: str) -> dict[str, Any] | None:
    """The summary of this run, if it is of its end, and all that it speaks of is there."""
    summary = files.read_json(out / SUMMARY)
    if summary is None or not summary.get("complete") or summary.get("run") != run:
        return None
    if not all((out / name).exists() for name in summary["files"]):
        return None
    files.check_digests(out, summary["files"])
    return summary


class Training:
    """A run under way."""

    def __init__(
        self, run: Run, loop: Loop, checkpoints: Checkpoints | NoCheckpoints, watch: Watch
    ):
        self.run, self.loop, self.bins = run, loop, bins_of(run)
        self.checkpoints, self.watch = checkpoints, watch
        self.frame, self.diverged, self.rate = 0, dict[int, Any](), 0.0

    def resume(self, checkpoints: Checkpoints) -> None:
        """Go on from the checkpoint, if there is one."""
        self.frame, diverged, self.rate = checkpoints.read(self.loop, self.bins)
        self.diverged = dict(diverged)

    def state(self) -> Any:
        """The agent's state; every array has a leading axis over seeds."""
        return self.loop.agent_state()

    @property
    def complete(self) -> bool:
        return self.frame == self.run.frames

    @property
    def alive(self) -> bool:
        return len(self.diverged) < self.run.seeds

    def go(self, report: Report, stop: threading.Event, track: Track = lambda *_: None) -> float:
        """To the end, or until told to stop; returns frames per second and seed.

        What compiles is left out of that, unless there is nothing else.
        """
        if self.complete:
            return self.rate
        if self.frame == 0:
            self.loop.run(0)  # compiles
        rate, first, started = 100.0, self.frame, time.perf_counter()
        compiles = first + _frames_that_compile(self.run.agent)
        while not self.complete and self.alive and not stop.is_set():
            if first < compiles <= self.frame:
                first, started = self.frame, time.perf_counter()
            rate = self._stretch(rate, track)
            report(Progress(self.frame, self.bins.latest_return(), rate * self.run.seeds))
            self.checkpoints.write_if_due(self.loop, self.bins, self.frame, self.diverged)
        seconds = time.perf_counter() - started
        self.rate = (self.frame - first) / seconds
        self.checkpoints.write(self.loop, self.bins, self.frame, self.diverged, self.rate)
        return self.rate

    def _stretch(self, rate: float, track: Track) -> float:
        """Some frames, at most to the end of a bin; returns their rate."""
        frames = max(1, min(int(rate * SECONDS_PER_CALL), self.bins.room(self.frame)))
        before = time.perf_counter()
        statistics = self.loop.run(frames)
        self.frame += frames
        self.bins.put(self.frame, statistics)
        rate = frames / (time.perf_counter() - before)
        if found := self._newly_diverged(statistics):
            self.checkpoints.keep_last_good()
            self.diverged |= found
        if self.bins.is_edge(self.frame):
            self.watch(Moment(self.frame, self.bins, self.state))
            track(self.frame, self.bins.latest())
            self.loop.clear()
        return rate

    def _newly_diverged(self, statistics: EpisodeStatistics) -> dict[int, Any]:
        """Seeds that have diverged since the last look: frame and network of each."""
        found = {}
        for i, count in enumerate(np.asarray(statistics.diverged)):
            seed = self.run.seed_numbers[i]
            if count and seed not in self.diverged:
                networks = diverged_networks(self.loop.agent_state(), i)
                first = self.frame - int(count) + 1
                found[seed] = {"seed": seed, "frame": first, "networks": networks}
        return found


def _frames_that_compile(agent: Any) -> int:
    """After so many frames everything has been compiled."""
    return agent.frames + 1 if learns_from(agent) == "rollouts" else 1


def diverged_networks(state: Any, i: int) -> list[str]:
    """Which networks of seed ``i`` have a parameter that is not finite, or far beyond reason.

    An agent refuses the step that would make it infinite, so it may be left just short of that.
    """
    parts = state._asdict().items() if hasattr(state, "_asdict") else ()
    networks = {n: s.network if isinstance(s, Stream) else s for n, s in parts}

    def diverged(network: Network) -> bool:
        leaves = jax.tree.leaves(network)
        return not all(bool((np.abs(np.asarray(leaf[i])) < RUNAWAY).all()) for leaf in leaves)

    return [name for name, n in networks.items() if isinstance(n, Network) and diverged(n)]


def _how_it_diverged(out: Path | None, diverged: list[dict[str, Any]]) -> str:
    def who(networks: list[str]) -> str:
        return f" ({' and '.join(networks)})" if networks else ""

    parts = [f"seed {s['seed']} at frame {s['frame']}{who(s['networks'])}" for s in diverged]
    if out is None:
        return f"diverged: {', '.join(parts)}; try a smaller step size"
    kept = " and ".join(n for n in (LAST_GOOD, CHECKPOINT) if (out / n).exists())
    kept = f"the last good state is in {out}/{kept}" if kept else "there was no checkpoint yet"
    return f"diverged: {', '.join(parts)}; {kept}; try a smaller step size"


# ---- what came of it


def write_outcome(
    run: Run, out: Path, bins: Bins, frame: int, rate: float, diverged: list[dict[str, Any]]
) -> dict[str, Any]:
    """``metrics.parquet``, ``summary.json`` and ``curve.png``; returns the summary.

    A run ends when its summary gets its name. The picture comes after that: it takes long to draw,
    and nothing depends on it.
    """
    finals = bins.final_returns()
    lost = {entry["seed"] for entry in diverged}
    for i, seed in enumerate(run.seed_numbers):
        if seed in lost and finals.size:
            finals[i] = np.nan
    ended = finals[np.isfinite(finals)]
    summary: dict[str, Any] = {
        "final_return_iqm": number(float(iqm(ended))) if ended.size else None,
        "final_return_standard_error": number(float(standard_error(ended))) if ended.size else None,
        "final_return_per_seed": [number(value) for value in finals],
        "frames_per_second": rate * run.seeds,
        "frames": frame,
        "seeds": run.seeds,
        "complete": frame == run.frames,
        "diverged": diverged,
        "run": digest(run),
    }
    write_table(out / METRICS, bins.table(run.seed_numbers))
    summary["files"] = {METRICS: files.digest_of_file(out / METRICS)}
    files.write_json(out / SUMMARY, summary)
    if frame:
        _draw(run, out, bins)
    return summary


def _draw_missing(run: Run, out: Path, bins: Bins) -> None:
    """The picture, if whoever wrote the results was stopped before it."""
    if not (out / CURVE).exists():
        _draw(run, out, bins)


def _draw(run: Run, out: Path, bins: Bins) -> None:
    draw_curves(out / CURVE, {run.title(): curve(bins)}, run.title())


def shown(value: float | None) -> str:
    """A return as a person reads it."""
    return "-" if value is None or math.isnan(value) else f"{value:.3g}"
