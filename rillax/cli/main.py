"""The command line: ``rillax train``, ``rillax demo``, ``rillax envs``, ``rillax agents``.

The paper as commands (``rillax reproduce`` and what reads its results) is in ``commands.py``.
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal, get_args

from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from rillax import envs
from rillax.agents import AGENTS
from rillax.cli.reproduce import COMMANDS
from rillax.cli.terminal import INTERRUPTED, console, fail, interruptible, parse, say
from rillax.experiments.run import (
    CHECKPOINT,
    Diverged,
    Progress,
    Run,
    curve,
    memory_needed,
    prepare,
    shown,
    train,
)
from rillax.networks import Architecture, CellName, Gradient
from rillax.paper import figures, presets
from rillax.staleness import Replay
from rillax.utils import machine
from rillax.utils.checkpoint import CheckpointError
from rillax.utils.files import OutputError
from rillax.utils.names import choose

DIVERGED = 3


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the ``rillax`` command."""
    argv = list(sys.argv[1:] if argv is None else argv)
    commands = {
        "train": _train,
        "demo": _demo,
        "envs": _envs,
        "agents": _agents,
        **COMMANDS,
    }
    parser = argparse.ArgumentParser(
        prog="rillax",
        description="Streaming reinforcement learning under partial observability.",
        epilog="rillax train --help lists every setting of a run.",
    )
    parser.add_argument(
        "command", choices=commands, help="train one agent, see the demo, run the paper, or list"
    )
    command = parser.parse_args(argv[:1] or ["--help"]).command
    machine.keep_compilations()
    try:
        commands[command](argv[1:])
    except (ValueError, OutputError, CheckpointError, ModuleNotFoundError) as error:
        fail(str(error))
    except Diverged as error:
        fail(str(error), DIVERGED)


@dataclasses.dataclass(frozen=True)
class _Flags:
    """What a run needs beside the settings of its agent."""

    env: str = "MemoryChain"
    """Environment; `rillax envs` lists them."""
    agent: str = "qrc"
    """Agent; `rillax agents` lists them."""
    out: Path = Path("runs/latest")
    """Directory for the results."""
    frames: int = 100_000
    """Frames per seed."""
    seeds: int = 5
    """How many seeds, run side by side."""
    seed: int = 0
    """The first seed."""
    length: int | None = None
    """Length of the chain (MemoryChain)."""
    memory: int | None = None
    """How many steps back to remember (KMemoryChain)."""
    checkpoint_seconds: float = 60.0
    """A checkpoint this often; less often if writing one takes long."""
    on_bad_input: Literal["raise", "skip"] = "raise"
    """What to do with a NaN or infinite observation or reward of a Gymnasium environment."""
    tensorboard: bool = False
    """Write the metrics for TensorBoard as well (extra: tensorboard)."""
    wandb: str | None = None
    """Send the metrics to this project of Weights & Biases as well (extra: wandb)."""
    staleness: int | None = None
    """Measure how stale the sensitivities are, against a replay, every so many frames."""
    replay: Replay = "inputs"
    """What is replayed: the cell's inputs as they were, or the observations, encoded anew."""
    overwrite: bool = False
    """Replace the results of an earlier run in --out."""


def _train(argv: list[str]) -> None:
    run = _parse_resume(argv) if argv[:1] == ["--resume"] else _parse_run(argv)
    prepare(run)
    if (needed := memory_needed(run)) is not None:
        available = machine.available_memory()
        of = "" if available is None else f" of {machine.readable(available)} available"
        say(f"rollout and update need {machine.readable(needed)}{of}")
    with interruptible() as stop, _bars() as bars:
        summary, _ = train(run, _bar(bars, run), stop)
    say(
        f"final return {shown(summary['final_return_iqm'])} (IQM of {run.seeds} seeds), "
        f"{summary['frames_per_second'] or 0:,.0f} frames/s"
    )
    for lost in summary["diverged"]:
        say(f"seed {lost['seed']} diverged at frame {lost['frame']}: left out")
    say(f"wrote {run.out}/: config.json, metrics.parquet, curve.png, summary.json, {CHECKPOINT}")
    if not summary["complete"]:
        say(
            f"stopped at frame {summary['frames']:,} of {run.frames:,}; "
            f"rillax train --resume {run.out} goes on"
        )
        sys.exit(INTERRUPTED)


def _parse_resume(argv: list[str]) -> Run:
    """``rillax train --resume DIR``: everything else is in the directory."""
    if len(argv) != 2:
        raise ValueError("--resume takes the directory of a run, and no other flag")
    return Run.continued(Path(argv[1]))


def _parse_run(argv: list[str]) -> Run:
    """A run from its flags: the agent named by --agent decides which settings there are.

    The defaults of those settings are the paper's for that agent and environment, so they are known
    only once --agent, --env and --frames have been read.
    """
    first = argparse.ArgumentParser(prog="rillax train", add_help=False, allow_abbrev=False)
    for name in ("agent", "env", "frames"):
        first.add_argument(f"--{name}", default=str(getattr(_Flags, name)))
    for name in ("cell", "gradient"):
        first.add_argument(f"--{name}")
    named, _ = first.parse_known_args(argv)
    for what, choices in (("cell", get_args(CellName)), ("gradient", get_args(Gradient))):
        if (name := getattr(named, what)) is not None:
            choose(what, name, choices)
    try:
        frames = int(named.frames)
    except ValueError:
        frames = _Flags.frames  # the parser below has the right words for it
    defaults = presets.paper(named.agent, named.env, frames)

    @dataclasses.dataclass
    class Train:
        """Train an agent and write what it learned.

        Writes config.json, metrics.parquet, curve.png, summary.json and a checkpoint into the
        directory --out. `rillax train --resume DIR` goes on with a run that was cut.
        """

        run: _Flags
        settings: type(defaults)  # type: ignore[valid-type]

    chosen = parse(Train, argv, "rillax train", Train(_Flags(), defaults))
    flags = chosen.run
    given = {name: getattr(flags, name) for name in ("length", "memory")}
    return Run(
        agent=chosen.settings,
        env_name=flags.env,
        env_settings={name: value for name, value in given.items() if value is not None},
        out=flags.out,
        frames=flags.frames,
        seeds=flags.seeds,
        seed=flags.seed,
        checkpoint_seconds=flags.checkpoint_seconds,
        on_bad_input=flags.on_bad_input,
        tensorboard=flags.tensorboard,
        wandb=flags.wandb,
        staleness=flags.staleness,
        replay=flags.replay,
        overwrite=flags.overwrite,
    )


@dataclasses.dataclass(frozen=True)
class _Demo:
    """Watch memory being learned: QRC(lambda) on MemoryChain with three kinds of memory.

    A recurrent trace unit with exact RTRL, the same unit with a one-step gradient, and a network
    without memory. Ends with a table and one picture.
    """

    out: Path = Path("runs/demo")
    """Directory for the results."""
    frames: int = 50_000
    """Frames per seed."""
    seeds: int = 3
    length: int = 64
    """How many steps the cue must be remembered."""


DEMO = {
    "RTU, exact RTRL": {"cell": "rtu", "gradient": "rtrl"},
    "RTU, one-step gradient": {"cell": "rtu", "gradient": "tbptt"},
    "feed-forward": {"cell": "feedforward"},
}
# Units that start out remembering for 20 to 1000 steps, and layers that see all of them.
DEMO_NETWORK = Architecture(r_min=0.95, r_max=0.999, sparsity=0.0)


def _demo(argv: list[str]) -> None:
    demo = parse(_Demo, argv, "rillax demo", _Demo())
    runs = {label: _demo_run(demo, network) for label, network in DEMO.items()}
    say(
        f"MemoryChain: a cue at the start, {demo.length} steps of silence, one question. "
        "Random play returns 0, a perfect memory 1."
    )
    with interruptible() as stop, _bars() as bars, ThreadPoolExecutor(2) as pool:
        # The compiled loop runs outside the interpreter's lock: two threads use two cores.
        tasks = {
            label: pool.submit(train, run, _bar(bars, run, label), stop)
            for label, run in runs.items()
        }
        outcomes = {label: task.result() for label, task in tasks.items()}
    table = Table("memory", "final return (IQM)", "each seed", title=None)
    for label, (summary, _) in outcomes.items():
        each = "  ".join(shown(value) for value in summary["final_return_per_seed"])
        table.add_row(label, shown(summary["final_return_iqm"]), each)
    say(table)
    picture = demo.out / "memory.png"
    curves = {label: curve(bins) for label, (_, bins) in outcomes.items() if bins.columns()}
    figures.draw_curves(picture, curves, f"MemoryChain, {demo.length} steps to remember")
    say(f"picture: {picture}")
    if stop.is_set():
        sys.exit(INTERRUPTED)


def _demo_run(demo: _Demo, network: dict[str, Any]) -> Run:
    agent = presets.paper("qrc", "MemoryChain", demo.frames)
    return Run(
        agent=dataclasses.replace(agent, network=dataclasses.replace(DEMO_NETWORK, **network)),
        env_name="MemoryChain",
        env_settings={"length": demo.length},
        out=demo.out / "-".join(network.values()),
        frames=demo.frames,
        seeds=demo.seeds,
        overwrite=True,
    )


def _envs(argv: list[str]) -> None:
    """List the environments."""
    say("\n".join(envs.names()))


def _agents(argv: list[str]) -> None:
    """List the agents, each with the first line of its description."""
    for name, cls in AGENTS.items():
        say(f"{name}: {(sys.modules[cls.__module__].__doc__ or '').splitlines()[0]}")


def _bars() -> Bars:
    return Bars(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("{task.fields[rate]}"),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("return {task.fields[value]}"),
        console=console,
    )


def _bar(bars: Bars, run: Run, label: str | None = None) -> Callable[[Progress], None]:
    """A bar for one run; where there is no terminal, a line every tenth of the way."""
    label = label or run.title()
    task = bars.add_task(label, total=run.frames, rate="compiling", value="-")
    tenths = 0

    def report(progress: Progress) -> None:
        nonlocal tenths
        rate, value = f"{progress.frames_per_second:,.0f} frames/s", shown(progress.latest_return)
        bars.update(task, completed=progress.frames, rate=rate, value=value)
        if not console.is_terminal and progress.frames * 10 // run.frames > tenths:
            tenths = progress.frames * 10 // run.frames
            say(f"{label}: {10 * tenths} %, {rate}, return {value}")

    return report
