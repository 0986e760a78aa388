"""Checkpoints: arrays and JSON in one file, safe to load from a stranger.

A file is a line that says what it is, the SHA-256 of the rest, and an uncompressed ``.npz`` that is
read without pickle. Nothing in it is ever executed, and a byte that changed on the way is noticed.
"""

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rillax.utils import files

VERSION = 2
MAGIC = b"rillax checkpoint\n"
_META = "meta.json"


class CheckpointError(Exception):
    """A checkpoint that cannot be used; the file is left as it was."""


def save(path: str | Path, arrays: dict[str, np.ndarray], meta: dict[str, Any]) -> None:
    """Write arrays by name, and anything that JSON can hold."""
    header = json.dumps({"version": VERSION, **meta}).encode()
    payload = io.BytesIO()
    named = {f"array/{name}": value for name, value in arrays.items()}
    np.savez(payload, allow_pickle=False, **{_META: np.frombuffer(header, np.uint8)}, **named)
    data = payload.getvalue()
    digest = hashlib.sha256(data).hexdigest().encode()
    files.write(Path(path), lambda beside: beside.write_bytes(MAGIC + digest + b"\n" + data))


def load(path: str | Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """The arrays and what was saved with them; a ``CheckpointError`` says what is wrong."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise CheckpointError(f"cannot read {path}: {error.strerror or error}") from error
    if not content.startswith(MAGIC):
        raise CheckpointError(f"{path} is not a rillax checkpoint")
    digest, _, data = content[len(MAGIC) :].partition(b"\n")
    if hashlib.sha256(data).hexdigest().encode() != digest:
        raise CheckpointError(
            f"{path} is damaged: its checksum does not match (truncated, or changed on the way)"
        )
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            everything = {name: archive[name] for name in archive.files}
        meta = json.loads(everything.pop(_META).tobytes())
    except (ValueError, KeyError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path} is not a rillax checkpoint: {error}") from error
    if meta.get("version") != VERSION:
        version = meta.get("version")
        writer = "rillax 0.1" if version == 1 else "another rillax"
        raise CheckpointError(
            f"{path} has version {version}, but this rillax reads version {VERSION} only; version "
            f"{version} was written by {writer}"
        )
    return {name.removeprefix("array/"): value for name, value in everything.items()}, meta


def under(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a tree by path, on the host; PRNG keys as their data."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(_plain(leaf)) for path, leaf in leaves}


def unflatten(like: Any, arrays: dict[str, np.ndarray], what: str) -> Any:
    """A tree like ``like`` (arrays or shapes) with the leaves that ``flatten`` gave."""

    def leaf(path: Any, template: Any) -> Any:
        name = jax.tree_util.keystr(path)
        if name not in arrays:
            raise CheckpointError(f"{what} is of another agent: it has no {name}")
        value = arrays[name]
        if is_key(template):
            return jax.random.wrap_key_data(jax.numpy.asarray(value))
        if value.shape != template.shape or value.dtype != template.dtype:
            raise CheckpointError(
                f"{what} is of another agent: {name} is {value.dtype}{list(value.shape)}, "
                f"expected {template.dtype}{list(template.shape)}"
            )
        return jax.numpy.asarray(value)

    return jax.tree_util.tree_map_with_path(leaf, like)


def is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if is_key(leaf) else leaf
