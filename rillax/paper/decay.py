"""Trace decay: the agents of the paper with the lambda of their table and with another.

On MemoryChain Table 1 has 0.95, and the authors' code 0.8, which is its default. On masked MuJoCo
Table 4 has 0.8; the recurrence's credit decays at max(gamma lambda, r), that of encoder and head at
gamma lambda alone, so a lambda from feed-forward work need not suit a recurrent agent. It is a
study of ours and not a figure of the paper, so it is no part of ``all``.
"""

from dataclasses import replace

from rillax.experiments import Job
from rillax.paper import fig1b
from rillax.paper.drawing import against_frames
from rillax.paper.figure import Figure, Preset
from rillax.paper.jobs import from_table, resize, with_settings
from rillax.paper.quantities import RETURN
from rillax.paper.tables import TABLES

LENGTHS, CHAIN_DECAYS = (32, 48, 64), (0.8, 0.95)
ROBOTS, ROBOT_DECAYS = ("HalfCheetah-P", "Hopper-P", "Walker2d-P", "Walker2d-V"), (0.8, 0.99)
ROBOT_SEEDS, ROBOT_FRAMES = 3, 1_000_000


def jobs(preset: Preset) -> list[Job]:
    chains = [
        fig1b.chain(length, label)
        for length in LENGTHS
        for label in (fig1b.RTU_TBPTT, fig1b.RTU_RTRL)
    ]
    named = [
        replace(job, name=job.name.removeprefix("fig1b/"), group=f"L = {job.group}: {job.label}")
        for job in chains
    ]
    robots = [
        resize(from_table(TABLES[4], env, env, "", env), ROBOT_SEEDS, ROBOT_FRAMES)
        for env in ROBOTS
    ]
    return [
        _with(job, decay)
        for some, decays in ((named, CHAIN_DECAYS), (robots, ROBOT_DECAYS))
        for job in some
        for decay in decays
    ]


def _with(job: Job, decay: float) -> Job:
    changed = with_settings(job, trace_decay=decay)
    return replace(changed, name=f"decay/{job.name}-{decay}", label=f"λ {decay}", source="ours")


FIGURE = Figure(
    name="decay",
    number="Ours",
    title="The trace decay on MemoryChain (QRC) and masked MuJoCo (stream AC)",
    make_jobs=jobs,
    quantity=RETURN,
    draw=against_frames(columns=2),
    miniature=("decay/L32-*", "decay/Hopper-P-*"),
)
