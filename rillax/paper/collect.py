"""Results of a grid as one small Parquet file per figure, and what can be read from them.

A file holds a row for each job, seed and bin. Its metadata hold the description of every job, how
it ended, and the manifest: all that tables, figures and the report need.
"""

import contextlib
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rillax.experiments import Job, store
from rillax.experiments.training import METRICS
from rillax.paper import figures
from rillax.paper.figure import Figure, Results
from rillax.paper.finished import Done
from rillax.utils import files, settings
from rillax.utils.files import OutputError
from rillax.utils.names import choose

__all__ = ["Results", "collect", "load", "load_all", "missing", "summary"]

FORMAT = 2
"""Of these files. The first format had settings by other names, and called a job a cell."""
_KEY = "rillax"
_COLUMNS = ("seed", "frame", "episodes", "return", "length", "width", "milliseconds")
"""What metrics may have, beside those of an agent or a measurement of its own."""


def collect(root: store.Root, to: Path, add: bool = False) -> dict[str, Path]:
    """Write a file for every figure of which a job is finished.

    With ``add``, jobs that are in the file already and not finished here stay in it.
    """
    manifest = root.manifest()
    finished = [(job, done) for job in root.jobs() if (done := root.done(job)) is not None]
    written = {}
    for figure in (figures.find(name, manifest["preset"]) for name in figures.EVERY):
        names = [job.name for job in figure.jobs]
        here = [(job, done) for job, done in finished if job.name in names]
        if here:
            here.sort(key=lambda pair: names.index(pair[0].name))
            written[figure.name] = path = to / f"{figure.name}.parquet"
            to.mkdir(parents=True, exist_ok=True)
            new = _table(root, figure, here), _about(figure, here, manifest)
            write(path, *(_joined(path, figure, *new) if add and path.exists() else new))
    return written


def missing(chosen: Mapping[str, Figure], directory: Path) -> dict[str, Figure]:
    """The figures without the jobs that were collected there, settings, frames and seeds alike."""
    left = {}
    for name, figure in chosen.items():
        path = directory / f"{name}.parquet"
        done = load(directory, name).jobs if path.exists() else {}
        jobs = tuple(j for j in figure.jobs if j.name not in done or done[j.name].job != j)
        left[name] = dataclasses.replace(figure, jobs=jobs)
    return {name: figure for name, figure in left.items() if figure.jobs}


def _joined(
    path: Path, figure: Figure, table: pa.Table, about: dict[str, Any]
) -> tuple[pa.Table, dict[str, Any]]:
    """What a file holds together with what is new; what is new takes the place of what was."""
    old, before = _read(path)
    presets = [one["manifest"]["preset"] for one in (before, about)]
    if presets[0] != presets[1]:
        raise OutputError(f"{path} holds the preset {presets[0]}, not {presets[1]}: choose --to")
    kept = [name not in about["jobs"] for name in old["job"].to_pylist()]
    table = pa.concat_tables([old.filter(pa.array(kept)), table], promote_options="default")
    described = before["jobs"] | about["jobs"]
    order = [job.name for job in figure.jobs if job.name in described]
    manifest = store.joined(before["manifest"], about["manifest"])
    jobs = {name: described[name] for name in order}
    return table, {**about, "jobs": jobs, "manifest": manifest}


def _table(root: store.Root, figure: Figure, here: list[tuple[Job, Any]]) -> pa.Table:
    parts = []
    for job, done in here:
        table = _metrics(root.directory(job), done)
        table = table.select([n for n in table.column_names if figure.quantity.keeps(n)])
        for i, field in enumerate(table.schema):
            if pa.types.is_floating(field.type):
                table = table.set_column(i, field.name, table[field.name].cast(pa.float32()))
        parts.append(table.add_column(0, "job", pa.array([job.name] * len(table), pa.string())))
    return pa.concat_tables(parts, promote_options="default")


def _metrics(directory: Path, done: Mapping[str, Any]) -> pa.Table:
    """What a job measured; an error if it is not what the job wrote."""
    files.check_digests(directory, (done.get("summary") or done).get("files", {}))
    try:
        return pq.read_table(directory / METRICS)
    except (OSError, pa.ArrowException) as error:
        raise OutputError(f"{directory / METRICS} is damaged: {error}") from error


def _about(
    figure: Figure, here: list[tuple[Job, Any]], manifest: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "figure": figure.name,
        "jobs": {j.name: {"job": settings.to_json(j), "outcome": done} for j, done in here},
        "manifest": manifest,
    }


def write(path: Path, table: pa.Table, about: Mapping[str, Any]) -> None:
    """The rows and the metadata of a figure as one file."""
    table = table.replace_schema_metadata(None)
    plain = json.loads(json.dumps(about))
    signed = {**plain, files.DIGEST: files.digest(plain)}

    def save(beside: Path) -> None:
        # As metadata of the schema, it would be in the file twice: for Parquet and for Arrow.
        options = {"compression": "zstd", "store_schema": False, "write_page_checksum": True}
        with pq.ParquetWriter(beside, table.schema, **options) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({_KEY: json.dumps(signed)})

    files.write(path, save)


def load(directory: Path, figure: str, what: str | None = None) -> Results:
    """The collected results of a figure; an error if there are none, of which it says ``what``.

    The directory is one of collected results, or one that ``rillax reproduce`` wrote.
    """
    choose("figure", figure, figures.EVERY)
    path = _inside(directory) / f"{figure}.parquet"
    if not path.exists():
        raise OutputError(
            f"there is no {what or path}: run rillax reproduce {figure}, then rillax results "
            "collect; results show --out DIR reads what reproduce --out DIR wrote"
        )
    table, about = _read(path)
    with _foreign(path):
        manifest = about["manifest"]
        whole = figures.find(figure, manifest["preset"])
        needed = ["job", *filter(whole.quantity.keeps, _COLUMNS)]
        if gone := [name for name in needed if name not in table.column_names]:
            raise OutputError(f"{path} is damaged: it has no column {gone[0]}")
        return Results(whole, _jobs(table, about["jobs"]), manifest)


def _read(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """The rows and the metadata of a file."""
    with _foreign(path):
        table = pq.read_table(path, page_checksum_verification=True)
        about = json.loads((table.schema.metadata or {})[_KEY.encode()])
        if about.pop(files.DIGEST, None) not in (None, files.digest(about)):
            raise OutputError(f"{path} is damaged: what it holds does not match its digest")
        if (written := about.get("format", 1)) != FORMAT:
            raise OutputError(
                f"{path} is of format {written}, and this rillax reads format {FORMAT}: read it "
                f"with rillax {about['manifest']['rillax']}, which wrote it"
            )
        return table.replace_schema_metadata(None), about


@contextlib.contextmanager
def _foreign(path: Path) -> Iterator[None]:
    """Whatever is wrong with a file is an ``OutputError`` that names it."""
    try:
        yield
    except OutputError:
        raise
    except (OSError, pa.ArrowException, LookupError, ValueError, TypeError) as error:
        raise OutputError(f"{path} is not a file of rillax results collect: {error!r}") from error


def _inside(directory: Path) -> Path:
    """Where the collected results are in a directory of ``rillax reproduce``."""
    return directory / "results" if (directory / store.MANIFEST).exists() else directory


def _jobs(table: pa.Table, described: Mapping[str, Any]) -> dict[str, Done]:
    """The finished jobs of a file, by name."""
    names = np.array(table["job"].to_pylist())
    columns = {n: table[n].to_numpy() for n in table.column_names if n != "job"}  # null is NaN
    found = {}
    for name, value in described.items():
        rows = names == name
        mine = {n: v[rows] for n, v in columns.items()}
        mine = {n: v for n, v in mine.items() if not np.isnan(v.astype(float)).all()}
        found[name] = Done(settings.from_json(value["job"]), mine, value["outcome"])
    return found


def load_all(directory: Path) -> dict[str, Results]:
    """Every figure that has results in a directory."""
    directory = _inside(directory)
    return {
        name: load(directory, name)
        for name in figures.EVERY
        if (directory / f"{name}.parquet").exists()
    }


def summary(results: Results) -> list[dict[str, Any]]:
    """A row for each job (and width): IQM, standard error, seeds, frames.

    ``start`` is the IQM over the first tenth of the frames, ``iqm`` that over the last.
    """
    return [
        {"job": name, "group": done.job.group, "label": done.job.label, **row}
        for name, done in results.jobs.items()
        for row in results.figure.quantity.rows(done)
    ]
