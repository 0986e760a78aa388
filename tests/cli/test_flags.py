"""From flags to a run: documented lines, older spellings, choices among kinds, own parts."""

import itertools
import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from rillax.agents import AGENTS
from rillax.cells import GRU, LSTM, RTU, FeedForward, MinGRU, NonlinearRTU
from rillax.cli import main as cli
from rillax.cli import terminal
from rillax.cli.train import parse
from rillax.experiments.training import write_config
from rillax.updates import SGD, AdaptiveObGD, Intentional, IntentionalPolicy, ObGD
from rillax.utils import settings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# Lines that were in README and docs before settings became values. People have them in scripts.
BEFORE = """
--env MemoryChain --length 8 --agent qrc --cell rtu --gradient rtrl --frames 100000 --seeds 5 --out runs/x
--length 4 --frames 20000 --seeds 3 --clip-at update
--env HalfCheetah-P --agent stream_ac --frames 2000000 --seeds 5 --out runs/cheetah
--agent ppo --env RepeatFirstEasy --frames 300000 --seeds 3 --out runs/ppo
--agent ppo --env HalfCheetah-F --frames 10240 --seeds 1
--agent ppo --cell gru --env HalfCheetah-F
--env CountRecallEasy --agent qrc --sparsity 0 --r-min 0.995 --r-max 0.9999 --phase-min 0.5 --phase-max 5.8 --no-gain --cell-step 0.003
--env KMemoryChain --memory 8 --agent stream_ac --staleness 1000 --out runs/stale
""".strip().splitlines()  # noqa: E501


def parsed(line):
    """A line as it is written, of QRC if it names no agent."""
    argv = shlex.split(line)
    return parse(argv if "--agent" in argv else ["--agent", "qrc", *argv])


def run_of(line):
    return parsed(line).run


def agent_of(line):
    return run_of(line).agent


def documented(command):
    """The arguments of every such command in README and docs, but for those with placeholders."""
    for page in PAGES:
        text = page.read_text().replace("\\\n", " ")
        for match in re.finditer(
            rf"^(?:\$ )?rillax {command} ([^\n]*)|`rillax {command} ([^`]*)`", text, re.M
        ):
            line = match[1] or match[2] or ""
            if not re.search(r"--help|--resume|--config|\b(ID|DIR|NAME)\b|\.\.\.|…|my_", line):
                yield pytest.param(shlex.split(line, comments=True), id=f"{page.name}: {line}")


@pytest.mark.parametrize("argv", [*documented("train"), *map(shlex.split, BEFORE)])
def test_every_documented_line_parses(argv):
    run, _, out, *_ = parse(argv)
    given = dict(itertools.pairwise(argv))
    assert run.env == given.get("--env", "MemoryChain")
    assert run.frames == int(given.get("--frames", 100_000))
    assert out == Path(given.get("--out", "runs/latest"))
    usual = "qrc" if "--clip-at" in argv else "rill"
    assert type(run.agent) is AGENTS[given.get("--agent", usual)]


@pytest.mark.parametrize(
    ("line", "agent"),
    [
        ("--env RepeatFirstEasy", "rill"),
        ("--env CartPole-v1", "rill"),
        ("--env HalfCheetah-P", "brook"),
        ("--env Pendulum-v1", "brook"),
        ("--kappa 2", "qrc"),
    ],
)
def test_the_agent_where_none_is_named(line, agent):
    assert type(parse(shlex.split(line)).run.agent) is AGENTS[agent]


def test_there_are_documented_lines():
    assert len(list(documented("train"))) >= 6
    assert len(list(documented("reproduce"))) >= 6


@pytest.mark.parametrize("argv", list(documented("reproduce")))
def test_every_documented_line_of_reproduce_parses(argv):
    from rillax.cli.reproduce import Reproduce

    flags = terminal.parse(Reproduce, argv, "rillax reproduce")
    assert flags.name == argv[0]


def test_flags_reach_the_settings_they_name():
    command = parsed(
        "--env CountRecallEasy --sparsity 0 --r-min 0.995 --no-gain --cell-step 0.003 --seed 4 "
        "--q-step-size 0.01 --epsilon-frames 7 --on-bad-input skip --tensorboard --wandb mine "
        "--checkpoint-seconds 5 --overwrite --out x --features tanh --reader-sparsity 0.5"
    )
    run, options, out, resume, overwrite = command
    agent, network, cell = run.agent, run.agent.network, run.agent.network.layers[0]
    assert (run.env, run.seed, run.on_bad_input) == ("CountRecallEasy", 4, "skip")
    assert (agent.q.step_size, agent.epsilon_frames) == (0.01, 7)
    assert (network.sparsity, network.cell_step, network.reader_sparsity) == (0.0, 0.003, 0.5)
    assert (cell.r_min, cell.gain, cell.features) == (0.995, False, "tanh")
    assert (options.checkpoint_seconds, options.tensorboard, options.wandb) == (5.0, True, "mine")
    assert (out, resume, overwrite) == (Path("x"), False, True)


@pytest.mark.parametrize("number", ["100000", "100_000", "1e5", "1E5", "100000.0"])
def test_whole_numbers_may_be_written_in_several_ways(number):
    run = run_of(f"--frames {number}")
    assert (run.frames, type(run.frames)) == (100_000, int)
    assert run.agent.epsilon_frames == 10_000  # a tenth of it


@pytest.mark.parametrize(
    ("older", "today"),
    [
        ("--hidden 32", "--units 32"),
        ("--hidden=32 --r_min=0.5", "--units 32 --r-min 0.5"),
        ("--clip-at update", "--q-clip 1.0 --h-clip 1.0"),
        ("--clip-at update --clip 0.5", "--q-clip 0.5 --h-clip 0.5"),
        ("--clip-at gradient --clip 2", "--clip-gradients 2"),
        ("--clip-at none --clip 2", ""),
        ("--kappa 2.5", "--q obgd --h obgd --q-kappa 2.5 --h-kappa 2.5"),
        (
            "--kappa 2 --q-step-size 0.5",
            "--q obgd --h obgd --q-kappa 2 --h-kappa 2 --q-step-size 0.5",
        ),
        ("--kappa None", ""),
        (
            "--kappa 2 --clip-at gradient",
            "--q obgd --h obgd --q-kappa 2 --h-kappa 2 --clip-gradients 1",
        ),
        (
            "--agent stream_ac --adaptive",
            "--agent stream_ac --actor adaptive_obgd --critic adaptive_obgd",
        ),
        ("--agent stream_ac --no-adaptive", "--agent stream_ac"),
        ("--cell feedforward --gradient tbptt", "--cell feedforward"),
    ],
)
def test_older_spellings_mean_what_they_meant(older, today):
    assert parsed(older) == parsed(today)


def test_older_spellings_keep_the_other_numbers():
    assert agent_of("--kappa 3").q == ObGD(step_size=1e-4, kappa=3.0)
    assert agent_of("--kappa 3").h == ObGD(step_size=1e-5, kappa=3.0)
    adaptive = agent_of("--agent stream_ac --adaptive --env Hopper-P")
    assert (adaptive.actor, adaptive.critic) == (AdaptiveObGD(1.0, 1.5), AdaptiveObGD(1.0, 1.0))
    assert agent_of("--agent ppo --clip 0.1").clip == 0.1  # PPO's own


def test_a_chosen_kind_keeps_what_both_kinds_have():
    cells = {"gru": GRU, "lstm": LSTM, "rtu_nonlinear": NonlinearRTU, "feedforward": FeedForward}
    for name, cls in cells.items():
        (cell,) = agent_of(f"--cell {name}").network.layers
        assert cell == cls(units=192)
    assert agent_of("--cell gru --gradient tbptt --units 8").network.layers == (GRU(8, "tbptt"),)
    assert agent_of("--q obgd").q == ObGD(step_size=1e-4)
    assert agent_of("--agent stream_ac --critic sgd").critic == SGD(step_size=1.0)


def test_rules_and_cells_for_a_recurrence():
    agent = agent_of("--agent stream_q --cell mingru --timescale-max 100 --q-eta 0.1")
    assert (agent.q, agent.network.layers) == (
        Intentional(0.1),
        (MinGRU(192, timescale_max=100.0),),
    )
    for name, rule in {"obgd": ObGD(), "adaptive_obgd": AdaptiveObGD(), "sgd": SGD()}.items():
        assert agent_of(f"--agent stream_q --q {name}").q == rule
    agent = agent_of("--agent stream_ac --actor intentional_policy --critic intentional")
    assert (agent.actor, agent.critic) == (IntentionalPolicy(), Intentional())
    assert agent_of("--agent stream_q --q-preconditioner trace").q == Intentional(
        preconditioner="trace"
    )


def test_layers():
    read = RTU(16, features="tanh")  # as the paper's on MemoryChain
    assert agent_of("--layers 2 --units 16").network.layers == (read, read)
    assert len(agent_of("--layers 3 --cell gru --agent stream_ac").network.layers) == 3


def test_lists_of_numbers():
    network = agent_of("--encoder-widths 8,4 --head-widths=").network
    assert (network.encoder_widths, network.head_widths) == ((8, 4), ())
    assert agent_of("--encoder-widths None").network.encoder_widths is None


def test_settings_of_the_environment():
    line = """--env-arg size=8 --env-arg name=maze --env-arg 'walls=[[0, 1], [2, 3]]' --length 3
              --env-arg slippery=true --env-arg=kind=hard"""
    run = run_of(line)
    assert run.env_settings == {
        "length": 3,
        "size": 8,
        "name": "maze",
        "walls": ((0, 1), (2, 3)),
        "slippery": True,
        "kind": "hard",
    }
    assert settings.from_json(json.loads(json.dumps(settings.to_json(run)))) == run


def test_help_shows_the_flags_of_what_was_chosen(capsys):
    def helped(line):
        with pytest.raises(SystemExit, match="0"):
            cli.main(["train", *shlex.split(line), "--help"])
        return capsys.readouterr().out

    qrc, other = helped("--agent qrc"), helped("--agent stream_ac --cell gru --actor adaptive_obgd")
    for flag in ("--r-min", "--h-step-size", "--epsilon-frames", "--env-arg", "--staleness"):
        assert flag in qrc
    assert "--actor-beta" in other
    assert "--r-min" not in other
    assert "--epsilon-frames" not in other
    for text in (qrc, other):
        assert text.rstrip().endswith("rillax train --agent stream_ac --cell gru --help")
        for heading in ("run", "agent", "network", "cell"):
            assert f"{heading} options" in text


PARTS = '''
"""Parts of a user's."""

from dataclasses import dataclass

import equinox as eqx

from rillax.agents import QRC
from rillax.cells import Defaults, FeedForward
from rillax.updates import SGD


@dataclass(frozen=True)
class Cell:
    units: int
    speed: float = 0.5

    def build(self, key, inputs, defaults=Defaults()):
        return FeedForward(self.units).build(key, inputs, defaults)


@dataclass(frozen=True)
class Slow:
    step_size: float
    share: float = 0.1
    """How much of a step is taken."""

    def build(self, decay):
        return SGD(self.share * self.step_size).build(decay)

    def scale_direction(self):
        return SGD(self.share * self.step_size).scale_direction()


@dataclass(frozen=True)
class Agent(QRC):
    patience: int = 3
    """How patient it is."""
    seed: int = 1
    """A name that a run has, too."""


@dataclass
class Melting:
    units: int = 3


HALF = Slow(1e-3, share=0.5)


def encoder(key, shape):
    return eqx.nn.Linear(shape[0], 5, key=key)
'''


@pytest.fixture
def parts(tmp_path, monkeypatch):
    """A file in the current directory; its name as a module."""
    (tmp_path / "parts_of_a_user.py").write_text(PARTS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    yield "parts_of_a_user"
    sys.modules.pop("parts_of_a_user", None)


def test_own_parts(parts, capsys):
    agent = agent_of(f"--agent {parts}:Agent --patience 5 --agent-seed 9 --cell {parts}:Cell")
    mine = sys.modules[parts]
    assert (agent.patience, agent.seed) == (5, 9)
    assert agent.network.layers == (mine.Cell(192, 0.5),)
    agent = agent_of(
        f"--cell {parts}:Cell --layers 2 --speed 2 --units 4 --h {parts}:Slow --h-share 1"
    )
    assert agent.network.layers == 2 * (mine.Cell(4, 2.0),)
    assert agent.h == mine.Slow(1e-5, 1.0)
    assert agent_of(f"--q {parts}:HALF").q == mine.HALF
    assert agent_of(f"--encoder {parts}:encoder").network.encoder is mine.encoder
    with pytest.raises(
        ValueError, match="Melting cannot be the cell: its dataclass must be frozen"
    ):
        agent_of(f"--cell {parts}:Melting")
    with pytest.raises(ValueError, match="Agent cannot be the step-size rule: it has no build"):
        agent_of(f"--q {parts}:Agent")
    with pytest.raises(SystemExit, match="0"):
        parse(["--agent", f"{parts}:Agent", "--help"])
    assert "How patient it is." in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        parse(["--cell", f"{parts}:Cell", "--help"])
    printed = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "rtu, rtu_nonlinear, mingru, gru, lstm, feedforward, or module:Name" in printed
    assert f"(default: {parts}:Cell)" in printed


def test_a_run_with_own_parts_needs_trust_to_resume(parts, tmp_path, capsys):
    flags = ["--cell", f"{parts}:Cell", "--q", f"{parts}:Slow", "--encoder", f"{parts}:encoder"]
    flags += ["--agent", "qrc"]
    run, options, *_ = parse(flags)
    write_config(run, tmp_path, options)
    del sys.modules[parts]  # as in another process
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", "--resume", str(tmp_path)])
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "--trust" in error
    assert f"{parts}:" in error
    again = parse(["--resume", str(tmp_path), "--trust"])
    assert (again.resume, again.out, again.options) == (True, tmp_path, options)
    assert settings.to_json(again.run) == settings.to_json(run)


def test_square_brackets_are_not_markup(capsys):
    from rich.table import Table

    table = Table("r in [0, 0.9]")
    table.add_row("[bold]")
    terminal.say("pip install 'rillax[mujoco]'", table)
    printed = capsys.readouterr().out
    for text in ("rillax[mujoco]", "r in [0, 0.9]", "[bold]"):
        assert text in printed
