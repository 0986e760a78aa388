"""Several runs in one picture: what each is called is what differs between them.

Nothing here builds an agent, so that runs with parts of a user's own can be compared without
importing them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from rillax.experiments.curves import Curve
from rillax.experiments.training import CONFIG, METRICS, SUMMARY
from rillax.utils import files
from rillax.utils.files import OutputError
from rillax.utils.settings import KIND

UNTOLD = ("frames", "seeds", "seed", "extended")
"""What says how long a run was, and not what it was."""
PLAIN = ((), ("agent",), ("network",), ("env_settings",))
"""Parts whose settings go by their own names."""
Leaves = dict[tuple[str, ...], Any]


@dataclass(frozen=True)
class Outcome:
    """A run on disk: how it is described, how it went, and what came of it."""

    out: Path
    run: Mapping[str, Any]
    curve: Curve
    summary: Mapping[str, Any]


def read(out: Path, points: int = 25) -> Outcome:
    """A run from its directory; an error names the file that is not there or not whole."""
    config, summary = (_json(out / name) for name in (CONFIG, SUMMARY))
    run = config.get("run")
    if not isinstance(run, dict) or not isinstance(run.get("env", ""), str):
        raise OutputError(f"{out / CONFIG} is not the config of a run")
    _check_summary(out, summary)
    try:
        table = pyarrow.parquet.read_table(out / METRICS, columns=["frame", "return", "episodes"])
        curve = _curve(table, points)
    except (OSError, pa.ArrowException, ValueError, TypeError) as error:
        raise OutputError(f"cannot read {out / METRICS}: {files.first_line(error)}") from error
    return Outcome(out, run, curve, summary)


def _json(path: Path) -> dict[str, Any]:
    value = files.read_json(path)
    if value is None:
        raise OutputError(f"{path.parent} holds no finished run: cannot read {path.name}")
    return value


def _check_summary(out: Path, summary: Mapping[str, Any]) -> None:
    """Raise an error unless what is shown of a summary are numbers, and its files are as written.

    Summaries of earlier versions name no files.
    """
    shown = {"final_return_iqm": float, "final_return_standard_error": float}
    kinds: dict[str, type] = {**shown, "seeds": int, "frames": int}
    for name, kind in kinds.items():
        value = summary.get(name, 0)
        absent = value is None and kind is float
        if not absent and (isinstance(value, bool) or not isinstance(value, int | kind)):
            raise OutputError(f"{out / SUMMARY} is not the summary of a run: its {name} is wrong")
    named = summary.get("files", {})
    if not isinstance(named, dict) or not set(named) <= {METRICS}:
        raise OutputError(f"{out / SUMMARY} is not the summary of a run: its files are wrong")
    files.check_digests(out, named)


def _curve(table: pa.Table, points: int) -> Curve:
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    frames = np.unique(columns["frame"])
    if not len(frames):
        raise ValueError("it has no rows")
    shape = len(frames), -1
    episodes = columns["episodes"].reshape(shape).astype(float)
    total = np.nan_to_num(columns["return"].reshape(shape).astype(float)) * episodes
    starts = np.arange(0, len(frames), -(-len(frames) // points))
    ends = np.append(starts[1:], len(frames)) - 1
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.add.reduceat(total, starts) / np.add.reduceat(episodes, starts)
    return frames[ends], means


# ---- names


def names(outcomes: Sequence[Outcome]) -> list[str]:
    """What to call each run: the settings that are not the same in all of them.

    Runs that differ in nothing are called by their directories.
    """
    described = [dict(_leaves(outcome.run)) for outcome in outcomes]
    paths = dict.fromkeys(path for leaves in described for path in leaves)
    told = [path for path in paths if _differs(path, described)]
    called = [", ".join(_told(path, leaves) for path in told) for leaves in described]
    alike = len(set(called)) < len(called) or "" in called
    return [
        " ".join(filter(None, [name, f"({outcome.out.name})" if name else outcome.out.name]))
        if alike
        else name
        for name, outcome in zip(called, outcomes, strict=True)
    ]


def _leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, (*path, name))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for i, item in enumerate(value):
            yield from _leaves(item, (*path, str(i)))
    else:
        yield path, value


def _differs(path: tuple[str, ...], described: Sequence[Leaves]) -> bool:
    """Whether it is worth telling: where the kinds differ, their settings go without saying."""
    if path[-1] in UNTOLD or len({str(leaves.get(path)) for leaves in described}) == 1:
        return False
    if path[-1] == KIND:
        return all(path in leaves for leaves in described)
    parts = [path[:i] for i in range(1, len(path))]
    return len({tuple(d.get((*part, KIND)) for part in parts) for d in described}) == 1


def _told(path: tuple[str, ...], leaves: Leaves) -> str:
    """One setting as a person says it.

    >>> _told(("agent", "kind"), {("agent", "kind"): "rillax.agents:QRC"})
    'QRC'
    >>> _told(("agent", "discount"), {("agent", "discount"): 0.9})
    'discount 0.9'
    """
    value = leaves.get(path)
    if path[-1] == KIND:
        return str(value).rpartition(":")[2]
    if path == ("env",):
        return str(value)
    name = path[-1].replace("_", " ")
    if isinstance(value, bool):
        return name if value else f"no {name}"
    parent = "" if path[-2:-1] in PLAIN or path[-2].isdigit() else f"{path[-2]} "
    return f"{parent}{name} {value}"
