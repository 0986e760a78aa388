"""What the paper claims of a figure, in our words, and the number that decides it.

A claim is decided on jobs that ran with the paper's frames and seeds; with less it is not yet run.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rillax.experiments import Job
from rillax.experiments.results import iqm, standard_error
from rillax.paper.finished import Done, find
from rillax.paper.quantities import Quantity

Outcome = Literal["pass", "fail", "not yet run"]
Decision = tuple[bool, str]
"""Whether it holds, and the number that says so."""
Check = Callable[["Reader"], Decision]


class Missing(Exception):
    """A claim asks for a job that has not run to the paper's end."""


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, and how to decide it."""

    text: str
    rule: str
    """When it holds, in words."""
    check: Check


@dataclass(frozen=True)
class Verdict:
    """How a claim fared."""

    figure: str
    claim: Claim
    outcome: Outcome
    number: str
    """What decided, or what is missing."""


class Reader:
    """Numbers of a figure's jobs, by group and label."""

    def __init__(self, whole: Iterable[Job], finished: Mapping[str, Done], quantity: Quantity):
        self.whole, self.finished, self.quantity = tuple(whole), finished, quantity

    def done(self, group: str, label: str) -> Done:
        wanted = [job for job in self.whole if (job.group, job.label) == (group, label)]
        done = find(self.finished, group, label)
        if done is None or not wanted:
            raise Missing(f"{label} at {group} has not been run")
        ran, full = done.job.work, wanted[0].work
        if getattr(ran, "widths", ()) != getattr(full, "widths", ()):
            raise Missing(f"{label} was timed at other widths")
        for what in ("frames", "seeds"):
            some, all_ = getattr(ran, what), getattr(full, what)
            if some < all_:
                raise Missing(f"{label} at {group} ran with {some:,} of {all_:,} {what}")
        return done

    def values(self, group: str, label: str) -> np.ndarray:
        values = self.quantity.values(self.done(group, label))
        if values.size:
            return values
        if self.quantity.if_none is None:
            raise Missing(f"{label} at {group} has no {self.quantity.name} measured")
        return np.array([self.quantity.if_none])

    def iqm(self, group: str, label: str) -> float:
        return float(iqm(self.values(group, label)))

    def error(self, group: str, label: str) -> float:
        return float(standard_error(self.values(group, label)))

    def lead(self, group: str, first: str, second: str) -> float:
        """How far the first is ahead of the second, in IQM."""
        return self.iqm(group, first) - self.iqm(group, second)

    def spread(self, group: str, first: str, second: str) -> float:
        """The standard error of that."""
        return math.hypot(self.error(group, first), self.error(group, second))

    def growth(self, group: str, label: str) -> float:
        """The exponent of time against width, over the two largest widths."""
        times = {w: float(np.median(t)) for w, t in self.done(group, label).milliseconds().items()}
        if len(times) < 2:
            raise Missing(f"{label} was timed at fewer than two widths")
        (n0, t0), (n1, t1) = sorted(times.items())[-2:]
        return math.log(t1 / t0) / math.log(n1 / n0)

    def speed(self, group: str, label: str) -> float:
        """The mean return over the whole run: higher is sooner or better."""
        _, returns = self.done(group, label).curve()
        return float(iqm(np.nanmean(returns, axis=0)))


def decide(figure: str, claim: Claim, reader: Reader) -> Verdict:
    try:
        holds, number = claim.check(reader)
    except Missing as missing:
        return Verdict(figure, claim, "not yet run", str(missing))
    return Verdict(figure, claim, "pass" if holds else "fail", number)


# ---- checks that several figures share


def beats(first: str, second: str, groups: Iterable[str], at_least: int) -> Check:
    """The first is ahead by more than the standard error, in so many of the groups."""
    groups = tuple(groups)

    def check(r: Reader) -> Decision:
        won = [g for g in groups if r.lead(g, first, second) > r.spread(g, first, second)]
        return len(won) >= at_least, f"{len(won)} of {len(groups)}: {', '.join(won) or 'none'}"

    return check


def leads(first: str, second: str, group: str, margin: float) -> Check:
    """The first is ahead by at least the margin."""

    def check(r: Reader) -> Decision:
        lead = r.lead(group, first, second)
        return lead >= margin, f"ahead by {lead:.3g} on {group}"

    return check
