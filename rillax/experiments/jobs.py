"""A job of a grid: a piece of work with a name, which is also its directory."""

from dataclasses import dataclass

from rillax.experiments.description import Run
from rillax.experiments.timing import Timing


@dataclass(frozen=True)
class Job:
    """One line of a figure at one point or in one panel."""

    name: str
    group: str
    """The panel of the figure, or the point on its x axis."""
    label: str
    """The line of the figure."""
    source: str
    """Where its numbers come from."""
    work: Run | Timing

    @property
    def frames(self) -> int:
        """Of all seeds together."""
        return self.work.frames * self.work.seeds
