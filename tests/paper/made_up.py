"""The whole paper with made-up numbers; nothing is trained."""

from rillax.experiments import store
from rillax.paper import figures
from tests.experiments.made_up import finish, prepare


def whole_paper(path, change=lambda job, value: value, names=figures.NAMES):
    """A root in which the whole paper ran, with the paper's own story as results."""
    root = store.Root(path)
    whole = figures.figures()
    prepare(root)
    for job in figures.jobs_of({name: whole[name] for name in names}):
        stale = STALENESS.get(job.label, {}).get(job.group)
        finish(root, job, change(job, story(job)), stale)
    return root


def story(job):
    """What the paper says came out, roughly."""
    figure, group, label = job.name.split("/")[0], job.group, job.label
    if figure == "fig1a":
        power = 3.8 if label in ("GRU", "LSTM") else 1.0
        return lambda width: 0.001 * width**power
    if figure == "fig1b":
        length = int(group)
        if label == "RTU, RTRL":
            return 0.98 if length <= 48 else {64: 0.6, 128: 0.1}[length]
        return 0.9 if length <= 16 else 0.02
    if figure == "popgym":
        return POPGYM[group][label]
    if figure == "mujoco":
        return {"HalfCheetah-P": (2000, 2000), "Walker2d-V": (800, 600)}.get(group, (500, 1000))[
            label == "PPO-RTU"
        ]
    return 0.9 if "Taylor" in label or group != "16" else 0.8


POPGYM = {
    task: dict(zip(("QRC(λ)-RTU", "stream AC(λ)-RTU", "PPO-RTU", "QRC(λ)-FFN"), row, strict=True))
    for task, row in {
        "Autoencode": (-0.5, -0.2, -0.2, -0.5),
        "Concentration": (-0.4, -0.1, -0.1, -0.5),
        "CountRecall": (0.1, 0.2, 0.2, -0.4),
        "HigherLower": (0.5, 0.45, 0.5, 0.4),
        "RepeatFirst": (1.0, 0.0, 1.0, 0.0),
    }.items()
}
STALENESS = {
    "QRC(λ)": {"4": 0.01, "8": 0.02, "16": 0.05},
    "QRC(λ), Taylor": {"4": 0.01, "8": 0.015, "16": 0.03},
    "stream AC(λ)": {"4": 0.02, "8": 0.1, "16": 0.5},
    "stream AC(λ), Taylor": {"4": 0.02, "8": 0.08, "16": 0.3},
}
