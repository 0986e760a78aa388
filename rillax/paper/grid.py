"""The experiments of the paper, as data: every figure, every cell of it, and what each one runs.

A cell is one line of a figure at one point or in one panel: an agent, an environment, a number of
frames, and seeds that run side by side. ``figures()`` is the whole paper.
"""

import dataclasses
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from rillax.paper.tables import CONTINUOUS, DISCRETE, SEEDS, TABLES, HyperTable
from rillax.utils.names import choose

Preset = Literal["paper", "rillax"]


@dataclass(frozen=True)
class Training:
    """A run of an agent."""

    agent: str
    settings: Mapping[str, Any]
    network: Mapping[str, Any]
    env: str
    frames: int
    env_settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = SEEDS
    staleness: int | None = None
    """Measure the staleness of the sensitivities every so many frames."""


@dataclass(frozen=True)
class Timing:
    """The time of one gradient update at several hidden widths."""

    network: Mapping[str, Any]
    widths: tuple[int, ...]
    seconds: float = 2.0
    """A width whose update would take longer than this is left out, and all wider ones."""
    repeats: int = 7
    frames: int = 0
    seeds: int = 1


@dataclass(frozen=True)
class GridCell:
    """One cell of a figure. Its name is also its directory."""

    name: str
    group: str
    """The panel of the figure, or the point on its x axis."""
    label: str
    """The line of the figure."""
    source: str
    """Where in the paper its numbers are."""
    work: Training | Timing

    @property
    def frames(self) -> int:
        """Of all seeds together."""
        return self.work.frames * self.work.seeds

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside it: it measures time."""
        return isinstance(self.work, Timing)

    def to_json(self) -> dict[str, Any]:
        kind = type(self.work).__name__.lower()
        return {**dataclasses.asdict(self), "kind": kind}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> "GridCell":
        parts = dict(value)
        kind = {"training": Training, "timing": Timing}[parts.pop("kind")]
        work = dict(parts.pop("work"))
        if "widths" in work:
            work["widths"] = tuple(work["widths"])
        return cls(work=kind(**work), **parts)


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: what it shows, and the cells it is drawn from."""

    name: str
    number: str
    title: str
    cells: tuple[GridCell, ...]

    @property
    def frames(self) -> int:
        return sum(cell.frames for cell in self.cells)


# Figure 1a: one update of a network with a cell of each kind, exact RTRL where it recurs.
WIDTHS = (8, 16, 32, 64, 128, 256, 512)
"""The paper names none; these show both the linear and the quartic regime."""
LAYERS = {"FFN": "feedforward", "RTU": "rtu", "GRU": "gru", "LSTM": "lstm"}


def timing(widths: Iterable[int] = WIDTHS) -> Figure:
    cells = (
        GridCell(
            name=f"fig1a/{cell}",
            group="time",
            label=label,
            source="Figure 1a",
            work=Timing({**DISCRETE, "cell": cell, "gradient": "rtrl"}, tuple(widths)),
        )
        for label, cell in LAYERS.items()
    )
    title = "Time of one gradient update against hidden width, exact RTRL"
    return Figure("fig1a", "Figure 1a", title, tuple(cells))


# Figure 1b: QRC(lambda) with four kinds of memory (Section 4.1, Table 1).
MEMORIES: dict[str, dict[str, str]] = {
    "FFN": {"cell": "feedforward"},
    "GRU, TBPTT(1)": {"cell": "gru", "gradient": "tbptt"},
    "RTU, TBPTT(1)": {"cell": "rtu", "gradient": "tbptt"},
    "RTU, RTRL": {"cell": "rtu", "gradient": "rtrl"},
}


BEYOND = (256, 512)
"""Longer chains than the paper's, for RTU with RTRL alone, in the preset ``rillax``."""


def memory_chain(beyond: Iterable[int] = ()) -> Figure:
    cells = [_chain(n, label) for n in TABLES[1].sweep for label in MEMORIES]
    cells += [_chain(n, "RTU, RTRL") for n in beyond]
    return Figure("fig1b", "Figure 1b", "MemoryChain: return against chain length", tuple(cells))


def _chain(length: int, label: str) -> GridCell:
    memory = MEMORIES[label]
    name = f"fig1b/L{length}-{'-'.join(memory.values())}"
    where = {"length": length}
    return _training(name, f"{length}", label, TABLES[1], "MemoryChain", where, memory)


# POPGym (Section 4.2, Tables 2 and 3).
POPGYM_TASKS = ("Autoencode", "Concentration", "CountRecall", "HigherLower", "RepeatFirst")
POPGYM_DIFFICULTY = "Easy"
"""The paper names none."""


def popgym() -> Figure:
    """The paper does not say which agent the FFN baseline is; ours is QRC(lambda), as in 1b."""
    cells = []
    for task in POPGYM_TASKS:
        env = f"{task}{POPGYM_DIFFICULTY}"
        cells += [
            _training(f"popgym/{task}-qrc-rtu", task, "QRC(λ)-RTU", TABLES[2], env),
            _training(f"popgym/{task}-stream_ac-rtu", task, "stream AC(λ)-RTU", TABLES[3], env),
            _ppo(f"popgym/{task}-ppo-rtu", task, TABLES[2], env),
            _training(
                f"popgym/{task}-qrc-feedforward",
                task,
                "QRC(λ)-FFN",
                TABLES[2],
                env,
                network={"cell": "feedforward"},
            ),
        ]
    return Figure("popgym", "Figure 2", "POPGym: return against frames", tuple(cells))


# Masked MuJoCo (Section 4.3, Table 4).
ROBOTS = ("Ant", "HalfCheetah", "Hopper", "Walker2d")
REGIMES = ("P", "V")


def mujoco() -> Figure:
    cells = []
    for env in (f"{robot}-{regime}" for regime in REGIMES for robot in ROBOTS):
        name = f"mujoco/{env}"
        cells += [
            _training(f"{name}-stream_ac-rtu", env, "stream AC(λ)-RTU", TABLES[4], env),
            _ppo(f"{name}-ppo-rtu", env, TABLES[4], env, CONTINUOUS),
        ]
    return Figure("mujoco", "Figure 3", "Masked MuJoCo: return against frames", tuple(cells))


# Staleness and returns on KMemoryChain (Section 4.4, Tables 5 and 6): two figures of the same runs.
CORRECTIONS = {"none": "", "diagonal": ", Taylor", "exact": ", exact transport"}
"""The paper has the first two; the third is ours, and in the preset ``rillax`` alone."""
STALENESS_EVERY = 1000
"""Frames between two measurements; each replays the episode."""


def k_memory_chain(corrections: Iterable[str]) -> tuple[GridCell, ...]:
    algorithms = {"qrc": ("QRC(λ)", TABLES[6]), "stream_ac": ("stream AC(λ)", TABLES[5])}
    return tuple(
        _training(
            f"kmemory/K{memory}-{agent}-{correction}",
            f"{memory}",
            f"{label}{CORRECTIONS[correction]}",
            table,
            "KMemoryChain",
            {"memory": memory},
            {} if correction == "none" else {"correction": correction},
            staleness=STALENESS_EVERY,
        )
        for memory in TABLES[6].sweep
        for agent, (label, table) in algorithms.items()
        for correction in corrections
    )


def staleness(corrections: Iterable[str]) -> Figure:
    cells = k_memory_chain(corrections)
    return Figure("staleness", "Figure 4a", "KMemoryChain: staleness against K", cells)


def kmemory(corrections: Iterable[str]) -> Figure:
    cells = k_memory_chain(corrections)
    return Figure("kmemory", "Figure 4b", "KMemoryChain: return against frames", cells)


def _training(
    name: str,
    group: str,
    label: str,
    table: HyperTable,
    env: str,
    env_settings: Mapping[str, Any] | None = None,
    network: Mapping[str, Any] | None = None,
    staleness: int | None = None,
) -> GridCell:
    memory = {"cell": "rtu", "gradient": "rtrl"}
    work = Training(
        agent=table.agent,
        settings=table.settings_for(table.frames),
        network={**table.network, **memory, **(network or {})},
        env=env,
        env_settings=dict(env_settings or {}),
        frames=table.frames,
        seeds=table.seeds,
        staleness=staleness,
    )
    return GridCell(name, group, label, f"Table {table.number}", work)


def _ppo(
    name: str, group: str, like: HyperTable, env: str, network: Mapping[str, Any] = DISCRETE
) -> GridCell:
    """PPO with RTU: the numbers of Elelimy et al. (2024) are its defaults; frames as its rivals."""
    work = Training(
        agent="ppo",
        settings={},
        network={**network, "cell": "rtu", "gradient": "rtrl"},
        env=env,
        frames=like.frames,
        seeds=like.seeds,
    )
    return GridCell(name, group, "PPO-RTU", "Appendix A", work)


@dataclass(frozen=True)
class Override:
    """Where the preset ``rillax`` departs from the paper, and why."""

    cells: str
    """A pattern of names."""
    reason: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    network: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, cell: GridCell) -> GridCell:
        work = cell.work
        if not fnmatchcase(cell.name, self.cells) or not isinstance(work, Training):
            return cell
        settings, network = {**work.settings, **self.settings}, {**work.network, **self.network}
        work = dataclasses.replace(work, settings=settings, network=network)
        return dataclasses.replace(cell, work=work)


REMEMBERING: Mapping[str, Any] = {
    "r_min": 0.995,
    "r_max": 0.9999,
    "phase_min": 0.5,
    "phase_max": 5.8,
    "gain": False,
    "cell_step": 0.003,
}
"""An RTU that starts out remembering, and changes slowly."""

OVERRIDES: tuple[Override, ...] = (
    Override(
        "fig1b/*",
        "The one reward is earned by the last action, and what it depends on reaches that step "
        "through the memory, not through the trace: a trace only adds the gradients of steps whose "
        "value does not depend on the cue. Dense layers let the head see every unit.",
        settings={"trace_decay": 0.0},
        network={"sparsity": 0.0},
    ),
    Override(
        "fig1b/*-rtu-*",
        "A cue must outlast the chain (r close to 1, no input gain) and must not drown in the sum "
        "of everything else: a unit with a phase near zero adds up its inputs to 1 / (1 - r) times "
        "their size and would dominate the LayerNorm behind it, one that turns does not. And a "
        "small change of r or phase moves the state at the end by as many times as there are "
        "steps, so the recurrence learns slower than the rest.",
        network=REMEMBERING,
    ),
    Override(
        "popgym/RepeatFirst-qrc-rtu",
        "As for MemoryChain: the first card must outlast the episode. The trace stays, for here "
        "every action is paid for. The other games gain nothing by it.",
        network={"sparsity": 0.0, **REMEMBERING},
    ),
)
"""What each is for, and what it brings: docs/results.md."""


# What the paper leaves open on MemoryChain, one thing at a time: a study of ours, not a figure of
# the paper, so it is no part of ``all``.
CHOICES: dict[str, dict[str, Mapping[str, Any]]] = {
    "none: all as in the tables": {},
    "clip the update at 1": {"settings": {"clip_at": "update"}},
    "clip each gradient at 1": {"settings": {"clip_at": "gradient"}},
    "observations as they come": {"settings": {"normalise_observations": False}},
    "rewards as they come": {"settings": {"normalise_rewards": False}},
    "exploration over half of the run": {"settings": {"epsilon_frames": 125_000}},
    "nonlinear RTU": {"network": {"cell": "rtu_nonlinear"}},
    "no input gain": {"network": {"gain": False}},
    "dense reader of the RTU": {"network": {"reader_sparsity": 0.0}},
    "dense everywhere": {"network": {"sparsity": 0.0}},
    "r in [0, 0.9]": {"network": {"r_max": 0.9}},
    "r in [0, 0.9], TBPTT(1)": {"network": {"r_max": 0.9, "gradient": "tbptt"}},
    "r in [0.9, 0.999]": {"network": {"r_min": 0.9, "r_max": 0.999}},
    "r in [0.95, 0.999]": {"network": {"r_min": 0.95, "r_max": 0.999}},
    "phase in [0.5, 5.8]": {"network": {"phase_min": 0.5, "phase_max": 5.8}},
    "dense, r in [0.95, 0.999]": {"network": {"sparsity": 0.0, "r_min": 0.95, "r_max": 0.999}},
}
"""What is changed, against the paper's tables and our reading of the rest."""
CHOICE_LENGTHS, CHOICE_SEEDS, CHOICE_FRAMES = (32, 64), 2, 250_000


def choices() -> Figure:
    cells = []
    for length in CHOICE_LENGTHS:
        for label, changed in CHOICES.items():
            plain = _resize(_chain(length, "RTU, RTRL"), CHOICE_SEEDS, CHOICE_FRAMES)
            cell = Override("*", label, **changed)(plain)
            name = f"choices/L{length}-{_slug(label)}"
            cells.append(dataclasses.replace(cell, name=name, label=label))
    return Figure("choices", "Ours", "MemoryChain: what is changed, and the return", tuple(cells))


def _slug(label: str) -> str:
    """A name for a directory.

    >>> _slug("dense, r in [0.95, 0.999]")
    'dense-r-in-0.95-0.999'
    """
    return re.sub(r"[^a-zA-Z0-9.]+", "-", label).strip("-")


def figures(preset: str = "paper") -> dict[str, Figure]:
    """Every figure of the paper, by name."""
    choose("preset", preset, get_args(Preset))
    corrections = ("none", "diagonal") if preset == "paper" else tuple(CORRECTIONS)
    whole = (
        timing(),
        memory_chain(BEYOND if preset == "rillax" else ()),
        popgym(),
        mujoco(),
        staleness(corrections),
        kmemory(corrections),
    )
    overrides = OVERRIDES if preset == "rillax" else ()
    return {figure.name: change(figure, *overrides) for figure in whole}


def change(figure: Figure, *changes: Any) -> Figure:
    """The figure with each of its cells changed."""
    cells = figure.cells
    for change in changes:
        cells = tuple(change(cell) for cell in cells)
    return dataclasses.replace(figure, cells=cells)


def studies() -> dict[str, Figure]:
    """Experiments of our own, by name."""
    return {figure.name: figure for figure in (choices(),)}


NAMES = ("fig1a", "fig1b", "popgym", "mujoco", "staleness", "kmemory")
STUDIES = ("choices",)
EVERY = (*NAMES, *STUDIES)

MINIATURE = (
    "fig1a/*",
    "fig1b/L4-*",
    "fig1b/L32-*",
    "popgym/CountRecall-*",
    "popgym/RepeatFirst-*",
    "mujoco/Hopper-*",
    "kmemory/K4-*",
    "kmemory/K16-*",
)
"""Cells that show every figure and every agent."""
MINIATURE_SEEDS, MINIATURE_FRAMES = 2, 2_000
MINIATURE_SETTINGS: dict[str, Mapping[str, Any]] = {"ppo": {"rollout": 128, "minibatches": 4}}
"""A run of so few frames is to see several rollouts."""
MINIATURE_WIDTHS, MINIATURE_SECONDS, MINIATURE_REPEATS = (8, 16, 32), 0.05, 3


def select(
    name: str,
    preset: str = "paper",
    *,
    only: Iterable[str] = ("*",),
    seeds: int | None = None,
    frames: int | None = None,
    miniature: bool = False,
) -> dict[str, Figure]:
    """The figures that were asked for, with the cells, seeds and frames that were asked for."""
    choose("figure", name, [*EVERY, "all"])
    chosen = figures(preset)
    if name != "all":
        chosen = {name: (chosen | studies())[name]}
    if miniature:
        seeds, frames = seeds or MINIATURE_SEEDS, frames or MINIATURE_FRAMES
        chosen = {n: change(_keep(figure, MINIATURE), _shorten) for n, figure in chosen.items()}
    only = list(only)
    chosen = {n: _keep(figure, only) for n, figure in chosen.items()}
    for pattern in only:
        if not any(_matches(cell, [pattern]) for f in chosen.values() for cell in f.cells):
            raise ValueError(
                f"no cell of {name} matches {pattern!r}; rillax reproduce {name} --dry-run lists "
                "them"
            )

    def resize(cell: GridCell) -> GridCell:
        return _resize(cell, seeds, frames)

    return {n: change(figure, resize) for n, figure in chosen.items() if figure.cells}


def cells_of(chosen: Mapping[str, Figure]) -> list[GridCell]:
    """Every cell once: two figures may be drawn from the same."""
    return list({cell.name: cell for figure in chosen.values() for cell in figure.cells}.values())


def _keep(figure: Figure, patterns: Iterable[str]) -> Figure:
    kept = tuple(cell for cell in figure.cells if _matches(cell, patterns))
    return dataclasses.replace(figure, cells=kept)


def _matches(cell: GridCell, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(cell.name, pattern) for pattern in patterns)


def _shorten(cell: GridCell) -> GridCell:
    work = cell.work
    if isinstance(work, Timing):
        work = dataclasses.replace(
            work,
            widths=MINIATURE_WIDTHS,
            seconds=MINIATURE_SECONDS,
            repeats=MINIATURE_REPEATS,
        )
    else:
        settings = {**work.settings, **MINIATURE_SETTINGS.get(work.agent, {})}
        work = dataclasses.replace(work, settings=settings)
    return dataclasses.replace(cell, work=work)


def _resize(cell: GridCell, seeds: int | None, frames: int | None) -> GridCell:
    """Fewer seeds or frames; epsilon falls over the same share of the run."""
    for name, value in (("seeds", seeds), ("frames", frames)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    if not isinstance(cell.work, Training):
        return cell
    work = dataclasses.replace(
        cell.work, seeds=seeds or cell.work.seeds, frames=frames or cell.work.frames
    )
    if "epsilon_frames" in work.settings:
        share = work.settings["epsilon_frames"] / cell.work.frames
        epsilon_frames = max(1, round(share * work.frames))
        work = dataclasses.replace(
            work, settings={**work.settings, "epsilon_frames": epsilon_frames}
        )
    return dataclasses.replace(cell, work=work)
