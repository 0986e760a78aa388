"""Trace decay on masked MuJoCo: stream AC(lambda) with the lambda of Table 4 and with 0.99.

The recurrence's credit decays at max(gamma lambda, r), that of encoder and head at gamma lambda
alone, so a lambda from feed-forward work need not suit a recurrent agent. It is a study of ours and
not a figure of the paper, so it is no part of ``all``.
"""

from dataclasses import replace

from rillax.experiments import Job
from rillax.paper.drawing import against_frames
from rillax.paper.figure import Figure, Preset
from rillax.paper.jobs import from_table, resize, with_settings
from rillax.paper.quantities import RETURN
from rillax.paper.tables import TABLES

ENVIRONMENTS = ("HalfCheetah-P", "Hopper-P", "Walker2d-P", "Walker2d-V")
LONG = 0.99
SEEDS, FRAMES = 3, 1_000_000


def jobs(preset: Preset) -> list[Job]:
    decays = (TABLES[4].agent.trace_decay, LONG)
    return [_job(env, decay) for env in ENVIRONMENTS for decay in decays]


def _job(env: str, decay: float) -> Job:
    job = from_table(TABLES[4], f"decay/{env}-{decay}", env, f"λ {decay}", env)
    return replace(with_settings(resize(job, SEEDS, FRAMES), trace_decay=decay), source="ours")


FIGURE = Figure(
    name="decay",
    number="Ours",
    title="Masked MuJoCo, stream AC(λ): return against frames, by λ",
    make_jobs=jobs,
    quantity=RETURN,
    draw=against_frames(columns=4),
    miniature=("decay/Hopper-P-*",),
)
