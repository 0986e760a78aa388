"""Where every number of a learner's state is: in the C struct, in saved bytes, in JAX's tree."""

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rillax.utils.checkpoint import CheckpointError

VERSION = 1
"""Of the saved bytes."""
_HEADER = struct.Struct("<4sIII")
_MAGIC = b"RLXC"


@dataclass(frozen=True)
class Field:
    """A member of the struct, and the JAX leaf that it is."""

    member: str
    paths: tuple[str, ...]
    """Several, where JAX keeps the same number in several places; none, if it keeps it nowhere."""
    count: int
    scalar: bool
    real: bool
    unsigned: bool = False
    least: int | None = None
    below: int | None = None
    """The integers it may hold: from ``least``, and less than ``below``."""
    declared: bool = True
    """Whether the struct names it itself, or has it inside of another member."""


def reals(member: str, path: str, count: int | None = None, declared: bool = True) -> Field:
    return Field(member, (path,), count or 1, count is None, True, declared=declared)


def integer(member: str, *paths: str, least: int | None = None, below: int | None = None) -> Field:
    return Field(member, paths, 1, True, False, least=least, below=below)


@dataclass(frozen=True)
class Layout:
    """The saved members of the struct in their order: real numbers, then integers."""

    fields: tuple[Field, ...]
    kind: int
    """A number that tells this learner's bytes from those of another network or agent."""

    @property
    def numbers(self) -> list[Field]:
        return [field for field in self.fields if field.real]

    @property
    def integers(self) -> list[Field]:
        return [field for field in self.fields if not field.real]

    def length(self, size_of_real: int) -> int:
        """How many bytes ``learner_save`` writes."""
        reals_ = size_of_real * sum(field.count for field in self.numbers)
        return _HEADER.size + reals_ + 4 * sum(field.count for field in self.integers) + 4

    def write(self, arrays: dict[str, np.ndarray], acted: bool) -> bytes:
        """The leaves of a state (``checkpoint.flatten``) as ``learner_load`` takes them."""
        double = arrays[self.numbers[0].paths[0]].dtype == np.float64
        kind = np.dtype("<f8" if double else "<f4")
        parts = [_HEADER.pack(_MAGIC, VERSION, self.kind, kind.itemsize)]
        parts += [arrays[f.paths[0]].astype(kind).tobytes() for f in self.numbers]
        for field in self.integers:
            value = arrays[field.paths[0]] if field.paths else np.asarray(acted)
            parts.append(value.astype("<u4" if field.unsigned else "<i4").tobytes())
        content = b"".join(parts)
        return content + struct.pack("<I", zlib.crc32(content))

    def read(
        self, content: bytes, like: dict[str, np.ndarray], what: str
    ) -> tuple[dict[str, np.ndarray], bool]:
        """The leaves that a device saved, in the types of ``like``, and whether it has acted."""
        kind = self._check(content, what)
        at = _HEADER.size
        arrays, acted = dict(like), False
        for field in (*self.numbers, *self.integers):
            of = kind if field.real else np.dtype("<u4" if field.unsigned else "<i4")
            value = np.frombuffer(content, of, field.count, at)
            at += value.nbytes
            if not field.paths:
                acted = bool(value[0])
            for path in field.paths:
                arrays[path] = value.astype(like[path].dtype).reshape(like[path].shape)
        return arrays, acted

    def _check(self, content: bytes, what: str) -> np.dtype:
        """The type of real numbers in some bytes; a ``CheckpointError`` if they are not ours."""
        if len(content) < _HEADER.size + 4 or not content.startswith(_MAGIC):
            raise CheckpointError(f"{what} does not hold what learner_save wrote")
        _, version, kind, size = _HEADER.unpack_from(content)
        if version != VERSION:
            raise CheckpointError(
                f"{what} has version {version}, but this rillax reads version {VERSION} only"
            )
        if kind != self.kind:
            raise CheckpointError(
                f"{what} was saved by another learner: with another agent, network or space"
            )
        if size not in (4, 8) or len(content) != self.length(size):
            raise CheckpointError(
                f"{what} has {len(content)} bytes; this learner saves {self.length(4)}, or "
                f"{self.length(8)} with LEARNER_DOUBLE"
            )
        if zlib.crc32(content[:-4]) != struct.unpack("<I", content[-4:])[0]:
            raise CheckpointError(
                f"{what} is damaged: its checksum does not match (truncated, or changed on the way)"
            )
        return np.dtype("<f8" if size == 8 else "<f4")

    def check_complete(self, arrays: dict[str, np.ndarray], constants: Sequence[str]) -> None:
        """Raise an error unless the layout has every leaf of a state, and no other."""
        known = {path for field in self.fields for path in field.paths}
        for path in arrays:
            if path not in known and not path.startswith(tuple(constants)):
                raise ValueError(f"the agent's state has {path}, which has no form in C")
        for field in self.fields:
            for path in field.paths:
                size = arrays[path].size if path in arrays else 0
                if size != field.count:
                    raise ValueError(
                        f"the agent's state has {size} numbers of {path}, but its form in C has "
                        f"{field.count}"
                    )
