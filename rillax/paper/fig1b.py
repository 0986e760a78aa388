"""Figure 1b: QRC(lambda) with four kinds of memory on MemoryChain (Section 4.1, Table 1)."""

from dataclasses import replace

from rillax.cells import GRU, RTU, CellSettings, FeedForward
from rillax.experiments import Job
from rillax.paper.claims import Claim, Decision, Reader
from rillax.paper.drawing import against_sweep
from rillax.paper.figure import Figure, Preset
from rillax.paper.jobs import REMEMBERING, Override, from_table, with_network
from rillax.paper.quantities import RETURN
from rillax.paper.tables import DISCRETE, READ, TABLES, UNITS

FFN, GRU_TBPTT, RTU_TBPTT, RTU_RTRL = "FFN", "GRU, TBPTT(1)", "RTU, TBPTT(1)", "RTU, RTRL"
MEMORIES: dict[str, tuple[str, CellSettings]] = {
    FFN: ("feedforward", FeedForward(UNITS)),
    GRU_TBPTT: ("gru-tbptt", GRU(UNITS, gradient="tbptt")),
    RTU_TBPTT: ("rtu-tbptt", replace(READ, gradient="tbptt")),
    RTU_RTRL: ("rtu-rtrl", READ),
}
ONE_STEP = (FFN, GRU_TBPTT, RTU_TBPTT)
BEYOND = (256, 512)
"""Longer chains than the paper's, for RTU with RTRL alone, in the preset ``rillax``."""


def jobs(preset: Preset) -> list[Job]:
    make = chain if preset == "paper" else plain_chain
    papers = [make(length, label) for length in TABLES[1].sweep for label in MEMORIES]
    beyond = BEYOND if preset == "rillax" else ()
    return papers + [make(length, RTU_RTRL) for length in beyond]


def chain(length: int, label: str) -> Job:
    """One kind of memory at one length."""
    name, cell = MEMORIES[label]
    return from_table(
        TABLES[1],
        name=f"fig1b/L{length}-{name}",
        group=f"{length}",
        label=label,
        env="MemoryChain",
        env_settings={"length": length},
        cell=cell,
    )


def plain_chain(length: int, label: str) -> Job:
    """The same with the networks of the paper's text instead of those of its authors' code."""
    _, cell = MEMORIES[label]
    read = replace(cell, features=None) if isinstance(cell, RTU) else cell
    return with_network(chain(length, label), replace(DISCRETE, layers=(read,)))


def _holds(r: Reader) -> Decision:
    low = min((r.iqm(length, RTU_RTRL), length) for length in ("2", "4", "8", "16", "32", "48"))
    return low[0] >= 0.9, f"lowest return {low[0]:.2f}, at L = {low[1]}"


def _ahead(r: Reader) -> Decision:
    rest = max(r.iqm("64", label) for label in ONE_STEP)
    lead = r.iqm("64", RTU_RTRL) - rest
    return lead >= 0.3, f"ahead by {lead:.2f} at L = 64"


def _collapse(r: Reader) -> Decision:
    long = ("32", "48", "64", "128")
    value, label, length = max((r.iqm(n, label), label, n) for n in long for label in ONE_STEP)
    return value <= 0.2, f"highest return {value:.2f}: {label} at L = {length}"


FIGURE = Figure(
    name="fig1b",
    number="Figure 1b",
    title="MemoryChain: return against chain length",
    make_jobs=jobs,
    quantity=RETURN,
    draw=against_sweep("chain length L", "return", limits=(-0.25, 1.15)),
    claims=(
        Claim(
            "RTU with RTRL holds near the maximum return through a chain of 48.",
            "return at least 0.9 at every length up to 48",
            _holds,
        ),
        Claim(
            "At a chain of 64, where its own return falls off, RTU with RTRL is still far ahead.",
            "at least 0.3 ahead of the best of the other three",
            _ahead,
        ),
        Claim(
            "The three one-step gradients (FFN, GRU, RTU) are near zero past a chain of 16.",
            "return at most 0.2 at every length from 32",
            _collapse,
        ),
    ),
    overrides=(
        Override(
            "fig1b/*",
            "The one reward is earned by the last action, and what it depends on reaches that step "
            "through the memory, not through the trace: a trace only adds the gradients of steps "
            "whose value does not depend on the cue. Dense layers let the head see every unit.",
            {"trace_decay": 0.0, "sparsity": 0.0},
        ),
        Override(
            "fig1b/*-rtu-*",
            "A cue must outlast the chain (r close to 1, no input gain) and must not drown in the "
            "sum of everything else: a unit with a phase near zero adds up its inputs to "
            "1 / (1 - r) times their size and would dominate the LayerNorm behind it, one that "
            "turns does not. And a small change of r or phase moves the state at the end by as "
            "many times as there are steps, so the recurrence learns slower than the rest.",
            REMEMBERING,
        ),
    ),
    miniature=("fig1b/L4-*", "fig1b/L32-*"),
)
