"""Checkpoints: arrays and JSON in one file, safe to load from a stranger.

A file is a line that says what it is, the SHA-256 of the rest, and an uncompressed ``.npz`` that is
read without pickle. Nothing in it is ever executed, a byte that changed on the way is noticed, and
reading it takes no more memory than the file has bytes: whatever it declares is held against that
first. Everything that is wrong with a file is a ``CheckpointError``.
"""

import hashlib
import io
import json
import math
import zipfile
from pathlib import Path
from typing import Any

import jax
import numpy as np

from rillax.utils import files, machine

VERSION = 3
MAGIC = b"rillax checkpoint\n"
_META = "meta.json"


class CheckpointError(ValueError):
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
    content = _read(Path(path))
    if not content.startswith(MAGIC):
        raise CheckpointError(f"{path} is not a rillax checkpoint")
    digest, _, data = content[len(MAGIC) :].partition(b"\n")
    if hashlib.sha256(data).hexdigest().encode() != digest:
        raise CheckpointError(
            f"{path} is damaged: its checksum does not match (truncated, or changed on the way)"
        )
    try:
        everything = _arrays(data)
        meta = json.loads(everything.pop(_META).tobytes())
        _check_depth(meta)
    except _BAD as error:
        raise CheckpointError(f"{path} is not a rillax checkpoint: {error}") from error
    if not isinstance(meta, dict):
        raise CheckpointError(f"{path} is not a rillax checkpoint: it says nothing about itself")
    if meta.get("version") != VERSION:
        version = meta.get("version")
        writer = "rillax 0.1" if version == 1 else "another rillax"
        raise CheckpointError(
            f"{path} has version {version}, but this rillax reads version {VERSION} only; version "
            f"{version} was written by {writer}"
        )
    return {name.removeprefix("array/"): value for name, value in everything.items()}, meta


_BAD = (ValueError, LookupError, TypeError, RuntimeError, EOFError, zipfile.BadZipFile)
"""What reading a file that someone has made up can raise."""


def _read(path: Path) -> bytes:
    try:
        size, available = path.stat().st_size, machine.available_memory()
        if available is not None and 2 * size > available:
            raise CheckpointError(
                f"{path} has {machine.readable(size)}, which is more than there is memory for"
            )
        return path.read_bytes()
    except (OSError, MemoryError) as error:
        raise CheckpointError(f"cannot read {path}: {files.reason(error)}") from error


def _arrays(data: bytes) -> dict[str, np.ndarray]:
    """The members of an archive, none of which may be larger than it takes room in the file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        if len({member.filename for member in members}) != len(members):
            raise ValueError("it has two members of one name")
        if sum(member.file_size for member in members) > len(data):
            raise ValueError("its members claim to be larger than the file")
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{member.filename[:80]} is compressed")
        return {m.filename.removesuffix(".npy"): _array(archive.read(m)) for m in members}


def _array(data: bytes) -> np.ndarray:
    """An array in NumPy's format, of plain numbers and of the size that it says."""
    file = io.BytesIO(data)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"an array is of version {version} of NumPy's format")
    shape, fortran, dtype = _HEADERS[version](file)
    if dtype.kind not in "fiubc":
        raise ValueError(f"an array holds {dtype}, and not numbers")
    body = memoryview(data)[file.tell() :]
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(body):
        raise ValueError("an array is not of the size that it says")
    flat = np.frombuffer(body, dtype)
    return flat.reshape(shape, order="F" if fortran else "C").copy()


_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def _check_depth(value: Any, most: int = 50) -> None:
    layer = [value]
    for _ in range(most):
        inner = [v.values() if isinstance(v, dict) else v for v in layer]
        layer = [v for values in inner if not _is_scalar(values) for v in values]
        if not layer:
            return
    raise ValueError(f"what it says about itself is nested in more than {most} levels")


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)


def under(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix, without it."""
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def flatten(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a tree by path, on the host; PRNG keys as their data."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path): np.asarray(_plain(leaf)) for path, leaf in leaves}


def unflatten(like: Any, arrays: dict[str, np.ndarray], what: str) -> Any:
    """A tree like ``like`` (arrays or shapes) with the leaves that ``flatten`` gave."""
    return _unflatten(like, arrays, what, jax.numpy.asarray)


def unflatten_on_host(like: Any, arrays: dict[str, np.ndarray], what: str) -> Any:
    """As ``unflatten``, in NumPy's arrays, which have 64 bits."""
    return _unflatten(like, arrays, what, np.array)


def _unflatten(like: Any, arrays: dict[str, np.ndarray], what: str, make: Any) -> Any:
    def leaf(path: Any, template: Any) -> Any:
        name = jax.tree_util.keystr(path)
        if name not in arrays:
            raise CheckpointError(f"{what} is of another agent: it has no {name}")
        value = arrays[name]
        key = is_key(template)
        if key:
            template = jax.eval_shape(jax.random.key_data, template)
        array_like(template, value, name, what)
        return jax.random.wrap_key_data(jax.numpy.asarray(value)) if key else make(value)

    return jax.tree_util.tree_map_with_path(leaf, like)


def of_the_same_form(
    like: dict[str, Any], arrays: dict[str, np.ndarray], what: str
) -> dict[str, np.ndarray]:
    """These arrays, if they have the names, shapes and types of others, and no more names."""
    if like.keys() != arrays.keys():
        name = min(like.keys() ^ arrays.keys())
        raise CheckpointError(f"{what} is of another agent: {name[:80]} is missing or too many")
    return {name: array_like(like[name], arrays[name], name, what) for name in like}


def array_like(like: Any, array: np.ndarray, name: str, what: str) -> np.ndarray:
    """An array, if it has the shape and the type of another."""
    if array.shape != like.shape or array.dtype != like.dtype:
        raise CheckpointError(
            f"{what} is of another agent: {name[:80]} is {array.dtype}{list(array.shape)}, "
            f"expected {like.dtype}{list(like.shape)}"
        )
    return array


def is_key(leaf: Any) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if is_key(leaf) else leaf
