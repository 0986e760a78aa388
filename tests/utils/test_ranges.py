"""A setting out of its range is refused where it is given, in Python and on the command line."""

import pytest

from rillax.agents import PPO, QRC, TD, StreamAC, StreamQ
from rillax.cli import main as cli
from rillax.cli.train import parse
from rillax.updates import SGD, AdaptiveObGD, Intentional, ObGD


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: QRC(discount=2), r"discount must be in \[0, 1\], got 2"),
        (lambda: QRC(epsilon_start=5), r"epsilon_start must be in \[0, 1\], got 5"),
        (lambda: StreamQ(epsilon_end=-0.1), r"epsilon_end must be in \[0, 1\]"),
        (lambda: StreamQ(epsilon_frames=-1), "epsilon_frames must be at least 0, got -1"),
        (lambda: StreamAC(trace_decay=1.5), r"trace_decay must be in \[0, 1\], got 1.5"),
        (lambda: StreamAC(entropy=float("nan")), "entropy must be at least 0, got nan"),
        (lambda: StreamAC(discount="high"), r"discount must be in \[0, 1\], got 'high'"),
        (lambda: StreamAC(input_bound=0), "input_bound must be more than 0, got 0"),
        (lambda: TD(discounts=(1.0,)), r"a discount must be in \[0, 1\), got 1.0"),
        (lambda: PPO(clip=-1), "clip must be more than 0, got -1"),
        (lambda: PPO(step_size=-1), "step_size must be at least 0, got -1"),
        (lambda: SGD(-0.1), "step_size must be at least 0, got -0.1"),
        (lambda: SGD(clip=0), "clip must be more than 0"),
        (lambda: ObGD(kappa=-2), "kappa must be more than 0, got -2"),
        (lambda: AdaptiveObGD(beta=1), r"beta must be in \[0, 1\), got 1"),
        (lambda: Intentional(eta=-1), "eta must be at least 0"),
    ],
)
def test_in_python(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--discount", "2"], "discount must be in [0, 1], got 2.0"),
        (["--epsilon-start", "5"], "epsilon_start must be in [0, 1], got 5.0"),
        (["--agent", "qrc", "--q-step-size", "-1"], "step_size must be at least 0, got -1.0"),
        (["--agent", "stream_ac", "--actor-kappa", "-3"], "kappa must be more than 0, got -3.0"),
    ],
)
def test_on_the_command_line(flags, words, tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        cli.main(["train", *flags, "--out", str(tmp_path / "x")])
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_frames_as_people_write_them():
    assert parse(["--frames", "1e5"]).run.frames == parse(["--frames", "100_000"]).run.frames == 1e5
