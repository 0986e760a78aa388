"""The checkpoint of a run: when to write it, and how to resume from it."""

import time
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

    def __init__(self, out: Path, seeds: int, every: float):
        self.out, self.seeds, self.every = out, seeds, every
        self.path = out / CHECKPOINT
        self.due = time.perf_counter() + every

    def write_if_due(self, loop: Loop, bins: Bins, frame: int, diverged: dict[int, Any]) -> None:
        if time.perf_counter() >= self.due:
            self.write(loop, bins, frame, diverged)

    def write(self, loop: Loop, bins: Bins, frame: int, diverged: dict[int, Any]) -> None:
        if len(diverged) == self.seeds:
            return  # the last good one stays
        before = time.perf_counter()
        arrays = {f"loop/{k}": v for k, v in loop.save().items()}
        arrays |= {f"bins/{k}": v for k, v in bins.save().items()}
        meta = {"kind": "run", "frame": frame, "diverged": list(diverged.values())}
        checkpoint.save(self.path, arrays, meta)
        after = time.perf_counter()
        wait = max(self.every, (after - before) / CHECKPOINT_SHARE)
        self.due = after + wait

    def read(self, loop: Loop, bins: Bins) -> tuple[int, dict[int, Any]]:
        """The frame to go on from; 0 if the run had come to no checkpoint."""
        if not self.path.exists():
            return 0, {}
        arrays, meta = checkpoint.load(self.path)
        if meta.get("kind") != "run":
            raise CheckpointError(f"{self.path} holds a {meta.get('kind')}, not a run")

        def part(prefix: str) -> dict[str, np.ndarray]:
            return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}

        loop.restore(part("loop/"), str(self.path))
        bins.restore(part("bins/"))
        return meta["frame"], {entry["seed"]: entry for entry in meta["diverged"]}

    def keep_last_good(self) -> None:
        """Before the first state with a diverged seed is written: what there is, stays."""
        good = self.out / LAST_GOOD
        if self.path.exists() and not good.exists():
            files.write(good, lambda beside: beside.write_bytes(self.path.read_bytes()))
