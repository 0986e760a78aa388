"""A cell, a rule, an agent and an environment from files of a user's (docs/own-parts.md)."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rillax import Learner
from rillax.experiments.training import read_config
from rillax.utils import settings
from tests.processes import assert_same_bits, finish, kill_after_a_checkpoint, rillax

ROOT = Path(__file__).parents[1]
PARTS = ROOT / "examples" / "own_parts"
CHAIN = ["--env", "MemoryChain", "--length", "3"]
RUNS = {
    "my_cells": ["--agent", "qrc", "--cell", "my_cells:Elman", "--units", "4", *CHAIN],
    "my_rules": ["--agent", "stream_ac", "--units", "4", "--actor", "my_rules:FixedNorm", *CHAIN],
    "my_agents": ["--agent", "my_agents:ExpectedSarsa", "--units", "4", *CHAIN],
    "my_envs": [
        "--agent",
        "qrc",
        "--units",
        "4",
        "--env",
        "my_envs:TMaze",
        "--env-arg",
        "length=3",
    ],
}
FRAMES = {"my_envs": "2500"}
SMALL = ["--width", "4", "--seeds", "2", "--checkpoint-seconds", "0"]


@pytest.fixture
def importable(monkeypatch):
    """The modules can be imported, and have not been."""
    monkeypatch.syspath_prepend(PARTS)
    for name in RUNS:
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.mark.slow
@pytest.mark.parametrize("module", RUNS)
def test_it_trains_is_killed_resumes_and_loads(module, tmp_path, importable):
    flags = [*RUNS[module], *SMALL, "--frames", FRAMES.get(module, "20000")]
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    kill_after_a_checkpoint(flags, cut, cwd=PARTS)
    finish(rillax(*flags, "--out", str(whole), cwd=PARTS))
    finish(rillax("--resume", str(cut), "--trust", cwd=PARTS))
    assert_same_bits(cut, whole)

    with pytest.raises(settings.Untrusted, match=rf"{module}:\w+.*--trust"):
        read_config(cut)
    run, _ = read_config(cut, trust=True)
    assert settings.from_json(settings.to_json(run), trust=True) == run


@pytest.mark.parametrize(
    "module",
    ["my_cells", *(pytest.param(m, marks=pytest.mark.slow) for m in ("my_rules", "my_agents"))],
)
def test_a_learner_made_of_it_is_saved_and_loaded(module, tmp_path, importable):
    import gymnasium
    import numpy as np

    from rillax.cli.train import parse

    agent = parse([*RUNS[module], *SMALL]).run.agent
    box, actions = gymnasium.spaces.Box(-1, 1, (3,)), gymnasium.spaces.Discrete(2)
    learner, path = Learner(agent, box, actions), tmp_path / "learner.rillax"
    observation = np.ones(3, np.float32)
    for _ in range(3):
        learner.act(observation)
        learner.learn(1.0, observation, False, False)
    learner.save(path)
    assert Learner.load(path).act(observation) == learner.act(observation)  # it is imported here
    del sys.modules[module]
    with pytest.raises(settings.Untrusted):
        Learner.load(path)
    assert Learner.load(path, trust=True).step == 3


def test_a_file_alone_imports_nothing(tmp_path):
    """Not even a module beside it, when the current directory is the file's."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    program = """
import sys
from rillax.utils import settings
for value in ({"kind": "evil:Agent"}, {"code": "evil:encoder"}, {"code": "os:system"}):
    try:
        settings.from_json(value)
    except settings.Untrusted:
        continue
    sys.exit("nothing was refused")
assert "evil" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_the_page_shows_the_files():
    page = (ROOT / "docs" / "own-parts.md").read_text()
    shown = dict(re.findall(r"```python\n# (examples/\S+)\n(.*?)```", page, re.DOTALL))
    assert {Path(name).stem for name in shown} == set(RUNS)
    for name, text in shown.items():
        code = (ROOT / name).read_text()
        assert text == code, f"docs/own-parts.md shows another {name}"
        assert len(code.splitlines()) < 60
