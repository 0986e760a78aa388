"""``rillax train``: an agent in an environment, from its flags or on from where it stopped."""

import dataclasses
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import gymnasium
import tyro

from rillax import envs, spaces
from rillax.agents import AGENTS
from rillax.cli import flags, kinds, older, terminal
from rillax.cli.arguments import peek, split
from rillax.cli.flags import Flag
from rillax.cli.terminal import DIVERGED, INTERRUPTED, count, fail, say
from rillax.experiments import Options, Run, train
from rillax.experiments.training import (
    WRITTEN,
    Diverged,
    Progress,
    bytes_needed,
    prepare,
    read_config,
    read_run,
    shown,
)
from rillax.paper import presets
from rillax.utils import machine, settings
from rillax.utils.settings import Leaf

PROG = "rillax train"
DISCRETE, CONTINUOUS, OTHER = "rill", "brook", "stream_ac"
"""The agent where none is named: for discrete actions, for some that are numbers, for others."""
HEADINGS = ("run", "agent", "network", "cell")


class Command(NamedTuple):
    """What the flags ask for."""

    run: Run
    options: Options
    out: Path
    resume: bool = False
    overwrite: bool = False


@dataclass(frozen=True)
class Place:
    """What a command says beside the run and its options."""

    out: Path = Path("runs/latest")
    """Directory for the results."""
    overwrite: bool = False
    """Replace the results of an earlier run in --out."""
    length: int | None = None
    """Length of the chain (MemoryChain)."""
    memory: int | None = None
    """How many steps back to remember (KMemoryChain)."""
    env_arg: tuple[str, ...] = ()
    """A setting of the environment, as key=value; the value is JSON or else text."""
    config: Path | None = None
    """Begin with the settings in this file, which is like a run's config.json; other flags are
    changes to it."""
    trust: bool = False
    """Import code that --config names: an agent, cell or rule that is not rillax's."""


@dataclass(frozen=True)
class Resume:
    """Continue a run that was stopped or killed, or extend one. Its settings are in its files."""

    resume: Path
    """The directory of the run."""
    frames: flags.OptionalInt = None
    """Go on to so many frames per seed in all."""
    trust: bool = False
    """Import code that the run's config.json names: an agent, cell or rule that is not rillax's."""


ABOUT = """Train an agent and write down what it learned.

Writes config.json, metrics.parquet, curve.png, summary.json and a checkpoint into the directory
--out. `rillax train --resume DIR` continues a run that was stopped or killed, and with --frames
MORE it goes on to more frames, finished or not.
"""
EPILOG = """\
Another agent, cell or rule has other flags. This lists those of stream_ac with a GRU:
  rillax train --agent stream_ac --cell gru --help"""


def main(argv: list[str]) -> None:
    command = parse(argv)
    run, options, out, resume, overwrite = command
    machine.keep_compilations()
    prepare(run, out, options, overwrite=overwrite or resume)
    if (needed := bytes_needed(run)) is not None:
        available = machine.available_memory()
        of = "" if available is None else f" of {machine.readable(available)} available"
        say(f"rollout and update need {machine.readable(needed)}{of}")
    try:
        summary = _train(command)
    except Diverged as error:
        fail(str(error), DIVERGED)
    say(
        f"final return {shown(summary['final_return_iqm'])} (last tenth of the frames, IQM of "
        f"{count(run.seeds, 'seed')}); {summary['frames_per_second'] or 0:,.0f} frames/s"
    )
    for lost in summary["diverged"]:
        say(f"seed {lost['seed']} diverged at frame {lost['frame']:,} and was left out")
    say(f"wrote {out}/: {', '.join(WRITTEN)}")
    if not summary["complete"]:
        trust = "" if run.all_ours else " --trust"
        say(
            f"stopped at frame {summary['frames']:,} of {run.frames:,}; "
            f"rillax train --resume {out}{trust} continues"
        )
        sys.exit(INTERRUPTED)


def _train(command: Command) -> dict[str, Any]:
    run, options, out, resume, overwrite = command
    with terminal.interruptible() as stop, terminal.progress_bars() as bars:
        show, started = terminal.progress_bar(bars, run), False

        def report(progress: Progress) -> None:
            nonlocal started
            if not started:
                terminal.say_if_slow()
            started = True
            show(progress)

        summary, _ = train(
            run, out, options, resume=resume, overwrite=overwrite, report=report, stop=stop
        )
    return summary


# ---- flags


def parse(argv: list[str]) -> Command:
    """What the flags ask for; nothing is run.

    Which flags there are depends on the agent and its parts, and their defaults on the environment
    and the number of frames, so these are read first.
    """
    argv = split(argv)
    if "--resume" in argv:
        return _parse_resume(argv)
    base, options, argv = _begin_with(argv)
    agent, argv = kinds.choose_parts(base.agent, argv)
    name = _name(agent, argv)
    base = dataclasses.replace(base, agent=agent)
    known = _flags(name, base, options)
    cls = flags.flag_class(known, HEADINGS, ABOUT)
    parsed = terminal.parse(cls, argv, PROG, hint=_hint(known), epilog=EPILOG)
    place, options, agent = (
        settings.change(value, **flags.given(parsed, known, owner))
        for value, owner in ((Place(), "place"), (options, "how"), (agent, "agent"))
    )
    changes = flags.given(parsed, known, "run")
    before = {} if "env" in changes else base.env_settings
    env_settings = {**before, **_env_settings(place)}
    run = dataclasses.replace(base, agent=agent, env_settings=env_settings)
    return Command(settings.change(run, **changes), options, place.out, overwrite=place.overwrite)


def _begin_with(argv: list[str]) -> tuple[Run, Options, list[str]]:
    """What flags are changes to: the run in --config, or the agent's defaults; and the flags."""
    path, chosen = peek(argv, "--config"), peek(argv, "--agent")
    if path is None:
        name = chosen or _usual_agent(argv)
        argv = older.translate(argv, name)
        return Run(_default_agent(name, argv)), Options(), argv
    run, options = read_run(Path(path), "--trust" in argv)
    run = dataclasses.replace(run, extended=())
    if chosen is not None and chosen != _name_of(run.agent):
        run = dataclasses.replace(run, agent=_default_agent(chosen, argv))
    return run, options, older.translate(argv, _name_of(run.agent))


def _name_of(agent: Any) -> str:
    """What --agent is for this agent."""
    return kinds.name_of(agent, AGENTS)


def _name(agent: Any, argv: list[str]) -> str:
    return peek(argv, "--agent") or _name_of(agent)


def _hint(known: Mapping[str, Flag]) -> str:
    chosen = [f"--{name} {known[name].leaf.value}" for name in ("agent", "cell") if name in known]
    return f"{PROG} {' '.join(chosen)} --help lists the flags"


def _parse_resume(argv: list[str]) -> Command:
    chosen = terminal.parse(
        Resume, argv, PROG, hint="--resume takes a directory, and no flags but --frames and --trust"
    )
    run, options = read_config(chosen.resume, chosen.trust)
    if chosen.frames is not None and chosen.frames != run.frames:
        run = _extended(run, chosen.frames)
    return Command(run, options, chosen.resume, resume=True)


def _extended(run: Run, frames: int) -> Run:
    """The run to more frames; what becomes of its schedules is said."""
    if frames < run.frames:
        raise ValueError(
            f"--frames is the length of the run in all, and it has {run.frames:,} already: "
            f"expected more, got {frames:,}"
        )
    schedules = {n: leaf.value for n, leaf in settings.flat(run.agent).items() if _is_schedule(n)}
    for name, value in schedules.items():
        if value is not None:
            flag = name.replace("_", "-")
            say(f"--{flag} stays {value:,}, as the run began: a schedule is not stretched")
            if name == "anneal_frames":
                say(f"the step size is 0 from frame {value:,} on, so nothing more is learned there")
    return run.extend(frames)


def _is_schedule(setting: str) -> bool:
    return setting.endswith("_frames")


def _usual_agent(argv: list[str]) -> str:
    """The agent for an environment if none is named."""
    if older.means_qrc(argv):
        return "qrc"
    env = peek(argv, "--env") or Run.env
    if env in envs.MUJOCO:  # which need not be made to know
        return CONTINUOUS
    try:
        made = envs.make(env)
    except Exception:
        return DISCRETE  # whatever is wrong with it, or it needs, is said when the run begins
    actions = envs.spaces_of(made)[1]
    if isinstance(made, gymnasium.Env):
        made.close()
    if spaces.is_discrete(actions):
        return DISCRETE
    return CONTINUOUS if spaces.factors(actions).low.size else OTHER


def _default_agent(name: str, argv: list[str]) -> Any:
    """The paper's settings for one of ours, inputs bounded; for one of the user's, its own."""
    if ":" in name:
        return kinds.own_agent(name)
    env = peek(argv, "--env") or Run.env
    try:
        frames = flags.read_int(peek(argv, "--frames") or str(Run.frames))
    except ValueError:
        frames = Run.frames  # the parser will say what is wrong with it
    return presets.bounded(presets.paper(name, env, frames))


def _env_settings(place: Place) -> dict[str, Any]:
    given = [("length", place.length), ("memory", place.memory)]
    found = {name: value for name, value in given if value is not None}
    for argument in place.env_arg:
        name, equals, text = argument.partition("=")
        if not (name and equals):
            raise ValueError(f"--env-arg takes key=value, such as size=8, got {argument!r}")
        found[name] = _json_or_text(text)
    return found


def _json_or_text(text: str) -> Any:
    """The value of an --env-arg; a list becomes a tuple, as settings never change.

    >>> _json_or_text("[1, 2]"), _json_or_text("true"), _json_or_text("maze")
    ((1, 2), True, 'maze')
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        return text
    return _frozen(value)


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {name: _frozen(item) for name, item in value.items()}
    return value


def _flags(name: str, run: Run, options: Options) -> dict[str, Flag]:
    """Every flag of a run with this agent."""
    agent = run.agent
    own = {n: leaf for n, leaf in settings.flat(run).items() if len(leaf.paths[0]) == 1}
    del own["extended"]  # by --resume
    of_the_run = (own, "run"), (settings.flat(Place()), "place"), (settings.flat(options), "how")
    found: dict[str, Flag] = {}
    for leaves, owner in of_the_run:
        found |= flags.flags_of(leaves, owner, "run")
    found["env_arg"] = dataclasses.replace(found["env_arg"], leaf=_repeated(found["env_arg"].leaf))
    text = f"The agent. Choose from: {', '.join(AGENTS)}, {kinds.OWN}."
    chosen = {"agent": Leaf((), str, name, text), **kinds.choices(agent)}
    for kind, leaf in chosen.items():
        heading = "cell" if kind in ("cell", "layers") else "agent"
        found |= flags.flags_of({kind: leaf}, "kind", heading)
    for setting, leaf in settings.flat(agent).items():
        flag = f"agent_{setting}" if setting in found else setting
        for one in flags.flags_of({setting: leaf}, "agent", _heading(leaf)).values():
            found[flag] = one
    return found


def _repeated(leaf: Leaf) -> Leaf:
    kind = Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="KEY=VALUE")]
    return dataclasses.replace(leaf, type=kind)


def _heading(leaf: Leaf) -> str:
    path = leaf.paths[0]
    return "cell" if "layers" in path else "network" if "network" in path else "agent"
