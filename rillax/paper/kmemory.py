"""Figures 4a and 4b: staleness and returns on KMemoryChain (Section 4.4, Tables 5 and 6).

They are two figures of the same jobs.
"""

from collections.abc import Callable
from dataclasses import replace

from rillax.cells import RTU, Correction
from rillax.experiments import Job
from rillax.paper.claims import Claim, Decision, Reader
from rillax.paper.drawing import against_frames, against_sweep
from rillax.paper.figure import Figure, Preset
from rillax.paper.jobs import from_table, with_network
from rillax.paper.quantities import RETURN
from rillax.paper.quantities import STALENESS as STALENESS_QUANTITY
from rillax.paper.tables import DISCRETE, KMEMORY_HORIZONS, READ, TABLES, UNITS

QRC, AC = "QRC(λ)", "stream AC(λ)"
ALGORITHMS = {"qrc": (QRC, TABLES[6]), "stream_ac": (AC, TABLES[5])}
TAYLOR = ", Taylor"
CORRECTIONS: dict[Correction, str] = {"none": "", "diagonal": TAYLOR, "exact": ", exact transport"}
"""The paper has the first two; the third is ours, and in the preset ``rillax`` alone."""
STALENESS_EVERY = 1000
"""Frames between two measurements; each replays the episode."""
EPISODES: dict[Preset, Callable[[int], dict[str, int]]] = {
    "paper": lambda memory: {"episode_length": KMEMORY_HORIZONS * memory},
    "rillax": lambda memory: {},
}
"""How long an episode is, which the text does not say: 8 K steps, or always 128."""
MEMORIES = tuple(str(memory) for memory in TABLES[6].sweep)
MINIATURE = ("kmemory/K4-*", "kmemory/K16-*")


def jobs(preset: Preset) -> list[Job]:
    """The authors' networks and episodes of 8 K steps, or those that we had from the text alone."""
    corrections = [c for c in CORRECTIONS if c != "exact" or preset == "rillax"]
    return [
        _job(preset, memory, agent, correction)
        for memory in MEMORIES
        for agent in ALGORITHMS
        for correction in corrections
    ]


def _job(preset: Preset, memory: str, agent: str, correction: Correction) -> Job:
    label, table = ALGORITHMS[agent]
    job = from_table(
        table,
        name=f"kmemory/K{memory}-{agent}-{correction}",
        group=memory,
        label=f"{label}{CORRECTIONS[correction]}",
        env="KMemoryChain",
        env_settings={"memory": int(memory), **EPISODES[preset](int(memory))},
        cell=replace(READ, correction=correction),
        staleness=STALENESS_EVERY,
    )
    if preset == "paper":
        return job
    return with_network(job, replace(DISCRETE, layers=(RTU(UNITS, correction=correction),)))


def _rises(r: Reader) -> Decision:
    labels = [a + c for a in (QRC, AC) for c in ("", TAYLOR)]
    steps = [
        (r.iqm(b, label) / max(r.iqm(a, label), 1e-12), f"{label}, K {a} to {b}")
        for label in labels
        for a, b in (("4", "8"), ("8", "16"))
    ]
    least = min(steps)
    return least[0] > 1, f"smallest factor {least[0]:.2f}: {least[1]}"


def _more_stale(r: Reader) -> Decision:
    least = min((r.iqm(k, AC) / max(r.iqm(k, QRC), 1e-12), k) for k in MEMORIES)
    return least[0] > 1, f"smallest ratio {least[0]:.3g}, at K = {least[1]}"


def _tightens(r: Reader) -> Decision:
    shares = {a: r.iqm("16", a + TAYLOR) / max(r.iqm("16", a), 1e-12) for a in (QRC, AC)}
    told = ", ".join(f"{100 * share:.0f} % of it left ({a})" for a, share in shares.items())
    return max(shares.values()) < 1, told


def _no_harm(r: Reader) -> Decision:
    worst = min(
        (r.lead(k, a + TAYLOR, a) + 2 * r.spread(k, a + TAYLOR, a), r.lead(k, a + TAYLOR, a), a, k)
        for a in (QRC, AC)
        for k in MEMORIES
    )
    return worst[0] >= 0, f"largest loss {min(worst[1], 0):.2f}: {worst[2]} at K = {worst[3]}"


def _sooner(r: Reader) -> Decision:
    gains = {a: r.speed("16", a + TAYLOR) - r.speed("16", a) for a in (QRC, AC)}
    told = ", ".join(f"{gain:+.2f} ({a})" for a, gain in gains.items())
    return min(gains.values()) > 0, f"mean return over the run: {told}"


STALENESS = Figure(
    name="staleness",
    number="Figure 4a",
    title="KMemoryChain: staleness against K",
    make_jobs=jobs,
    quantity=STALENESS_QUANTITY,
    draw=against_sweep("memory length K", "relative staleness"),
    claims=(
        Claim(
            "Staleness grows with K in all four configurations.",
            "larger at K = 8 than at 4, and at 16 than at 8",
            _rises,
        ),
        Claim(
            "stream AC(λ) is more stale than QRC(λ) at every K.",
            "ratio above 1 at K = 4, 8 and 16",
            _more_stale,
        ),
        Claim(
            "The Taylor correction reduces staleness at K = 16 for both agents.",
            "less than without it",
            _tightens,
        ),
    ),
    miniature=MINIATURE,
)

RETURNS = Figure(
    name="kmemory",
    number="Figure 4b",
    title="KMemoryChain: return against frames",
    make_jobs=jobs,
    quantity=RETURN,
    draw=against_frames(columns=3, title=lambda k: f"K = {k}"),
    claims=(
        Claim(
            "The Taylor correction does not degrade learning at any K.",
            "no final return lower by more than two standard errors",
            _no_harm,
        ),
        Claim(
            "At K = 16 agents with the Taylor correction learn faster.",
            "a higher mean return over the run for both",
            _sooner,
        ),
    ),
    miniature=MINIATURE,
)
