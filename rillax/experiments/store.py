"""Where the results of a grid live: one directory per job under a root that one runner owns.

    root/manifest.json          versions, commit, machine, preset
    root/FIGURE/JOB/            job.json, progress.json, spent.json, log.txt, the files of a run,
                                done.json

A job with ``done.json`` is finished; any other goes on from its checkpoint. Every file is written
beside and renamed, so what is there is whole.
"""

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax

import rillax
from rillax.experiments.jobs import Job
from rillax.utils import files, settings
from rillax.utils.files import OutputError, locked, read_json

FORMAT = 2
MANIFEST, LOCK = "manifest.json", ".lock"
JOB, PROGRESS, LOG, DONE = "job.json", "progress.json", "log.txt", "done.json"
SPENT = "spent.json"


class Root:
    """An output directory of ``rillax reproduce``."""

    def __init__(self, path: Path):
        self.path = path.absolute()

    def directory(self, job: Job) -> Path:
        return self.path / job.name

    def done(self, job: Job) -> dict[str, Any] | None:
        """What a finished job left; None if it is not finished."""
        return read_json(self.directory(job) / DONE)

    def progress(self, job: Job) -> dict[str, Any] | None:
        return read_json(self.directory(job) / PROGRESS)

    def manifest(self) -> dict[str, Any]:
        """What the root is of; an error if it was written by another version, or is not whole."""
        value = read_json(self.path / MANIFEST)
        if value is None:
            raise OutputError(
                f"{self.path} holds no results of rillax reproduce: it has no {MANIFEST}"
            )
        check(self.path, value)
        return value

    def jobs(self) -> Iterator[Job]:
        """Every job that was ever started here."""
        for path in sorted(self.path.glob(f"*/*/{JOB}")):
            yield read_job(path)

    def check(self, preset: str, jobs: Iterable[Job]) -> None:
        """Raise an error if these jobs cannot be run here; nothing is written."""
        before = read_json(self.path / MANIFEST)
        if before is None:
            if any(path.name != LOCK for path in _inside(self.path)):
                raise OutputError(
                    f"{self.path} is not empty and was not written by rillax reproduce; "
                    "choose another --out"
                )
            return
        check(self.path, before, preset)
        for job in jobs:
            self._check_same(job)

    @contextmanager
    def owned(self, preset: str) -> Iterator[None]:
        """Own the root for a while; a second runner is refused."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"cannot write to {self.path}: {error.strerror or error}; choose another --out"
            ) from error
        with locked(self.path / LOCK, f"another runner is at work in {self.path}"):
            files.remove_all_leftovers(self.path)
            before = read_json(self.path / MANIFEST)
            files.write_json(self.path / MANIFEST, _manifest(preset, before))
            yield

    def _check_same(self, job: Job) -> None:
        there = read_json(self.directory(job) / JOB)
        here = json.loads(json.dumps(settings.to_json(job)))
        if there is None or there == here:
            return
        differences = "; ".join(_differences(there, here))
        raise OutputError(
            f"{self.path} holds {job.name} with other settings ({differences}); "
            "choose another --out"
        )

    def enter(self, job: Job) -> Path:
        """The job's directory, with its description in it."""
        directory = self.directory(job)
        try:
            directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot write to {directory}: {error.strerror or error}") from error
        if not (directory / JOB).exists():
            files.write_json(directory / JOB, settings.to_json(job))
        return directory


def _inside(directory: Path) -> list[Path]:
    try:
        return list(directory.glob("*"))
    except (OSError, ValueError) as error:
        raise OutputError(f"cannot read {directory}: {files.reason(error)}") from error


_IN_A_MANIFEST = {"preset": str, "started": str, "commits": list, "machines": list}


def check(path: Path, manifest: dict[str, Any], preset: str | None = None) -> None:
    """Raise an error if a root was written by another version, or with another preset."""
    written = manifest.get("format"), manifest.get("rillax")
    if written != (FORMAT, rillax.__version__):
        raise OutputError(
            f"{path} was written by rillax {written[1]} (format {written[0]}), this is rillax "
            f"{rillax.__version__} (format {FORMAT}); nothing was changed: finish it with that "
            "version or choose another --out"
        )
    for name, kind in _IN_A_MANIFEST.items():
        if not isinstance(manifest.get(name), kind):
            raise OutputError(f"{path / MANIFEST} is damaged: its {name} is missing or wrong")
    if preset is not None and manifest.get("preset") != preset:
        raise OutputError(
            f"{path} holds the preset {manifest.get('preset')}, not {preset}; choose another --out"
        )


def _differences(there: Any, here: Any, at: str = "") -> Iterator[str]:
    if isinstance(there, dict) and isinstance(here, dict):
        for name in sorted(set(there) | set(here)):
            yield from _differences(there.get(name), here.get(name), name)
    elif there != here:
        yield f"{at} {there}, not {here}"


def _manifest(preset: str, before: dict[str, Any] | None) -> dict[str, Any]:
    """What a root is of. Every commit and machine that worked on it is listed."""
    before = before or {}
    commits, machines = before.get("commits", []), before.get("machines", [])
    return {
        "format": FORMAT,
        "rillax": rillax.__version__,
        "preset": preset,
        "commits": _with(commits, commit()),
        "machines": _with(machines, machine()),
        "started": before.get("started", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())),
    }


def joined(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest of two roots together: every commit and machine of both."""
    both: dict[str, Any] = {**after, "started": min(before["started"], after["started"])}
    for name in ("commits", "machines"):
        both[name] = list(before[name])
        for value in after[name]:
            both[name] = _with(both[name], value)
    return both


def _with(values: list[Any], value: Any) -> list[Any]:
    return values if value in values else [*values, value]


def commit() -> str:
    """The commit of the source that runs; with a plus if files differ from it."""
    where = Path(rillax.__file__).parent

    def git(*args: str) -> str:
        command = ["git", "-C", str(where), *args]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # ours, and not a repository around us
        changed = git("status", "--porcelain", "--untracked-files=no", "--", str(where))
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def machine() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "jax": jax.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(x.split(":", 1)[1].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def read_job(path: Path, trust: bool = False) -> Job:
    """The job that a file describes; ``trust`` for whoever has written it."""
    value = read_json(path)
    try:
        job = settings.from_json(value, trust=trust)
    except settings.Untrusted:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise OutputError(f"{path} does not describe a job: {error}") from error
    if not isinstance(job, Job):
        raise OutputError(f"{path} does not describe a job")
    return job
