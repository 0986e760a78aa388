"""``make bench``: what a streaming step costs, as ratios within one run.

Writes ``bench.json`` and ``docs/speed.png``; ``python -m benchmarks --only steps`` runs a part.
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any, get_args

from rich.console import Console
from rich.table import Table

from rillax.utils import machine

CAN_PIN = hasattr(os, "sched_setaffinity")  # not on macOS
CORES = machine.cores()
if CAN_PIN:  # here, for importing gymnax makes JAX's threads, and they must not have two cores
    os.sched_setaffinity(0, CORES[:1])

from benchmarks import batched, cores, games, host, steps  # noqa: E402
from rillax.cells import Correction  # noqa: E402

JSON, PICTURE = Path("bench.json"), Path("docs/speed.png")
PARTS = ("cores", "steps", "seeds", "layers", "corrections", "rules", "learner", "host", "games")
PARTS += ("ppo",)
console = Console(highlight=False)


def show(title: str, rows: dict[int, dict[str, steps.Row]]) -> None:
    table = Table(title, "agent", "us", "floor us", "ratio", "MB touched", "compiled in s")
    for value, agents in rows.items():
        for name, row in agents.items():
            table.add_row(
                str(value),
                name,
                f"{row['us_per_step']:.1f}",
                f"{row['floor_us_per_step']:.1f}",
                f"{row['ratio_to_floor']:.2f}",
                f"{row['megabytes_touched']:.2f}",
                f"{row['compile_seconds']:.1f}",
            )
    console.print(table)


def draw(rows: dict[int, dict[str, steps.Row]]) -> None:
    """Ratio to the floor against width."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    for name, (marker, line) in zip(steps.AGENTS, (("o", "-"), ("s", "--")), strict=True):
        ratios = [agents[name]["ratio_to_floor"] for agents in rows.values()]
        ax.plot(list(rows), ratios, marker=marker, ls=line, label=name)
    ax.set(xscale="log", xlabel="units of the RTU", ylabel="time of a step / floor", ylim=(0, None))
    ax.set_xticks(list(rows), [str(width) for width in rows])
    ax.minorticks_off()
    ax.grid(alpha=0.25)
    ax.legend(frameon=False)
    figure.savefig(PICTURE, dpi=150)
    console.print(f"wrote {PICTURE}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    only = parser.parse_args().only
    results: dict[str, Any] = json.loads(JSON.read_text()) if JSON.exists() else {}
    if "cores" in only and CAN_PIN:
        found = results["cores"] = cores.measure(CORES)
        console.print(
            f"six seeds of stream AC: {found['frames_per_second_on_one']:,.0f} frames/s on one "
            f"core, {found['frames_per_second_on_all']:,.0f} on {found['cores']}: "
            f"{found['speedup']:.2f} times"
        )
    if "steps" in only:
        widths = steps.by_width()
        show("units", widths)
        draw(widths)
        for name in steps.AGENTS:
            at = {str(width): agents[name] for width, agents in widths.items()}
            results[name] = {**at["192"], "widths": at}
    if "seeds" in only:
        seeds = steps.by_seeds()
        show("seeds", seeds)
        results["seeds"] = seeds
    if "layers" in only:
        layers = steps.by_layers()
        show("layers", layers)
        results["layers"] = layers
    if "corrections" in only:
        ratios = results["corrections"] = steps.corrections()
        table = Table("a step with a staleness correction, against none", *get_args(Correction))
        for name, row in ratios.items():
            table.add_row(name, *(f"{ratio:.2f}" for ratio in row.values()))
        console.print(table)
    if "rules" in only:
        found = {
            "intentional / ObGD": steps.rules(),
            "minGRU / RTU": steps.cells(),
            "Rill": steps.rill(),
            "Rill, networks of the same size": steps.rill(units=192, width=64),
        }
        results["rules"] = found
        table = Table("a step as a ratio to another", *found["minGRU / RTU"])
        for name, row in found.items():
            table.add_row(name, *(f"{ratio:.2f}" for ratio in row.values()))
        console.print(table)
    if "learner" in only:
        times = results["learner"] = steps.learner()
        table = Table("act and learn of a Learner", "engine", "median us", "99 % us", "of a step")
        for name, engines in times.items():
            for engine, row in engines.items():
                us = (f"{row[n]:.0f}" for n in ("median_us", "p99_us"))
                table.add_row(name, engine, *us, f"{row['ratio_to_step']:.2f}")
        console.print(table)
        seconds = results["first_action_seconds"] = steps.first_action()
        console.print(f"a Learner's first action, with compiled programs kept: {seconds:.1f} s")
    if "host" in only:
        host_loop(results)
    if "games" in only:
        one_step = results.get("qrc") or steps.against_floor({"qrc": steps.AGENTS["qrc"]})["qrc"]
        shares = games.environment_steps(one_step["us_per_step"])
        results["environment_share"] = shares
        table = Table("environment step", "share of a QRC step")
        for name, share in shares.items():
            table.add_row(name, f"{100 * share:.1f} %")
        console.print(table)
    if "ppo" in only:
        frames = results["ppo"] = batched.frames()
        table = Table("a frame, updates included", "us")
        for name, us in frames.items():
            table.add_row(name, f"{us:.0f}")
        console.print(table)
    JSON.write_text(json.dumps(results, indent=2) + "\n")
    console.print(f"wrote {JSON}")


def host_loop(results: dict[str, Any]) -> None:
    try:
        found = results["host_loop"] = host.host_loop()
    except ModuleNotFoundError as missing:
        console.print(f"host loop: not measured, {missing}")
        return
    console.print(
        f"host loop, HalfCheetah-P, stream AC: {found['us_per_step']:.0f} us a frame; simulator "
        f"{found['environment_us_per_step']:.0f}, agent {found['agent_us_per_step']:.0f}; "
        f"ratio to their sum {found['ratio_to_parts']:.2f}"
    )


if __name__ == "__main__":
    main()
