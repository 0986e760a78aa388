"""``rillax demo``: three kinds of memory, side by side."""

import dataclasses
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from rillax.cells import RTU, FeedForward
from rillax.cli.flags import Int
from rillax.cli.terminal import (
    DIVERGED,
    INTERRUPTED,
    fail,
    interruptible,
    parse,
    progress_bar,
    progress_bars,
    say,
    say_if_slow,
)
from rillax.experiments import Run, train
from rillax.experiments.curves import curve, draw_curves
from rillax.experiments.results import Bins
from rillax.experiments.training import Diverged, shown
from rillax.networks import Architecture
from rillax.paper import presets
from rillax.utils import machine


@dataclass(frozen=True)
class Demo:
    """Watch memory being learned: QRC(lambda) on MemoryChain with three kinds of memory.

    These are a recurrent trace unit with exact RTRL, the same unit with a one-step gradient, and a
    network without memory. The demo ends with a table and one picture.
    """

    out: Path = Path("runs/demo")
    """Directory for the results."""
    frames: Int = 50_000
    """Frames per seed."""
    seeds: Int = 3
    """How many seeds, run side by side."""
    length: Int = 64
    """How many steps the cue must be remembered."""


# Units that start out remembering for 20 to 1000 steps, and layers that see all of them.
REMEMBERING = RTU(r_min=0.95, r_max=0.999)
ONE_STEP = dataclasses.replace(REMEMBERING, gradient="tbptt")
MEMORIES = {
    "RTU, exact RTRL": ("rtu-rtrl", Architecture(cell=REMEMBERING, sparsity=0.0)),
    "RTU, one-step gradient": ("rtu-tbptt", Architecture(cell=ONE_STEP, sparsity=0.0)),
    "feed-forward": ("feedforward", Architecture(cell=FeedForward(), sparsity=0.0)),
}
"""Directory and network of each."""
Outcome = tuple[dict[str, Any], Bins]


def main(argv: list[str]) -> None:
    demo = parse(Demo, argv, "rillax demo")
    machine.keep_compilations()
    runs = {label: _run(demo, network) for label, (_, network) in MEMORIES.items()}
    say(
        f"MemoryChain: a cue at the start, {demo.length} steps of silence, one question. "
        "Random play returns 0, a perfect memory 1."
    )
    with interruptible() as stop:
        outcomes = _train(runs, demo.out, stop)
    say_if_slow()
    table = Table("memory", "final return (IQM)", "each seed", title=None)
    for label, (summary, _) in outcomes.items():
        each = "  ".join(shown(value) for value in summary["final_return_per_seed"])
        table.add_row(label, shown(summary["final_return_iqm"]), each)
    say(table)
    picture = demo.out / "memory.png"
    curves = {label: curve(bins) for label, (_, bins) in outcomes.items() if bins.columns()}
    draw_curves(picture, curves, f"MemoryChain, {demo.length} steps to remember")
    say(f"picture: {picture}")
    if stop.is_set():
        sys.exit(INTERRUPTED)


def _train(runs: dict[str, Run], out: Path, stop: threading.Event) -> dict[str, Outcome]:
    # The compiled loop runs outside the interpreter's lock: two threads use two cores.
    with progress_bars() as bars, ThreadPoolExecutor(2) as pool:
        tasks = {
            label: pool.submit(
                train,
                run,
                out / MEMORIES[label][0],
                overwrite=True,
                report=progress_bar(bars, run, label),
                stop=stop,
            )
            for label, run in runs.items()
        }
        try:
            return {label: task.result() for label, task in tasks.items()}
        except Diverged as error:
            fail(str(error), DIVERGED)


def _run(demo: Demo, network: Architecture) -> Run:
    agent = dataclasses.replace(presets.paper("qrc", "MemoryChain", demo.frames), network=network)
    return Run(agent, "MemoryChain", {"length": demo.length}, demo.frames, demo.seeds)
