"""The checkpoint of a run: when to write it, and how to resume from it."""

import math
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from rillax.experiments.results import Bins
from rillax.loops import Loop
from rillax.utils import checkpoint, files
from rillax.utils.checkpoint import CheckpointError

CHECKPOINT = "checkpoint.rillax"
LAST_GOOD = "last_good.rillax"
CHECKPOINT_SHARE = 0.01
"""Checkpoints take at most this share of the time."""
Loaded = tuple[dict[str, np.ndarray], dict[str, Any]]


class Position(NamedTuple):
    """How far a run has come."""

    frame: int = 0
    diverged: Mapping[int, Any] = MappingProxyType({})
    """What is known of the seeds that have diverged."""
    rate: float = 0.0
    """Frames per second."""


class Checkpoints:
    """When to write a checkpoint, and writing it."""

    def __init__(
        self, out: Path, seeds: int, every: float, run: str, earlier: Collection[str] = ()
    ):
        """``run`` is the digest of the run's settings: a checkpoint belongs to them.

        One that was written before the run was extended has a digest of ``earlier``.
        """
        self.out, self.seeds, self.every, self.run = out, seeds, every, run
        self.earlier = earlier
        self.path = out / CHECKPOINT
        self.due = time.perf_counter() + every

    def write_if_due(self, loop: Loop, bins: Bins, frame: int, diverged: dict[int, Any]) -> None:
        if time.perf_counter() >= self.due:
            self.write(loop, bins, frame, diverged)

    def write(
        self, loop: Loop, bins: Bins, frame: int, diverged: dict[int, Any], rate: float = 0.0
    ) -> None:
        if len(diverged) == self.seeds:
            return  # the last good one stays
        before = time.perf_counter()
        arrays = {f"loop/{k}": v for k, v in loop.save().items()}
        arrays |= {f"bins/{k}": v for k, v in bins.save().items()}
        meta = {
            "kind": "run",
            "run": self.run,
            "frame": frame,
            "rate": rate,
            "diverged": list(diverged.values()),
        }
        checkpoint.save(self.path, arrays, meta)
        after = time.perf_counter()
        wait = max(self.every, (after - before) / CHECKPOINT_SHARE)
        self.due = after + wait

    def load(self) -> Loaded | None:
        """What the file holds, which is of this run; None if it had come to no checkpoint."""
        if not self.path.exists():
            return None
        arrays, meta = checkpoint.load(self.path)
        if meta.get("kind") != "run":
            raise CheckpointError(f"{self.path} holds a {meta.get('kind')}, not a run")
        if meta.get("run") not in (self.run, *self.earlier):
            raise CheckpointError(
                f"{self.path} was not written with the settings in config.json: one of them was "
                "changed or is damaged; restore the other file, or begin anew with --overwrite"
            )

        return arrays, meta

    def read(self, loop: Loop, bins: Bins) -> Position:
        """Where to go on from, which is the beginning if the run had come to no checkpoint."""
        loaded = self.load()
        return Position() if loaded is None else self.restore(loaded, loop, bins)

    def restore(self, loaded: Loaded, loop: Loop, bins: Bins) -> Position:
        """Let the loop and the bins be as they were."""
        arrays, meta = loaded
        try:
            position = _position(meta, bins.frames)
            bins.restore(checkpoint.under("bins/", arrays), position.frame, self.seeds)
            loop.restore(checkpoint.under("loop/", arrays), str(self.path))
        except CheckpointError:
            raise
        except Exception as error:  # a file from a stranger may raise anything
            raise CheckpointError(f"{self.path} is not of this run: {error!r:.200}") from error
        return position

    def keep_last_good(self) -> None:
        """Before the first state with a diverged seed is written: what there is, stays."""
        good = self.out / LAST_GOOD
        if self.path.exists() and not good.exists():
            files.write(good, lambda beside: beside.write_bytes(self.path.read_bytes()))


def _position(meta: Mapping[str, Any], frames: int) -> Position:
    """What a file says of how far a run of so many frames had come; a ValueError if it cannot be.

    A file from a stranger may hold anything in the place of a number.
    """
    frame, rate, diverged = (meta[name] for name in ("frame", "rate", "diverged"))
    if type(frame) is not int or not 0 <= frame <= frames:
        raise ValueError(f"it stands at frame {str(frame)[:20]} of {frames}")
    if type(rate) not in (int, float) or not 0 <= rate < math.inf:
        raise ValueError(f"its rate is {str(rate)[:20]}")
    for entry in diverged:
        numbers = entry["seed"], entry["frame"]
        named = all(type(name) is str for name in entry["networks"])
        if not named or any(type(number) is not int for number in numbers):
            raise ValueError("what it says of diverged seeds is not right")
    return Position(frame, {entry["seed"]: entry for entry in diverged}, float(rate))


class NoCheckpoints:
    """In the place of ``Checkpoints`` where nothing is written down."""

    def write_if_due(self, *_: Any) -> None:
        pass

    def write(self, *_: Any) -> None:
        pass

    def keep_last_good(self) -> None:
        pass
