"""Running things: one description of a run, the run on disk, grids of jobs, engines, trackers."""

from rillax.experiments.description import Options, Run
from rillax.experiments.jobs import Job
from rillax.experiments.timing import Timing
from rillax.experiments.training import train

__all__ = ["Job", "Options", "Run", "Timing", "train"]
