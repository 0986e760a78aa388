"""The paper's KMemoryChain experiment (Section 4.4): staleness and return for each correction.

K in 4, 8, 16; QRC(lambda) and stream AC(lambda); every correction of the RTU.
``python -m rillax.experiments.kmemory`` runs what has not been run, goes on with what was cut, and
draws the figure; ``--help`` lists its flags.
"""

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import tyro

from rillax import files
from rillax.cells import Correction
from rillax.experiments import presets
from rillax.experiments.figures import STYLES
from rillax.experiments.results import FINAL, iqm, standard_error, write_table
from rillax.experiments.run import Run, train

MEMORIES = (4, 8, 16)
AGENTS = ("qrc", "stream_ac")
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
NETWORKS = {"qrc": ("q", "h"), "stream_ac": ("actor", "critic")}
AGENT_NAMES = {"qrc": "QRC(λ)", "stream_ac": "stream AC(λ)"}


class Cell(NamedTuple):
    """One place in the grid."""

    agent: str
    memory: int
    correction: Correction

    def directory(self) -> str:
        return f"{self.agent}_{self.memory}_{self.correction}"


@dataclasses.dataclass(frozen=True)
class Grid:
    """The KMemoryChain experiment; the defaults are the paper's size (Tables 5 and 6)."""

    root: Path = Path("runs/kmemory")
    """Where the runs go, one directory each."""
    results: Path = Path("results/kmemory")
    """Where the summary and the figure go."""
    frames: int = 300_000
    """Frames per seed."""
    seeds: int = 5
    interval: int = 1000
    """Staleness is measured every so many frames."""
    memories: tuple[int, ...] = MEMORIES
    """K."""
    width: int = 64
    hidden: int = 192

    def cells(self) -> Iterator[Cell]:
        for memory in self.memories:
            for agent in AGENTS:
                for correction in CORRECTIONS:
                    yield Cell(agent, memory, correction)

    def run(self, cell: Cell) -> Run:
        """The run of one cell: the paper's settings, with that correction."""
        agent = presets.paper(cell.agent, "KMemoryChain", self.frames)
        network = dataclasses.replace(
            agent.network, correction=cell.correction, width=self.width, hidden=self.hidden
        )
        return Run(
            agent=dataclasses.replace(agent, network=network),
            env_name="KMemoryChain",
            env_settings={"memory": cell.memory},
            out=self.root / cell.directory(),
            frames=self.frames,
            seeds=self.seeds,
            staleness=self.interval,
        )


def run_all(grid: Grid) -> None:
    """Every run that is not finished yet, from where it stands."""
    for cell in grid.cells():
        run = grid.run(cell)
        if (run.out / "config.json").exists():
            held = Run.continued(run.out)
            if (held.agent, held.frames, held.seeds) != (run.agent, run.frames, run.seeds):
                raise files.OutputError(
                    f"{run.out} holds a run with other settings; choose another --root"
                )
            run = held
        summary, _ = train(run)
        print(f"{cell.directory()}: final return {summary['final_return_iqm']}", flush=True)


def summarise(grid: Grid) -> pa.Table:
    """One row for each cell, seed and bin: return, staleness and bound of each network."""
    tables = []
    for cell in grid.cells():
        path = grid.root / cell.directory() / "metrics.parquet"
        if not path.exists():
            raise files.OutputError(f"there is no {path}; run the grid first")
        table = pq.read_table(path)
        kept = ["seed", "frame", "return"]
        columns: dict[str, Any] = {name: table[name] for name in kept}
        for i, network in enumerate(NETWORKS[cell.agent]):
            for what in ("staleness", "bound"):
                columns[f"{what}_{i}"] = table[f"{what}_{network}"]
        rows = len(table)
        labels = {name: [value] * rows for name, value in cell._asdict().items()}
        tables.append(pa.table({**labels, **columns}))
    return pa.concat_tables(tables)


Curves = Mapping[Cell, Mapping[str, np.ndarray]]
"""For each cell, arrays of shape (bins, seeds)."""


def curves(table: pa.Table) -> dict[Cell, dict[str, np.ndarray]]:
    data = {name: np.asarray(table[name].to_pylist()) for name in table.column_names}
    places = list(zip(data["agent"], data["memory"], data["correction"], strict=True))
    found = {}
    for place in dict.fromkeys(places):
        here = np.array([p == place for p in places])
        seeds = len(set(data["seed"][here]))
        cell = Cell(str(place[0]), int(place[1]), place[2])
        found[cell] = {
            name: np.asarray(data[name][here], float).reshape(-1, seeds)
            for name in data
            if name not in ("agent", "memory", "correction", "seed")
        }
    return found


def _mean(values: np.ndarray, axis: int | tuple[int, ...]) -> np.ndarray:
    """Of what was measured; NaN where nothing was."""
    seen = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        return np.where(seen, values, 0).sum(axis=axis) / seen.sum(axis=axis)


def final_staleness(cell: Mapping[str, np.ndarray], what: str = "staleness") -> np.ndarray:
    """Of each seed, the mean over both networks and the last tenth of the run."""
    both = np.stack([cell[f"{what}_0"], cell[f"{what}_1"]])
    last = max(1, round(FINAL * both.shape[1]))
    return _mean(both[:, -last:], axis=(0, 1))


def draw(directory: Path, found: Curves) -> None:
    """Staleness against K for each agent, and the returns of every cell."""
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    memories = sorted({cell.memory for cell in found})
    with plt.rc_context({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}):
        figure, axes = plt.subplots(
            len(AGENTS),
            1 + len(memories),
            figsize=(3 + 3 * len(memories), 5.6),
            layout="constrained",
            squeeze=False,
        )
        for row, agent in zip(axes, AGENTS, strict=True):
            for correction, (colour, line) in zip(CORRECTIONS, STYLES, strict=False):
                style = {"color": colour, "ls": line, "lw": 1.8, "label": correction}
                _plot_staleness(row[0], found, agent, correction, memories, style)
                for ax, memory in zip(row[1:], memories, strict=True):
                    _plot_returns(ax, found[Cell(agent, memory, correction)], style)
            row[0].set(
                yscale="log", xlabel="K", ylabel=f"{AGENT_NAMES[agent]}\nstaleness, last tenth"
            )
            row[0].set_xticks(memories)
            row[1].set_ylabel("return of an episode")
            for ax, memory in zip(row[1:], memories, strict=True):
                ax.set(title=f"K = {memory}", xlabel="frames")
                ax.xaxis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if x else "0")
        axes[0][0].legend(frameon=False)
        for ax in axes.flat:
            ax.grid(alpha=0.25)
        for kind in ("png", "svg"):
            files.write(
                directory / f"kmemory.{kind}",
                lambda beside, kind=kind: figure.savefig(beside, format=kind, dpi=150),  # type: ignore[misc]
            )
        plt.close(figure)


def _plot_staleness(
    ax: Any, found: Curves, agent: str, correction: Correction, memories: list[int], style: Any
) -> None:
    cells = [found[Cell(agent, memory, correction)] for memory in memories]
    finals = np.stack([final_staleness(cell) for cell in cells])
    ax.errorbar(memories, iqm(finals, axis=1), standard_error(finals, axis=1), marker="o", **style)


def _plot_returns(ax: Any, cell: Mapping[str, np.ndarray], style: Any, points: int = 25) -> None:
    """IQM over seeds, shaded standard error; neighbouring bins are merged."""
    every = -(-len(cell["return"]) // points)
    starts = range(0, len(cell["return"]), every)
    returns = np.stack([_mean(cell["return"][i : i + every], axis=0) for i in starts])
    frames = np.stack([cell["frame"][i : i + every][-1, 0] for i in starts])
    middle, error = iqm(returns, axis=1), standard_error(returns, axis=1)
    ax.fill_between(frames, middle - error, middle + error, color=style["color"], alpha=0.2, lw=0)
    ax.plot(frames, middle, **style)


def report(found: Curves) -> dict[str, Any]:
    """Final return, staleness and bound of each cell: IQM over seeds and standard error."""
    rows = {}
    for cell, columns in found.items():
        last = max(1, round(FINAL * len(columns["return"])))
        values = {
            "return": _mean(columns["return"][-last:], axis=0),
            "staleness": final_staleness(columns),
            "bound": final_staleness(columns, "bound"),
        }
        ended = {name: each[np.isfinite(each)] for name, each in values.items()}
        rows[cell.directory()] = {
            name: {"iqm": float(iqm(each)), "standard_error": float(standard_error(each))}
            for name, each in ended.items()
            if each.size
        }
    return rows


def main(grid: Grid) -> None:
    run_all(grid)
    table = summarise(grid)
    grid.results.mkdir(parents=True, exist_ok=True)
    write_table(grid.results / "kmemory.parquet", table)
    found = curves(table)
    draw(grid.results, found)
    files.write_json(grid.results / "summary.json", report(found))
    print(json.dumps(report(found), indent=2))


if __name__ == "__main__":
    main(tyro.cli(Grid))
