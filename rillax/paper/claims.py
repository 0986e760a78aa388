"""What the paper claims of each figure, in our words, and the number that decides it.

A claim is decided on cells that ran with the paper's frames and seeds; with less it is not yet run.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rillax.experiments.results import iqm, standard_error
from rillax.paper import grid
from rillax.paper.collect import Done, Results

Outcome = Literal["pass", "fail", "not yet run"]
Check = Callable[["Reader"], tuple[bool, str]]


class Missing(Exception):
    """A claim asks for a cell that has not run to the paper's end."""


@dataclass(frozen=True)
class Claim:
    """One sentence of the paper, and how to decide it."""

    figure: str
    text: str
    rule: str
    """When it holds, in words."""
    check: Check


@dataclass(frozen=True)
class Verdict:
    """How a claim fared."""

    claim: Claim
    outcome: Outcome
    number: str
    """What decided, or what is missing."""


class Reader:
    """Numbers of a figure's cells, by group and label."""

    def __init__(self, results: Results, figure: grid.Figure):
        self.results, self.figure = results, figure

    def done(self, group: str, label: str) -> Done:
        wanted = [c for c in self.figure.cells if (c.group, c.label) == (group, label)]
        done = self.results.at(group, label)
        if done is None or not wanted:
            raise Missing(f"{label} at {group} has not been run")
        if getattr(done.cell.work, "widths", ()) != getattr(wanted[0].work, "widths", ()):
            raise Missing(f"{label} was timed at other widths")
        for what in ("frames", "seeds"):
            ran, full = getattr(done.cell.work, what), getattr(wanted[0].work, what)
            if ran < full:
                raise Missing(f"{label} at {group} ran with {ran:,} of {full:,} {what}")
        return done

    def values(self, group: str, label: str) -> np.ndarray:
        done = self.done(group, label)
        stale = self.results.figure == "staleness"
        values = done.staleness() if stale else done.final_returns()
        if not values.size:
            if stale:
                raise Missing(f"{label} at {group} has no staleness measured")
            return np.array([-math.inf])  # every seed diverged
        return values

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

    def growth(self, label: str) -> float:
        """The exponent of time against width, over the two largest widths."""
        times = {w: float(np.median(t)) for w, t in self.done("time", label).milliseconds().items()}
        if len(times) < 2:
            raise Missing(f"{label} was timed at fewer than two widths")
        (n0, t0), (n1, t1) = sorted(times.items())[-2:]
        return math.log(t1 / t0) / math.log(n1 / n0)

    def speed(self, group: str, label: str) -> float:
        """The mean return over the whole run: higher is sooner or better."""
        _, returns = self.done(group, label).curve()
        return float(iqm(np.nanmean(returns, axis=0)))


FFN, GRU, TBPTT, RTRL = grid.MEMORIES
QRC, AC, PPO, QRC_FFN = "QRC(λ)-RTU", "stream AC(λ)-RTU", "PPO-RTU", "QRC(λ)-FFN"
K_QRC, K_AC = "QRC(λ)", "stream AC(λ)"
TAYLOR = grid.CORRECTIONS["diagonal"]
LONG = ("32", "48", "64", "128")


def _linear(r: Reader) -> tuple[bool, str]:
    rtu, ffn = r.growth("RTU"), r.growth("FFN")
    return rtu <= 1.15, f"exponent {rtu:.2f} (RTU), {ffn:.2f} (FFN)"


def _quartic(r: Reader) -> tuple[bool, str]:
    gru, lstm = r.growth("GRU"), r.growth("LSTM")
    return min(gru, lstm) >= 3, f"exponent {gru:.2f} (GRU), {lstm:.2f} (LSTM)"


def _holds(r: Reader) -> tuple[bool, str]:
    low = min((r.iqm(length, RTRL), length) for length in ("2", "4", "8", "16", "32", "48"))
    return low[0] >= 0.9, f"lowest return {low[0]:.2f}, at L = {low[1]}"


def _ahead(r: Reader) -> tuple[bool, str]:
    rest = max(r.iqm("64", label) for label in (FFN, GRU, TBPTT))
    lead = r.iqm("64", RTRL) - rest
    return lead >= 0.3, f"ahead by {lead:.2f} at L = 64"


def _collapse(r: Reader) -> tuple[bool, str]:
    all_of_them = ((r.iqm(n, label), label, n) for n in LONG for label in (FFN, GRU, TBPTT))
    value, label, length = max(all_of_them)
    return value <= 0.2, f"highest return {value:.2f}: {label} at L = {length}"


def _beats(first: str, second: str, groups: Iterable[str], at_least: int) -> Check:
    groups = tuple(groups)

    def check(r: Reader) -> tuple[bool, str]:
        won = [g for g in groups if r.lead(g, first, second) > r.spread(g, first, second)]
        return len(won) >= at_least, f"{len(won)} of {len(groups)}: {', '.join(won) or 'none'}"

    return check


def _leads(first: str, second: str, group: str, margin: float) -> Check:
    def check(r: Reader) -> tuple[bool, str]:
        lead = r.lead(group, first, second)
        return lead >= margin, f"ahead by {lead:.3g} on {group}"

    return check


def _matches_ppo(streams: Iterable[str], tasks: Iterable[str], margin: float) -> Check:
    """The best of the streaming agents is at most ``margin`` behind PPO, everywhere."""
    streams, tasks = tuple(streams), tuple(tasks)

    def check(r: Reader) -> tuple[bool, str]:
        worst = min((max(r.lead(t, s, PPO) for s in streams), t) for t in tasks)
        return worst[0] >= -margin, f"furthest behind PPO: {worst[0]:+.2f} on {worst[1]}"

    return check


def _ratio(group: str, low: float, high: float) -> Check:
    def check(r: Reader) -> tuple[bool, str]:
        ours, ppo = r.iqm(group, AC), r.iqm(group, PPO)
        share = ours / ppo if ppo > 0 else math.nan
        return low <= share <= high, f"{ours:.0f} against {ppo:.0f} on {group}"

    return check


def _fraction(r: Reader) -> tuple[bool, str]:
    cells = [f"{robot}-{regime}" for regime in grid.REGIMES for robot in grid.ROBOTS]
    shares = [r.iqm(cell, AC) / max(r.iqm(cell, PPO), 1e-9) for cell in cells]
    middle = float(np.median(shares))
    return middle >= 0.3, f"median share of PPO's return: {100 * middle:.0f} %"


def _rises(r: Reader) -> tuple[bool, str]:
    labels = [a + c for a in (K_QRC, K_AC) for c in ("", TAYLOR)]
    steps = [
        (r.iqm(b, label) / max(r.iqm(a, label), 1e-12), f"{label}, K {a} to {b}")
        for label in labels
        for a, b in (("4", "8"), ("8", "16"))
    ]
    least = min(steps)
    return least[0] > 1, f"smallest factor {least[0]:.2f}: {least[1]}"


def _more_stale(r: Reader) -> tuple[bool, str]:
    least = min((r.iqm(k, K_AC) / max(r.iqm(k, K_QRC), 1e-12), k) for k in ("4", "8", "16"))
    return least[0] > 1, f"smallest ratio {least[0]:.3g}, at K = {least[1]}"


def _tightens(r: Reader) -> tuple[bool, str]:
    shares = {a: r.iqm("16", a + TAYLOR) / max(r.iqm("16", a), 1e-12) for a in (K_QRC, K_AC)}
    told = ", ".join(f"{100 * share:.0f} % of it left ({a})" for a, share in shares.items())
    return max(shares.values()) < 1, told


def _no_harm(r: Reader) -> tuple[bool, str]:
    worst = min(
        (r.lead(k, a + TAYLOR, a) + 2 * r.spread(k, a + TAYLOR, a), r.lead(k, a + TAYLOR, a), a, k)
        for a in (K_QRC, K_AC)
        for k in ("4", "8", "16")
    )
    return worst[0] >= 0, f"largest loss {min(worst[1], 0):.2f}: {worst[2]} at K = {worst[3]}"


def _sooner(r: Reader) -> tuple[bool, str]:
    gains = {a: r.speed("16", a + TAYLOR) - r.speed("16", a) for a in (K_QRC, K_AC)}
    told = ", ".join(f"{gain:+.2f} ({a})" for a, gain in gains.items())
    return min(gains.values()) > 0, f"mean return over the run: {told}"


_BEHIND = ("Ant-P", "Ant-V", "HalfCheetah-V", "Hopper-P", "Hopper-V", "Walker2d-P")

CLAIMS = (
    Claim(
        "fig1a",
        "An update of an RTU under exact RTRL grows with width as that of a feed-forward layer.",
        "exponent of the RTU over its two largest widths at most 1.15",
        _linear,
    ),
    Claim(
        "fig1a",
        "Exact RTRL of GRU and LSTM grows with about the fourth power of the width.",
        "exponent of both over their two largest widths at least 3",
        _quartic,
    ),
    Claim(
        "fig1b",
        "RTU with RTRL holds near the maximum return through a chain of 48.",
        "return at least 0.9 at every length up to 48",
        _holds,
    ),
    Claim(
        "fig1b",
        "At a chain of 64, where its own return falls off, RTU with RTRL is still far ahead.",
        "at least 0.3 ahead of the best of the other three",
        _ahead,
    ),
    Claim(
        "fig1b",
        "The three one-step gradients (FFN, GRU, RTU) are near zero past a chain of 16.",
        "return at most 0.2 at every length from 32",
        _collapse,
    ),
    Claim(
        "popgym",
        "QRC(λ) with RTU beats the feed-forward baseline on four of five tasks.",
        "ahead by more than the standard error on at least four",
        _beats(QRC, QRC_FFN, grid.POPGYM_TASKS, 4),
    ),
    Claim(
        "popgym",
        "stream AC(λ) with RTU beats the feed-forward baseline on four of five tasks.",
        "ahead by more than the standard error on at least four",
        _beats(AC, QRC_FFN, grid.POPGYM_TASKS, 4),
    ),
    Claim(
        "popgym",
        "stream AC(λ) does better than QRC(λ) on Autoencode, Concentration and CountRecall.",
        "ahead by more than the standard error on all three",
        _beats(AC, QRC, ("Autoencode", "Concentration", "CountRecall"), 3),
    ),
    Claim(
        "popgym",
        "QRC(λ) does much better than stream AC(λ) on RepeatFirst.",
        "ahead by at least 0.5",
        _leads(QRC, AC, "RepeatFirst", 0.5),
    ),
    Claim(
        "popgym",
        "QRC(λ) matches batched PPO on HigherLower and RepeatFirst.",
        "at most 0.1 behind on both",
        _matches_ppo((QRC,), ("HigherLower", "RepeatFirst"), 0.1),
    ),
    Claim(
        "popgym",
        "Together, the two streaming agents do as well as batched PPO on all five tasks.",
        "the better of the two at most 0.1 behind on each",
        _matches_ppo((QRC, AC), grid.POPGYM_TASKS, 0.1),
    ),
    Claim(
        "mujoco",
        "stream AC(λ) and batched PPO are tied on HalfCheetah-P.",
        "within 20 % of PPO's return",
        _ratio("HalfCheetah-P", 0.8, 1.2),
    ),
    Claim(
        "mujoco",
        "stream AC(λ) overtakes batched PPO on Walker2d-V.",
        "ahead",
        _leads(AC, PPO, "Walker2d-V", 0.0),
    ),
    Claim(
        "mujoco",
        "stream AC(λ) trails batched PPO in the other six cells.",
        "PPO ahead by more than the standard error in all six",
        _beats(PPO, AC, _BEHIND, 6),
    ),
    Claim(
        "mujoco",
        "stream AC(λ) recovers a meaningful fraction of what batched PPO reaches.",
        "median over the eight cells at least 30 %",
        _fraction,
    ),
    Claim(
        "staleness",
        "Staleness grows with K in all four configurations.",
        "larger at K = 8 than at 4, and at 16 than at 8",
        _rises,
    ),
    Claim(
        "staleness",
        "stream AC(λ) is more stale than QRC(λ) at every K.",
        "ratio above 1 at K = 4, 8 and 16",
        _more_stale,
    ),
    Claim(
        "staleness",
        "The Taylor correction reduces staleness at K = 16 for both agents.",
        "less than without it",
        _tightens,
    ),
    Claim(
        "kmemory",
        "The Taylor correction does not degrade learning at any K.",
        "no final return lower by more than two standard errors",
        _no_harm,
    ),
    Claim(
        "kmemory",
        "At K = 16 agents with the Taylor correction learn faster.",
        "a higher mean return over the run for both",
        _sooner,
    ),
)


def decide(claim: Claim, results: Results | None, figure: grid.Figure) -> Verdict:
    if results is None:
        return Verdict(claim, "not yet run", "no results")
    try:
        holds, number = claim.check(Reader(results, figure))
    except Missing as missing:
        return Verdict(claim, "not yet run", str(missing))
    return Verdict(claim, "pass" if holds else "fail", number)


def decide_all(everything: Mapping[str, Results]) -> list[Verdict]:
    """Every claim; the figures are those of the preset that was run."""
    presets = {results.manifest["preset"] for results in everything.values()} or {"paper"}
    figures = grid.figures(presets.pop() if len(presets) == 1 else "paper")
    return [decide(c, everything.get(c.figure), figures[c.figure]) for c in CLAIMS]
