"""What to run: an agent, an environment, frames and seeds, as one value.

A ``Run`` is what ``rillax train`` makes of its flags, what ``config.json`` holds, and what a job of
a grid is. Nothing in it depends on where or how it is run: that is ``Options``.
"""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Real
from typing import Any, ClassVar, Self

from rillax import agents, staleness
from rillax.envs.others import is_own
from rillax.loops import inputs
from rillax.loops.inputs import OnBadInput
from rillax.staleness import Replay
from rillax.utils import ranges, settings


@dataclass(frozen=True)
class Run:
    """An agent in an environment. ``frames`` are per seed."""

    agent: Any
    env: str = "MemoryChain"
    """Environment; `rillax envs` lists them, and module:Name is one of your own."""
    env_settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the environment."""
    frames: int = 100_000
    """Frames per seed."""
    seeds: int = 5
    """How many seeds, run side by side."""
    seed: int = 0
    """The first seed; the others follow it."""
    on_bad_input: OnBadInput = "raise"
    """What to do with a NaN or infinite observation or reward of a Gymnasium environment."""
    staleness: int | None = None
    """Measure how stale the sensitivities are, against a replay, every N frames."""
    replay: Replay = "inputs"
    """What is replayed: the recurrent layers' inputs as they were, or the observations, encoded
    anew."""
    extended: tuple[int, ...] = field(default=(), metadata={"quiet": True})
    """How many frames it was to have, each time before it was extended."""

    alone: ClassVar[bool] = False
    """Whether nothing else may run beside it."""

    def __post_init__(self) -> None:
        for name in ("frames", "seeds", "seed"):
            ranges.check_type(self, name, Real, "a whole number")
        ranges.check(self, frames=ranges.WHOLE, seeds=ranges.WHOLE, seed=ranges.SEED)
        ranges.check(self, staleness=ranges.WHOLE)
        ranges.check_type(self, "env", str, "the name of an environment")
        ranges.check_type(self, "env_settings", Mapping, "settings by name")
        inputs.check_policy(self.on_bad_input)
        if not all(callable(getattr(self.agent, name, None)) for name in ("init", "act")):
            raise ValueError(f"agent must have init and act, got {self.agent!r:.40}")
        if not isinstance(self.extended, tuple) or any(type(n) is not int for n in self.extended):
            raise ValueError(f"extended must be whole numbers of frames, got {self.extended!r:.40}")
        lengths = 0, *self.extended, self.frames
        if any(a >= b for a, b in pairwise(lengths)):
            raise ValueError(f"a run is extended to more frames than it had, got {lengths[1:]}")
        if self.staleness is not None:
            staleness.check(self.staleness, self.replay)

    def extend(self, frames: int) -> Self:
        """The same run to more frames; everything else, the agent's schedules too, stays."""
        extended = (*self.extended, self.frames)
        return dataclasses.replace(self, frames=frames, extended=extended)

    @property
    def earlier(self) -> list[Self]:
        """What it was, each time before it was extended."""
        return [
            dataclasses.replace(self, frames=frames, extended=self.extended[:i])
            for i, frames in enumerate(self.extended)
        ]

    @property
    def seed_numbers(self) -> list[int]:
        return list(range(self.seed, self.seed + self.seeds))

    @property
    def all_ours(self) -> bool:
        """Whether it needs no code of a user's."""
        return settings.all_ours(self.agent) and not is_own(self.env)

    def title(self) -> str:
        given = "".join(f", {name} {value}" for name, value in self.env_settings.items())
        return f"{agents.title(self.agent)} on {self.env}{given}"


@dataclass(frozen=True)
class Options:
    """How to run it; none of this changes a result."""

    checkpoint_seconds: float = 60.0
    """A checkpoint this often; less often if writing one takes long."""
    tensorboard: bool = False
    """Write the metrics for TensorBoard as well (extra: tensorboard)."""
    wandb: str | None = None
    """Send the metrics to this project of Weights & Biases as well (extra: wandb)."""

    def __post_init__(self) -> None:
        ranges.check(self, checkpoint_seconds=ranges.NOT_NEGATIVE)
        ranges.check_type(self, "checkpoint_seconds", Real, "a number")
        ranges.check_type(self, "tensorboard", bool, "True or False")
        ranges.check_type(self, "wandb", str | None, "the name of a project")
