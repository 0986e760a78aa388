"""A learner as one C file: a streaming agent that learns where there is no Python.

``source`` makes the C of an agent, ``write`` a directory with the C and the state it starts from,
``read`` takes back what such a learner has saved, and ``Library`` is the same C compiled here.
"""

from pathlib import Path
from typing import Any

import numpy as np

from rillax.export.library import REFUSED, Library, NoCompiler
from rillax.export.source import Source, source
from rillax.export.source import start as _start
from rillax.utils import files
from rillax.utils.checkpoint import CheckpointError

__all__ = ["REFUSED", "Library", "NoCompiler", "Source", "described", "read", "source", "write"]

HEADER, CODE, DESCRIPTION = "learner.h", "learner.c", "learner.json"


def write(
    out: Path,
    agent: Any,
    observation_space: Any,
    action_space: Any,
    arrays: dict[str, np.ndarray],
    meta: dict[str, Any],
    *,
    acted: bool,
) -> list[Path]:
    """Write header, source and description of a learner whose state (``checkpoint.flatten``) is
    ``arrays``; returns their paths.

    ``meta`` is what a checkpoint of the learner would hold beside its arrays. ``acted`` says
    whether the learner has an action to learn about.
    """
    text = source(agent, observation_space, action_space, start=True)
    text.layout.check_complete(arrays, text.constants)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise files.OutputError(
            f"cannot write to {out}: {error.strerror or error}; choose another --out"
        ) from error
    code = text.code + _start(text.layout, arrays, acted)
    files.write_bytes(out / HEADER, text.header.encode())
    files.write_bytes(out / CODE, code.encode())
    files.write_json(out / DESCRIPTION, meta)
    return [out / HEADER, out / CODE, out / DESCRIPTION]


def described(directory: Path) -> dict[str, Any]:
    """What ``write`` was given as ``meta``."""
    path = directory / DESCRIPTION
    meta = files.read_json(path)
    if meta is None:
        raise files.OutputError(f"{directory} holds no exported learner: cannot read {path.name}")
    if meta.get("kind") != "learner":
        raise CheckpointError(f"{path} does not describe a learner")
    return meta


def read(
    content: bytes,
    agent: Any,
    observation_space: Any,
    action_space: Any,
    like: dict[str, np.ndarray],
    what: str,
) -> tuple[dict[str, np.ndarray], bool]:
    """The state in what ``learner_save`` wrote, in the types of ``like``, and whether it has acted.

    ``what`` names the bytes in errors.
    """
    layout = source(agent, observation_space, action_space).layout
    return layout.read(content, like, what)
