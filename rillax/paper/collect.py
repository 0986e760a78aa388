"""Results of a grid as one small Parquet file per figure, and what can be read from them.

A file holds a row for each cell, seed and bin, and as metadata the description of every cell, how
it ended, and the manifest: all that tables, figures and the report need.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rillax.experiments import store
from rillax.experiments.results import FINAL, iqm, number, standard_error
from rillax.paper import grid
from rillax.paper.grid import GridCell, Timing
from rillax.utils import files
from rillax.utils.files import OutputError
from rillax.utils.names import choose

KEPT = ("seed", "frame", "episodes", "return", "length", "width", "milliseconds")
STALENESS = "staleness"
_KEY = b"rillax"


@dataclass(frozen=True)
class Done:
    """A finished cell: what it was, its rows, and how it ended."""

    cell: GridCell
    columns: Mapping[str, np.ndarray]
    outcome: Mapping[str, Any]

    @property
    def seeds(self) -> int:
        return len(np.unique(self.columns["seed"]))

    @property
    def diverged(self) -> int:
        return len(self.summary.get("diverged", []))

    @property
    def summary(self) -> Mapping[str, Any]:
        return self.outcome.get("summary") or {}

    def final_returns(self) -> np.ndarray:
        """Of each seed that did not diverge, over the last tenth of its frames."""
        values = np.array(self.summary.get("final_return_per_seed", []), float)
        return values[np.isfinite(values)]

    def first_returns(self) -> np.ndarray:
        """Of each seed that finished an episode in the first tenth of its frames: their mean."""
        _, returns = self.curve()
        _, episodes = self.curve("episodes")
        first = max(1, round(FINAL * len(returns)))
        total = np.nansum(returns[:first] * episodes[:first], axis=0)
        count = episodes[:first].sum(axis=0)
        return total[count > 0] / count[count > 0]

    def curve(self, column: str = "return") -> tuple[np.ndarray, np.ndarray]:
        """Frames (bins,) and values (bins, seeds); NaN where nothing happened."""
        frames = np.unique(self.columns["frame"])
        return frames, self.columns[column].reshape(len(frames), -1)

    def staleness(self) -> np.ndarray:
        """Of each seed: the mean over its networks and over the last tenth of its frames."""
        names = [name for name in self.columns if name.startswith(STALENESS)]
        last = self.columns["frame"] > (1 - FINAL) * self.cell.work.frames
        values = np.array([self.columns[name] for name in names]).reshape(len(names), len(last))
        seeds = self.columns["seed"]
        each = (values[:, last & (seeds == seed)] for seed in np.unique(seeds))
        return np.array([np.nanmean(mine) for mine in each if np.isfinite(mine).any()])

    def milliseconds(self) -> dict[int, np.ndarray]:
        """Of one update, at each width."""
        widths = self.columns["width"]
        return {int(w): self.columns["milliseconds"][widths == w] for w in np.unique(widths)}


@dataclass(frozen=True)
class Results:
    """The finished cells of one figure."""

    figure: str
    cells: Mapping[str, Done]
    manifest: Mapping[str, Any]

    def at(self, group: str, label: str) -> Done | None:
        """The cell of one line at one point or in one panel, if it is finished."""
        found = (d for d in self.cells.values() if (d.cell.group, d.cell.label) == (group, label))
        return next(found, None)


def collect(root: store.Root, to: Path) -> dict[str, Path]:
    """Write a file for every figure of which a cell is finished."""
    manifest = root.manifest()
    store.check(root.path, manifest)
    finished = [(cell, done) for cell in root.cells() if (done := root.done(cell)) is not None]
    written = {}
    for figure in [*grid.figures(manifest["preset"]).values(), *grid.studies().values()]:
        names = [cell.name for cell in figure.cells]
        here = [(cell, done) for cell, done in finished if cell.name in names]
        if here:
            here.sort(key=lambda pair: names.index(pair[0].name))
            written[figure.name] = to / f"{figure.name}.parquet"
            to.mkdir(parents=True, exist_ok=True)
            _write(written[figure.name], figure.name, _table(root, figure.name, here), manifest)
    return written


def _table(root: store.Root, figure: str, here: list[tuple[GridCell, Any]]) -> pa.Table:
    parts = []
    for cell, _ in here:
        table = pq.read_table(root.directory(cell) / "metrics.parquet")
        kept = [name for name in table.column_names if _kept(name, figure)]
        table = table.select(kept)
        for i, field in enumerate(table.schema):
            if pa.types.is_floating(field.type):
                table = table.set_column(i, field.name, table[field.name].cast(pa.float32()))
        parts.append(table.add_column(0, "cell", pa.array([cell.name] * len(table), pa.string())))
    table = pa.concat_tables(parts, promote_options="default")
    about = {cell.name: {"cell": cell.to_json(), "outcome": done} for cell, done in here}
    return table.replace_schema_metadata({_KEY: json.dumps({"cells": about})})


def _kept(name: str, figure: str) -> bool:
    """The figure of staleness keeps that, the others the returns."""
    if name.startswith(STALENESS):
        return figure == "staleness"
    return name in KEPT and (figure != "staleness" or name in ("seed", "frame"))


def _write(path: Path, figure: str, table: pa.Table, manifest: Mapping[str, Any]) -> None:
    about = json.loads(table.schema.metadata[_KEY])
    meta = json.dumps({**about, "figure": figure, "manifest": manifest})
    table = table.replace_schema_metadata({_KEY: meta})
    files.write(path, lambda beside: pq.write_table(table, beside, compression="zstd"))


def load(directory: Path, figure: str) -> Results:
    """The collected results of a figure; an error if there are none."""
    choose("figure", figure, grid.EVERY)
    path = directory / f"{figure}.parquet"
    if not path.exists():
        raise OutputError(
            f"there is no {path}: run rillax reproduce {figure}, then rillax results collect"
        )
    try:
        table = pq.read_table(path)
        about = json.loads((table.schema.metadata or {})[_KEY])
    except (OSError, pa.ArrowInvalid, KeyError, json.JSONDecodeError) as error:
        raise OutputError(f"{path} is not a file of rillax results collect: {error!r}") from error
    names = np.array(table["cell"].to_pylist())
    columns = {
        name: table[name].to_numpy() for name in table.column_names if name != "cell"
    }  # null becomes NaN
    cells = {}
    for name, value in about["cells"].items():
        rows = names == name
        mine = {n: v[rows] for n, v in columns.items()}
        mine = {n: v for n, v in mine.items() if not np.isnan(v.astype(float)).all()}
        cells[name] = Done(GridCell.from_json(value["cell"]), mine, value["outcome"])
    return Results(figure, cells, about["manifest"])


def load_all(directory: Path) -> dict[str, Results]:
    """Every figure that has results in a directory."""
    return {
        name: load(directory, name)
        for name in grid.EVERY
        if (directory / f"{name}.parquet").exists()
    }


def summary(results: Results) -> list[dict[str, Any]]:
    """A row for each cell (and width): IQM, standard error, seeds, frames.

    ``start`` is the IQM over the first tenth of the frames, ``iqm`` that over the last.
    """
    rows = []
    for name, done in results.cells.items():
        common = {"cell": name, "group": done.cell.group, "label": done.cell.label}
        if isinstance(done.cell.work, Timing):
            for width, times in done.milliseconds().items():
                row = {"width": width, "milliseconds": float(np.median(times))}
                rows.append({**common, **row, "repeats": len(times)})
            continue
        stale = results.figure == "staleness"
        values = done.staleness() if stale else done.final_returns()
        start = np.array([]) if stale else done.first_returns()
        rows.append(
            {
                **common,
                "start": number(float(iqm(start))) if start.size else None,
                "iqm": number(float(iqm(values))) if values.size else None,
                "standard_error": number(float(standard_error(values))) if values.size else None,
                "seeds": done.cell.work.seeds,
                "diverged": done.diverged,
                "frames": done.cell.work.frames,
            }
        )
    return rows
