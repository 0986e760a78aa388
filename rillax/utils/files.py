"""Files that are either there and whole, or not there: written beside and renamed.

JSON files of ours carry a digest of what they hold, so that a changed byte is noticed.
"""

import hashlib
import json
import os
import re
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DIGEST = "sha256"
"""The entry of a JSON file that holds the digest of the others."""
_BESIDE = ".writing"
_LONGEST_NAME = 255  # bytes, on all common file systems


class OutputError(Exception):
    """An output directory or file that cannot be used; the message says why and what to do."""


def claim(directory: Path, *, overwrite: bool = False) -> None:
    """Make ``directory`` ready for a run, or say why it is not."""
    try:
        holds_a_run = (directory / "config.json").exists()
        if not holds_a_run or overwrite:
            directory.mkdir(parents=True, exist_ok=True)
            probe = directory / ".write"
            probe.touch()
            probe.unlink()
    except (OSError, ValueError) as error:  # a ValueError, if the name has a null byte
        raise OutputError(
            f"cannot write to {_short(directory)}: {reason(error)}; choose another --out"
        ) from error
    if holds_a_run and not overwrite:
        raise OutputError(
            f"{directory} already holds a run; choose another --out, continue it with "
            f"--resume {directory}, or pass --overwrite"
        )


def reason(error: Exception) -> str:
    """What an error says, without the path, which the message has already."""
    return getattr(error, "strerror", None) or str(error)


def said_of(error: OSError) -> str:
    """An error of the system's in one line, with the name of the file if it is of one."""
    if error.filename is None:
        return first_line(error)
    return f"cannot use {_short(Path(os.fsdecode(error.filename)))}: {reason(error)}"


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:90]}...{text[-90:]}"


# ---- writing


def write(path: Path, save: Callable[[Path], Any]) -> None:
    """Let ``save`` write a file beside ``path``, then put it in its place at once.

    The bytes are on the disk before the name is: a power cut leaves the old file or the new one.
    What a process that was killed here has left beside it is removed first, as the disk may be
    full of it.
    """
    beside = _beside(path)
    try:
        _remove_leftovers(path)
        save(beside)
        with open(beside, "rb") as file:
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise OutputError(f"cannot write {_short(path)}: {reason(error)}") from error
    finally:
        _remove(beside)


def _beside(path: Path) -> Path:
    """Where a file is written before it gets its name: a name for this process alone."""
    return path.with_name(f"{_stem(path)}.{_host()}.{os.getpid()}{_BESIDE}")


def _stem(path: Path) -> str:
    name = f".{path.name}"
    if len(os.fsencode(name)) + 60 <= _LONGEST_NAME:
        return name
    return f".{hashlib.sha256(os.fsencode(name)).hexdigest()[:32]}"


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:30]


def _remove_leftovers(path: Path) -> None:
    """Remove what writers of this file have left that are no more, on this machine."""
    start = f"{_stem(path)}.{_host()}."
    for name in _names(path.parent):
        number = name.removeprefix(start).removesuffix(_BESIDE)
        ours = name.startswith(start) and name.endswith(_BESIDE) and number.isdigit()
        if ours and int(number) != os.getpid() and not _is_alive(int(number)):
            _remove(path.parent / name)


def remove_all_leftovers(directory: Path) -> None:
    """Remove what any writer has left in a directory; for whoever has locked it."""
    for name in _names(directory):
        if name.startswith(".") and name.endswith(_BESIDE):
            _remove(directory / name)


def _names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except OSError:
        return []


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        return


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def write_bytes(path: Path, value: bytes) -> None:
    write(path, lambda beside: beside.write_bytes(value))


# ---- JSON


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object, and the digest of it."""
    value = json.loads(json.dumps(value))
    text = json.dumps({**value, DIGEST: digest(value)}, indent=2) + "\n"
    write(path, lambda beside: beside.write_text(text))


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON file of ours; None if it is not there. A file that was changed is refused."""
    try:
        value = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise OutputError(f"cannot read {_short(path)}: {first_line(error)}") from error
    if not isinstance(value, dict):
        raise OutputError(f"{path} is damaged: it does not hold a JSON object")
    found = value.pop(DIGEST, None)
    # Files of earlier versions have no digest; one under another name is a damaged name.
    missing = found is None and not any(map(_looks_like_a_digest, value.values()))
    if not missing and found != digest(value):
        raise OutputError(
            f"{path} is damaged, or was changed by hand: what it holds does not match its digest"
        )
    return value


def digest(value: Any) -> str:
    """The SHA-256 of a JSON value, however it was laid out."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def digest_of_file(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise OutputError(f"cannot read {path}: {reason(error)}") from error


def check_digests(directory: Path, expected: dict[str, str]) -> None:
    """Raise an error if one of these files is not what it was when its digest was taken."""
    for name, was in expected.items():
        if digest_of_file(directory / name) != was:
            raise OutputError(f"{directory / name} is damaged: it does not match its digest")


def _looks_like_a_digest(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def first_line(error: Exception) -> str:
    """What an error says, at most a line of it."""
    return next(iter(reason(error).splitlines()), type(error).__name__)[:160]


# ---- locks


@contextmanager
def locked(path: Path, what: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock at ``path``; it vanishes with the process that holds it, however that ends.

    ``patience``: seconds to wait for one that is just ending.
    """
    try:
        file = open(path, "a+")  # noqa: SIM115 (closed below, which is what gives the lock back)
    except OSError as error:
        raise OutputError(f"cannot write {_short(path)}: {error.strerror or error}") from error
    with file:
        end = time.monotonic() + patience
        while not _try_lock(file.fileno()):
            if time.monotonic() >= end:
                file.seek(0)
                raise OutputError(f"{what}: {file.read().strip() or 'it does not say who'}")
            time.sleep(0.1)
        _sign(file)
        yield


def _sign(file: Any) -> None:
    """Say who holds the lock; on a full disk it holds all the same."""
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}")
        file.flush()
    except OSError:
        return


def _try_lock(descriptor: int) -> bool:
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
