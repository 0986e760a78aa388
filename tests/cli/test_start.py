"""The first moment: what is imported, how long it takes, what there is to see."""

import contextlib
import resource
import subprocess
import sys

import pytest

import rillax
from rillax.cli import main as cli

HEAVY = {"jax", "jaxlib", "matplotlib", "pyarrow", "gymnax", "gymnasium", "rich", "tyro", "numpy"}
LIST = "import sys; print('\\n'.join({name.split('.')[0] for name in sys.modules}))"


def imported_by(program):
    """The packages that a program has imported by its end."""
    command = [sys.executable, "-c", f"{program}\n{LIST}"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return set(answer.splitlines())


@pytest.mark.parametrize("flag", ["--help", "--version", "-h"])
def test_help_and_version_import_nothing_heavy(flag):
    found = imported_by(f"from rillax.cli.main import main; main(['{flag}'])")
    assert "rillax" in found
    assert not found & HEAVY


def test_an_unknown_command_is_refused_at_once():
    program = "from contextlib import suppress; from rillax.cli.main import main\n"
    found = imported_by(program + "with suppress(SystemExit): main(['trian'])\n")
    assert not found & HEAVY


def test_import_is_light():
    found = imported_by("import rillax; dir(rillax); rillax.__version__")
    assert not found & HEAVY
    assert "jax" in imported_by("import rillax; rillax.QRC")  # the test can see it


def test_help_takes_under_half_a_second_of_processor_time():
    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "rillax", "--help"], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.5


def test_help_has_one_line_per_command(capsys):
    cli.main([])
    alone = capsys.readouterr().out
    cli.main(["--help"])
    assert capsys.readouterr().out == alone
    for name, (_, what) in cli.COMMANDS.items():
        assert [line for line in alone.splitlines() if line.split() == [name, *what.split()]]
    assert max(map(len, alone.splitlines())) < 100
    cli.main(["--version"])
    assert capsys.readouterr().out == f"rillax {rillax.__version__}\n"


@pytest.mark.parametrize(
    "command", [[name] for name in cli.COMMANDS] + [["results", "collect"], ["results", "show"]]
)
def test_every_command_has_help(command, capsys):
    with contextlib.suppress(SystemExit):
        cli.main([*command, "--help"])
    assert f"usage: rillax {' '.join(command)}" in capsys.readouterr().out


def test_dir_shows_what_there_is():
    assert set(rillax.__all__) <= set(dir(rillax))
    assert {"agents", "cells", "envs", "__version__"} <= set(dir(rillax))
    for name in dir(rillax):
        assert getattr(rillax, name) is not None
    from rillax.agents import QRC
    from rillax.experiments.door import train
    from rillax.loops import Learner

    assert (rillax.QRC, rillax.train, rillax.Learner) == (QRC, train, Learner)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rillax.nothing  # noqa: B018
