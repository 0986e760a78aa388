"""``rillax evaluate``: a trained run, played without learning."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from rillax.cli.terminal import console, count, parse, say
from rillax.experiments import evaluation
from rillax.experiments.evaluation import Evaluation
from rillax.experiments.results import iqm, number, standard_error
from rillax.experiments.training import shown
from rillax.utils import files, machine


@dataclass(frozen=True)
class Evaluate:
    """Play a trained run for some episodes, with learning off, and tell what each seed earns."""

    run: Annotated[
        tyro.conf.Positional[Path],
        tyro.conf.arg(metavar="RUN", help="The directory of the run."),
    ]
    episodes: int = 20
    """Episodes of each seed."""
    explore: bool = False
    """Act as in training instead of greedily."""
    seed: int = 0
    """Seed of the environments."""
    json: bool = False
    """Print JSON instead of a table."""
    video: Path | None = None
    """Write a GIF of the first seed's first episode, where the environment can render."""
    trust: bool = False
    """Import code that the run's config.json names: an agent, cell or rule that is not rillax's."""


def main(argv: list[str]) -> None:
    flags = parse(Evaluate, argv, "rillax evaluate")
    machine.keep_compilations()
    run, states = evaluation.trained(flags.run, flags.trust)
    how: dict[str, Any] = {"explore": flags.explore, "seed": flags.seed}
    results = evaluation.evaluate(run, states, flags.episodes, **how)
    if flags.json:
        print(json.dumps({"run": str(flags.run), **_summary(results)}))
    else:
        _print_table(results)
        doing = "acting as in training" if flags.explore else "acting greedily"
        total = shown(_summary(results)["mean_return_iqm"])
        say(f"return {total} (IQM of {count(len(results), 'seed')}), {doing}, nothing learned")
    if flags.video is not None:
        pictures: list[np.ndarray] = []
        first = evaluation.of_seed(states, slice(0, 1))
        one = dataclasses.replace(run, seeds=1)
        evaluation.evaluate(one, first, 1, **how, show=pictures.append)
        _write_gif(flags.video, pictures)
        say(f"wrote {flags.video}: {count(len(pictures), 'picture')}")


def _summary(results: list[Evaluation]) -> dict[str, Any]:
    means = np.array([result.mean for result in results])
    return {
        "mean_return_iqm": number(float(iqm(means))),
        "standard_error": number(float(standard_error(means))),
        "seeds": [result.as_json() for result in results],
    }


def _print_table(results: list[Evaluation]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for head in ("seed", "return", "deviation", "least", "most", "length", "episodes"):
        table.add_column(head, justify="right")
    for r in results:
        numbers = (r.mean, r.deviation, float(r.returns.min()), float(r.returns.max()))
        length = f"{float(np.mean(r.lengths)):.1f}"
        table.add_row(str(r.seed), *map(shown, numbers), length, str(len(r.returns)))
    console().print(table)


def _write_gif(path: Path, pictures: list[np.ndarray]) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    first, *rest = (Image.fromarray(np.asarray(picture)) for picture in pictures)
    how: dict[str, Any] = {"format": "GIF", "save_all": True, "duration": 33, "loop": 0}
    files.write(path, lambda beside: first.save(beside, append_images=rest, **how))
