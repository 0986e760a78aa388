"""Files that are either there and whole, or not there: written beside and renamed."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


class OutputError(Exception):
    """An output directory or file that cannot be used; the message says why and what to do."""


def claim(directory: Path, *, overwrite: bool = False) -> None:
    """Make ``directory`` ready for a run, or say why it is not."""
    if (directory / "config.json").exists() and not overwrite:
        raise OutputError(
            f"{directory} already holds a run; choose another --out, continue it with "
            f"--resume {directory}, or pass --overwrite"
        )
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / ".write"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise OutputError(
            f"cannot write to {directory}: {error.strerror or error}; choose another --out"
        ) from error


def write(path: Path, save: Callable[[Path], Any]) -> None:
    """Let ``save`` write a file beside ``path``, then put it in its place at once.

    The bytes are on the disk before the name is: a power cut leaves the old file or the new one.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        save(beside)
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


def write_bytes(path: Path, value: bytes) -> None:
    write(path, lambda beside: beside.write_bytes(value))


def write_json(path: Path, value: Any) -> None:
    write(path, lambda beside: beside.write_text(json.dumps(value, indent=2) + "\n"))
