"""From a Learner to C and back, and C as a Learner's engine."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from rillax import Learner
from rillax.agents import PPO, QRC, TD, Rill, StreamAC, StreamQ
from rillax.cells import GRU, RTU
from rillax.cli.export import learner_of
from rillax.cli.main import main
from rillax.export import NoCompiler, source
from rillax.loops import BadInput
from rillax.networks import Architecture
from rillax.updates import SGD, Adaptive, ObGD
from rillax.utils.checkpoint import CheckpointError, flatten
from tests.export.combinations import CHOICE, SEES, needs_compiler, relative

ROOT = Path(__file__).parents[2]
GENTLE = ObGD(0.01, kappa=10.0)
AGENT = StreamAC(network=Architecture(cell=RTU(4), width=5), actor=GENTLE, critic=GENTLE)
RILL = Rill(network=AGENT.network, q=GENTLE, actor=GENTLE, critic=GENTLE)
BOTH = pytest.mark.parametrize("agent", [AGENT, pytest.param(RILL, marks=pytest.mark.slow)])


def live(learner: Learner, steps: int, seed: int = 0) -> list[int]:
    rng = np.random.default_rng(seed)
    seen = rng.normal(size=(steps + 1, 3)).astype(np.float32)
    actions = []
    for t in range(steps):
        actions.append(int(learner.act(seen[t])))
        learner.learn(float(seen[t, 0]), seen[t + 1], t % 7 == 6, t % 11 == 10)
    return actions


@needs_compiler
@BOTH
def test_the_engine_is_the_same_learner(agent, tmp_path):
    ours, c = (Learner(agent, SEES, CHOICE, seed=1, engine=e) for e in ("jax", "c"))
    assert live(ours, 60) == live(c, 60)
    assert relative(flatten(c.state), flatten(ours.state))[0] < 1e-3
    assert ours.metrics.keys() == c.metrics.keys()
    c.save(tmp_path / "c.rillax")
    again = Learner.load(tmp_path / "c.rillax", engine="c")
    assert again.step == 60
    assert live(again, 20, seed=1) == live(c, 20, seed=1)


@needs_compiler
def test_bad_input_and_refused_steps_are_the_same_in_c():
    plain = Architecture(
        cell=RTU(4), width=5, layer_norm=False, head_layer_norm=False, sparsity=0.0
    )
    agent = StreamAC(network=plain, normalise_observations=False)
    seen, loud = np.ones(3, np.float32), np.full(3, 1e15, np.float32)
    calls = [
        ("learn", 0.0, seen),
        ("act", np.full(3, np.nan)),
        ("act", seen),
        ("learn", np.inf, seen),
        ("learn", 1.0, seen),
        ("learn", 1.0, seen),
        ("act", loud),
        ("learn", 1.0, loud),
    ]
    said = []
    for engine in ("jax", "c"):
        learner = Learner(agent, SEES, CHOICE, engine=engine)
        for name, *inputs in calls:
            message = ""
            try:
                getattr(learner, name)(*inputs)
            except BadInput as error:
                message = str(error)
            said.append((message, learner.step, learner.skipped))
    half = len(said) // 2
    assert said[:half] == said[half:]
    assert "would leave the agent" in said[-1][0]


@needs_compiler
@pytest.mark.slow
def test_an_interrupt_leaves_a_whole_learner_in_c(tmp_path):
    learner, hits = Learner(AGENT, SEES, CHOICE, engine="c"), 0

    def handle(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handle)
    rng = np.random.default_rng(0)
    try:
        while hits < 100:
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-4, 2e-3))
                while True:
                    learner.act(np.ones(3))
                    learner.learn(1.0, np.ones(3))
            except KeyboardInterrupt:
                hits += 1
            state = learner.state
            assert int(state.step) == learner.step
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    learner.save(tmp_path / "x")
    assert Learner.load(tmp_path / "x", engine="c").step == learner.step > hits


@needs_compiler
@BOTH
def test_a_learner_goes_to_c_and_comes_back(agent, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    learner = Learner(agent, SEES, CHOICE, seed=1)
    live(learner, 30)
    learner.save("before.rillax")
    main(["export", "before.rillax", "--target", "c", "--out", "device"])
    program = """
    #include <stdio.h>
    #include "learner.h"
    static learner self;
    static unsigned char bytes[1 << 20];
    int main(void)
    {
        learner_start(&self);
        learner_save(&self, bytes, sizeof bytes);
        return fwrite(bytes, 1, learner_bytes(), stdout) == learner_bytes() ? 0 : 1;
    }
    """
    Path("main.c").write_text(program)
    command = ["cc", "-std=c99", "-Idevice", "main.c", "device/learner.c", "-o", "a", "-lm"]
    subprocess.run(command, check=True)
    Path("bytes").write_bytes(subprocess.run(["./a"], check=True, capture_output=True).stdout)
    main(["import", "bytes", "--learner", "device", "--out", "after.rillax"])
    after = Learner.load("after.rillax")
    assert relative(flatten(after.state), flatten(learner.state))[0] == 0
    assert (after.step, after.acted) == (30, False)
    assert live(after, 10) == live(learner, 10)

    damaged = bytearray(Path("bytes").read_bytes())
    damaged[100] ^= 1
    Path("bytes").write_bytes(damaged)
    with pytest.raises(SystemExit):
        main(["import", "bytes", "--learner", "device", "--out", "after.rillax"])
    assert "damaged" in capsys.readouterr().err


@pytest.mark.slow
def test_a_run_is_exported_where_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["--seeds", "1", "--width", "5", "--units", "4"]
    main(["train", "--frames", "200", "--out", "run", *small])
    learner = learner_of(Path("run"), None, fresh=False, trust=False)
    assert (learner.step, learner.acted) == (200, False)
    main(["export", "run", "--out", "device"])
    assert Path("device/learner.c").exists()


class OwnRule(ObGD):
    """A rule that rillax does not know."""


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (PPO(), "the agent PPO"),
        (StreamAC(network=Architecture(cell=GRU(4))), "the cell GRU"),
        (StreamAC(network=Architecture(cell=RTU(4, correction="exact"))), "correction='exact'"),
        (StreamAC(network=Architecture(update_every=2)), "update_every=2"),
        (TD(), "the agent TD"),
        (StreamQ(q=OwnRule()), "the rule OwnRule"),
        (StreamQ(q=Adaptive()), "the rule Adaptive"),
        (StreamQ(temperature=0.1), "temperature=0.1"),
        (QRC(q=SGD(clip=1.0)), "SGD\\(clip=1.0\\)"),
        (QRC(clip_gradients=1.0), "clip_gradients=1.0"),
    ],
)
def test_what_has_no_form_in_c_is_named(agent, words):
    with pytest.raises(ValueError, match=f"{words}.* has no form in C"):
        source(agent, Box(-1.0, 1.0, (3,)), Discrete(2))


def test_without_a_compiler_the_error_says_what_to_do(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoCompiler, match="engine='jax'"):
        Learner(AGENT, SEES, CHOICE, engine="c")


def test_bytes_of_another_learner_are_refused():
    ours = source(AGENT, SEES, CHOICE).layout
    learner = Learner(AGENT, SEES, CHOICE)
    like = flatten(learner.state)
    content = ours.write(like, acted=False)
    other = source(StreamAC(network=AGENT.network, discount=0.9), SEES, CHOICE).layout
    with pytest.raises(CheckpointError, match="another learner"):
        other.read(content, like, "bytes")
    with pytest.raises(CheckpointError, match="does not hold"):
        ours.read(b"nonsense", like, "bytes")
    with pytest.raises(CheckpointError, match="bytes; this learner saves"):
        ours.read(content[:-1], like, "bytes")


def test_the_example_is_what_the_exporter_writes(tmp_path):
    example = ROOT / "examples" / "c"
    subprocess.run([sys.executable, example / "fresh.py", tmp_path], check=True, cwd=ROOT)
    for name in ("learner.h", "learner.c"):
        ours, theirs = ((at / name).read_text() for at in (tmp_path, example / "learner"))
        mark = "/* ---- the learner as it was exported"
        assert ours.partition(mark)[0] == theirs.partition(mark)[0]


@needs_compiler
@pytest.mark.slow
def test_the_example_learns(tmp_path):
    example = ROOT / "examples" / "c"
    sources = [example / "memory_chain.c", example / "learner" / "learner.c"]
    flags = ["-std=c99", "-O3", f"-I{example / 'learner'}"]
    subprocess.run(["cc", *flags, *sources, "-o", tmp_path / "a", "-lm"], check=True)
    said = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout
    assert float(said.split()[-1]) > 0.9
