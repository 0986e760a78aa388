"""``rillax.train``: an agent in an environment, from Python, with the results as arrays."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rillax import envs
from rillax.envs.environment import is_jax
from rillax.experiments.description import Options, Run
from rillax.experiments.results import Bins, iqm
from rillax.experiments.training import Moment, held_in, play, train_into
from rillax.loops import Learner, make_loop
from rillax.loops.inputs import OnBadInput
from rillax.utils import machine


@dataclass(frozen=True)
class Snapshot:
    """What a callback or a metric of one's own sees: a run at the end of a bin."""

    frame: int
    """Of each seed, so far."""
    metrics: Mapping[str, np.ndarray]
    """Means over the bin, an array over seeds each: return, length, episodes, what the agent
    measures, and metrics of one's own. A return is NaN where no episode ended."""
    seeds: tuple[int, ...]
    _state: Callable[[], Any] = field(repr=False, default=lambda: None)

    @property
    def state(self) -> Any:
        """The agent's state; every array has a leading axis over seeds."""
        return self._state()


RESERVED = ("seed", "frame", "frames")
"""Names of columns that are no metrics."""
Callback = Callable[[Snapshot], Any]
"""Called at the end of each bin; if it returns True, the run stops."""
Metric = Callable[[Snapshot], Any]
"""A number, or one for each seed."""


@dataclass(frozen=True)
class Results:
    """What came of a run. Arrays are of shape (bins, seeds); there are a hundred bins, or fewer."""

    agent: Any
    seeds: tuple[int, ...]
    frames: np.ndarray
    """(bins,): the frame at which each bin ends."""
    metrics: Mapping[str, np.ndarray]
    """Means over each bin: return, length, episodes, what the agent measures, one's own."""
    final_returns: np.ndarray
    """(seeds,): the mean return over the last tenth of the frames; NaN if no episode ended."""
    complete: bool
    """False if a callback stopped it."""
    state: Any = field(repr=False)
    """The agent's state; every array has a leading axis over seeds."""
    spaces: tuple[Any, Any] = field(repr=False)
    out: Path | None = None

    @property
    def returns(self) -> np.ndarray:
        """The mean return of the episodes that ended in each bin; NaN if none did."""
        return self.metrics["return"]

    @property
    def final_return(self) -> float:
        """The interquartile mean of ``final_returns`` over seeds; NaN if no episode ended."""
        ended = self.final_returns[np.isfinite(self.final_returns)]
        return float(iqm(ended)) if ended.size else float("nan")

    def learner(self, seed: int | None = None) -> Learner:
        """One seed, the first if not given, to go on with in a loop of your own."""
        chosen = self.seeds[0] if seed is None else seed
        if chosen not in self.seeds:
            raise ValueError(f"there is no seed {chosen}; there are {list(self.seeds)}")
        at = self.seeds.index(chosen)
        learner = Learner(self.agent, *self.spaces)
        learner.begin_with(jax.tree.map(lambda leaf: leaf[at], self.state))
        return learner


def train(
    agent: Any,
    env: Any,
    frames: int,
    seeds: int | Sequence[int] = 1,
    callbacks: Callback | Iterable[Callback] = (),
    metrics: Mapping[str, Metric] | None = None,
    *,
    env_settings: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    resume: bool = False,
    on_bad_input: OnBadInput = "raise",
    options: Options = Options(),
) -> Results:
    """Train an agent for so many frames of each seed, and return what came of it as arrays.

    ``env`` is a name as on the command line, an environment in JAX, or a function that makes a
    Gymnasium one. ``seeds`` is how many, or which.

    A callback is called with a ``Snapshot`` at the end of each of a hundred bins; if it returns
    True, the run stops. ``metrics`` are functions of a snapshot whose values are kept beside the
    others, by name.

    With ``out`` the run is written into that directory as ``rillax train`` does, and can be
    resumed, evaluated and compared; the environment is then given by its name. ``resume`` goes on
    with the same run if the directory holds it, to ``frames`` in all, finished or not.
    """
    machine.keep_compilations()
    numbers = tuple(range(seeds)) if isinstance(seeds, int) else tuple(seeds)
    stop = threading.Event()
    watch = _watcher(numbers, _as_tuple(callbacks), dict(metrics or {}), stop)
    how: dict[str, Any] = {"env_settings": dict(env_settings or {}), "on_bad_input": on_bad_input}
    how |= {"frames": frames, "seeds": len(numbers), "seed": next(iter(numbers), 0)}
    if out is not None:
        if not isinstance(env, str):
            raise ValueError(
                "with out=, the environment is given by its name, such as 'my_envs:Maze', so that "
                f"the run can be resumed; got {env!r:.60}"
            )
        run = Run(agent, env, **how)
        if run.seed_numbers != list(numbers):
            raise ValueError(f"with out=, seeds must follow one another, got {list(numbers)}")
        before = held_in(Path(out), run) if resume else None
        again: dict[str, Any] = {"overwrite": overwrite, "resume": before is not None}
        _, ended = train_into(before or run, Path(out), options, **again, watch=watch, stop=stop)
    else:
        name = env if isinstance(env, str) else type(env).__name__
        plan = _Plan(agent, name, **how, numbers=numbers)
        ended = play(plan, _loop(plan, env, numbers), watch, stop)
    spaces = envs.spaces_of(_one(env, how["env_settings"]))
    return _results(agent, numbers, ended, spaces, None if out is None else Path(out))


@dataclass(frozen=True)
class _Plan(Run):
    """A run that is not written down, whose seeds may be any numbers."""

    numbers: tuple[int, ...] = ()

    @property
    def seed_numbers(self) -> list[int]:
        return list(self.numbers)


def _as_tuple(callbacks: Callback | Iterable[Callback]) -> tuple[Callback, ...]:
    return (callbacks,) if callable(callbacks) else tuple(callbacks)


def _one(env: Any, settings: Mapping[str, Any]) -> Any:
    """An environment of the kind that was asked for."""
    if isinstance(env, str):
        return envs.make(env, **settings)
    return env() if callable(env) and not is_jax(env) else env


def _loop(plan: Run, env: Any, seeds: Sequence[int]) -> Any:
    if not isinstance(env, str) and plan.env_settings:
        raise ValueError("env_settings are for an environment that is given by its name")
    made = _one(env, plan.env_settings) if isinstance(env, str) else env
    if isinstance(env, str) and not is_jax(made):
        made = lambda: _one(env, plan.env_settings)  # noqa: E731 - one for every seed
    if len(seeds) > 1 and not callable(made) and not is_jax(made):
        raise ValueError(
            f"{len(seeds)} seeds need an environment each: give a function that makes one, such "
            f"as lambda: gymnasium.make(...), got {made!r:.60}"
        )
    return make_loop(plan.agent, made, seeds, plan.on_bad_input)


def _watcher(
    seeds: tuple[int, ...],
    callbacks: tuple[Callback, ...],
    metrics: Mapping[str, Metric],
    stop: threading.Event,
) -> Callable[[Moment], None]:
    def watch(moment: Moment) -> None:
        if not callbacks and not metrics:
            return
        measured: dict[str, np.ndarray] = moment.bins.latest()
        here = Snapshot(moment.frame, measured, seeds, moment.state)
        for name, metric in metrics.items():
            if name in measured or name in RESERVED:
                raise ValueError(f"there is a metric {name!r} already; choose another name")
            values = np.broadcast_to(np.asarray(metric(here), float), len(seeds)).copy()
            moment.bins.add(name, values)
            measured[name] = values
        answers = [callback(here) for callback in callbacks]
        if any(answer is True for answer in answers):
            stop.set()

    return watch


def _results(
    agent: Any, seeds: tuple[int, ...], ended: Any, spaces: tuple[Any, Any], out: Path | None
) -> Results:
    bins: Bins = ended.bins
    columns = bins.columns()
    widths = columns.pop("frames", np.zeros((0, len(seeds))))
    return Results(
        agent=agent,
        seeds=seeds,
        frames=np.cumsum(widths[:, 0]).astype(np.int64),
        metrics=columns,
        final_returns=bins.final_returns(),
        complete=ended.complete,
        state=ended.state(),
        spaces=spaces,
        out=out,
    )
