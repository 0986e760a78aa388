"""The suite: eleven games of POPGym and eight masked robots, one score for each, one mean.

What a streaming agent is worth against batched PPO, over tasks that ask for different things. On a
game 0 is random play and 1 the perfect player (docs/environments.md); on a robot 0 is random play
and 1 what PPO with an RTU reaches in the same frames. It is a study of ours and not a figure of the
paper, so it is no part of ``all``.

``rillax reproduce suite --seeds 1 --frames 200000 --only 'suite/*-rill'`` is enough to steer by.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rillax.agents import Brook, Rill, StreamQ
from rillax.cells import RTU, FeedForward
from rillax.experiments import Job, Run
from rillax.experiments.results import standard_error
from rillax.networks import Architecture
from rillax.paper.drawing import legend, panels
from rillax.paper.figure import Figure, Preset, Results
from rillax.paper.jobs import BROOK, RILL, with_cell
from rillax.paper.mujoco import ENVIRONMENTS as ROBOTS
from rillax.paper.quantities import RETURN
from rillax.paper.tables import BATCHED_AGENTS, TABLES, UNITS
from rillax.updates import Intentional

GAMES: Mapping[str, tuple[float, float]] = {
    "Autoencode": (-0.4995, 1.0),
    "Battleship": (-0.4486, 1.0),
    "Concentration": (-0.1913, 0.8313),
    "CountRecall": (-0.9265, 1.0),
    "HigherLower": (0.0002, 0.5305),
    "MineSweeper": (-0.2306, 1.0),
    "MultiarmedBandit": (-0.0004, 0.8182),
    "NoisyPositionOnlyCartPole": (0.1114, 1.0),
    "PositionOnlyCartPole": (0.1114, 1.0),
    "RepeatFirst": (-0.5007, 1.0),
    "RepeatPrevious": (-0.4996, 1.0),
}
"""What random play and the perfect player earn in the Easy version: docs/environments.md."""
ROBOTS_AT_RANDOM = {"Ant": -67.5, "HalfCheetah": -275.9, "Hopper": 16.7, "Walker2d": 1.8}
"""What uniformly random actions earn, over 100 episodes (of HalfCheetah 40)."""
TUNED_ON = (
    *("Battleship", "Concentration", "CountRecall", "HigherLower", "MineSweeper"),
    *("MultiarmedBandit", "PositionOnlyCartPole", "RepeatFirst", "RepeatPrevious"),
    *("Ant-V", "HalfCheetah-P", "HalfCheetah-V", "Hopper-P", "Hopper-V", "Walker2d-P"),
)
"""The tasks on which numbers of ours were chosen, with seeds that no report has.
HalfCheetah-V and Ant-V were looked at once each."""
SEEDS, GAME_FRAMES, ROBOT_FRAMES = 3, 1_000_000, 500_000
FIRST_SEED = 100
"""Seeds of the report; those below were for choosing."""
MEMORYLESS = ", no memory"
OURS, SIBLING = RILL, BROOK
INTENTIONAL, AC, QRC, PPO = "intentional Q(λ)", "stream AC(λ)", "QRC(λ)", "PPO"
PPO_DIRECT = "PPO, direct outputs"
"""With outputs that read the observation, as Rill's policy has them."""
LOOKS = {
    OURS: ("#00578A", "o"),
    SIBLING: ("#00578A", "P"),
    INTENTIONAL: ("#3D9BD6", "v"),
    AC: ("#D55E00", "^"),
    QRC: ("#C77700", "s"),
    PPO: ("#111111", "D"),
    PPO_DIRECT: ("#7A7A7A", "d"),
}
"""Colour and marker; without memory the marker is hollow."""

PUBLISHED = StreamQ(
    network=Architecture(cell=RTU(UNITS, features="tanh"), width=64),
    discount=0.99,
    trace_decay=0.8,
    q=Intentional(eta=0.25),
    epsilon_frames=GAME_FRAMES // 10,
    previous_action=True,
    previous_reward=True,
)
"""Intentional Q(lambda) with the published constants and the inputs of every agent here."""
SHORT = 0.5
"""PPO's discount, as short as Rill's: with 0.9 it ends lower on four games (docs/ppo.md)."""


def on_games() -> dict[str, Any]:
    """The agents that play games, with the inputs that all of them have."""
    ppo = replace(BATCHED_AGENTS["POPGym"], discount=SHORT, step_size=3e-4, sequence_length=8)
    return {
        OURS: Rill(),
        INTENTIONAL: PUBLISHED,
        AC: TABLES[3].agent,
        QRC: TABLES[2].agent_for(GAME_FRAMES),
        PPO: ppo,
        PPO_DIRECT: replace(ppo, network=replace(ppo.network, direct=True)),
    }


def on_robots() -> dict[str, Any]:
    return {SIBLING: Brook(), AC: TABLES[4].agent, PPO: BATCHED_AGENTS["MuJoCo"]}


def jobs(preset: Preset) -> list[Job]:
    made = []
    for task in GAMES:
        for label, agent in on_games().items():
            twin = with_cell(agent, FeedForward(agent.network.layers[0].units))
            made += [
                _job(task, f"{task}Easy", label, agent, GAME_FRAMES),
                _job(task, f"{task}Easy", label + MEMORYLESS, twin, GAME_FRAMES),
            ]
    for env in ROBOTS:
        made += [_job(env, env, name, agent, ROBOT_FRAMES) for name, agent in on_robots().items()]
    return made


def _job(task: str, env: str, label: str, agent: Any, frames: int) -> Job:
    run = Run(agent, env, {}, frames, SEEDS, FIRST_SEED)
    short = label.replace(MEMORYLESS, "-memoryless").replace("(λ)", "").lower()
    short = short.replace(", ", "-").replace(" ", "_")
    return Job(f"suite/{task}-{short}", task, label, "ours", run)


def scores(results: Results, label: str) -> dict[str, np.ndarray]:
    """The score of each seed on every task that this line was run on."""
    found = {}
    for task in (*GAMES, *ROBOTS):
        done = results.at(task, label)
        scale = _scale(results, task)
        if done is not None and scale is not None:
            least, most = scale
            found[task] = (done.final_returns() - least) / (most - least)
    return {task: values for task, values in found.items() if values.size}


def _scale(results: Results, task: str) -> tuple[float, float] | None:
    """The returns that are 0 and 1."""
    if task in GAMES:
        return GAMES[task]
    batched, least = results.at(task, PPO), ROBOTS_AT_RANDOM[task.rpartition("-")[0]]
    return None if batched is None else (least, float(np.mean(batched.final_returns())))


def progress(results: Results, label: str) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Frames, the mean score of the games (bins, seeds), and seconds of a core for each frame.

    None unless the line was run on every game, for as many frames each.
    """
    games = [results.at(game, label) for game in GAMES]
    done = [game for game in games if game is not None]
    if len(done) < len(GAMES) or len({(d.frames, d.seeds) for d in done}) > 1:
        return None
    each = []
    for game, (least, most) in zip(done, GAMES.values(), strict=True):
        frames, returns = game.curve()
        each.append((returns - least) / (most - least))
    seconds = sum(game.outcome["seconds"] / (game.seeds * game.frames) for game in done)
    return frames, np.mean(each, axis=0), seconds / len(done)


def draw(results: Results, columns: int | None) -> Any:
    """A row for each task, a mark for each line; beside it how the mean of the games rose."""
    figure, (axes, by_frame, by_time) = panels(3, columns or 3, width=4.2, height=5.0)
    _marks(axes, results)
    for label in results.labels:
        if (found := progress(results, label)) is not None:
            frames, scores, seconds = found
            for panel, x in ((by_frame, frames / 1e3), (by_time, frames * seconds)):
                _rise(panel, x, scores, label)
    by_frame.set_xlabel("thousand frames")
    by_time.set_xlabel("seconds of one core")
    by_frame.set_ylabel("mean score of the games")
    legend(figure, [axes])
    return figure


def _rise(axes: Any, x: np.ndarray, scores: np.ndarray, label: str) -> None:
    colour, _ = LOOKS[label.removesuffix(MEMORYLESS)]
    middle = np.nanmean(scores, axis=1)
    axes.plot(x, middle, color=colour, ls=":" if label.endswith(MEMORYLESS) else "-", lw=1.4)


def _marks(axes: Any, results: Results) -> None:
    found = {label: scores(results, label) for label in results.labels}
    seen = [task for task in (*GAMES, *ROBOTS) if any(task in each for each in found.values())]
    means = {"mean of the games": GAMES, "mean of the robots": ROBOTS}
    rows = [*seen, *(name for name, tasks in means.items() if set(tasks) & set(seen))]
    for label, each in found.items():
        if not each:
            continue
        name = label.removesuffix(MEMORYLESS)
        colour, marker = LOOKS[name]
        points = [(rows.index(task), values) for task, values in each.items()]
        for row, tasks in means.items():
            if set(tasks) <= set(each):
                points.append((rows.index(row), np.array([each[task].mean() for task in tasks])))
        axes.errorbar(
            [values.mean() for _, values in points],
            [row for row, _ in points],
            xerr=[standard_error(values) for _, values in points],
            fmt=marker,
            color=colour,
            mfc=colour if label == name else "none",
            label=label,
            ms=5,
        )
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.set_xlabel("score: 0 random play, 1 perfect (robots: 1 is PPO)")


FIGURE = Figure(
    name="suite",
    number="Ours",
    title="Eleven games and eight robots, one score for each",
    make_jobs=jobs,
    quantity=RETURN,
    draw=draw,
    miniature=("suite/RepeatFirst-*",),
)
