"""The checkpoint of a run: when to write it, and how to resume from it."""

import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from rillax.experiments.results import Bins
from rillax.loops import Loop
from rillax.utils import checkpoint, files
from rillax.utils.checkpoint import CheckpointError

CHECKPOINT = "checkpoint.rillax"
LAST_GOOD = "last_good.rillax"
CHECKPOINT_SHARE = 0.01
"""Checkpoints take at most this share of the time."""


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

    def read(self, loop: Loop, bins: Bins) -> tuple[int, dict[int, Any], float]:
        """The frame to go on from, 0 if the run had come to no checkpoint; how fast it was."""
        if not self.path.exists():
            return 0, {}, 0.0
        arrays, meta = checkpoint.load(self.path)
        if meta.get("kind") != "run":
            raise CheckpointError(f"{self.path} holds a {meta.get('kind')}, not a run")
        if meta.get("run") not in (self.run, *self.earlier):
            raise CheckpointError(
                f"{self.path} was not written with the settings in config.json: one of them was "
                "changed or is damaged; restore the other file, or begin anew with --overwrite"
            )

        def part(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        try:
            loop.restore(part("loop/"), str(self.path))
            bins.restore(part("bins/"))
            diverged = {int(entry["seed"]): entry for entry in meta["diverged"]}
            return int(meta["frame"]), diverged, float(meta["rate"])
        except CheckpointError:
            raise
        except (LookupError, ValueError, TypeError, AttributeError) as error:
            raise CheckpointError(f"{self.path} is not of this run: {error!r}") from error

    def keep_last_good(self) -> None:
        """Before the first state with a diverged seed is written: what there is, stays."""
        good = self.out / LAST_GOOD
        if self.path.exists() and not good.exists():
            files.write(good, lambda beside: beside.write_bytes(self.path.read_bytes()))


class NoCheckpoints:
    """In the place of ``Checkpoints`` where nothing is written down."""

    def write_if_due(self, *_: Any) -> None:
        pass

    def write(self, *_: Any) -> None:
        pass

    def keep_last_good(self) -> None:
        pass
