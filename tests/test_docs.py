"""The Python in README and docs runs as it stands."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import notebook

ROOT = Path(__file__).parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.ipynb"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def programs():
    for page in PAGES:
        for i, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)):
            if "import" in code:  # the others are fragments
                yield pytest.param(code, id=f"{page.name}-{i}")


@pytest.mark.parametrize("code", list(programs()))
def test_the_programs_in_the_docs_run(code, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The same program, less of it.
    exec(code.replace("range(10)", "range(1)").replace("3_000", "30"), {})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_example_runs_and_goes_on(tmp_path):
    """Twice: the second time it continues from what the first one saved."""
    steps = []
    for _ in range(2):
        command = [sys.executable, ROOT / "examples" / "beside_a_stream.py", "200"]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        steps += [int(line.split()[1].rstrip(":")) for line in run.stdout.splitlines()]
    assert len(steps) > 1
    assert steps == sorted(steps)


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path, monkeypatch):
    """In under three minutes, and it learns."""
    monkeypatch.chdir(tmp_path)
    started = time.perf_counter()
    said = list(notebook.run(notebook.code_cells(TUTORIAL)))
    assert time.perf_counter() - started < 180
    assert said[1].startswith("stopped at frame 10,000")
    first, last = map(float, re.findall(r"-?\d+\.\d", said[2]))
    assert "complete: True" in said[2]
    assert last > first + 10
    assert "acting greedily, nothing learned" in said[3]
    assert said[4].startswith("frozen: return ")
    steps = 20_000 - 1 + 15 * 50  # the last transition of a run is not learned from
    assert f"after {steps:,} steps" in said[5]
    assert f"loaded: {steps:,} steps, frozen: False" in said[5]


def test_the_tutorial_has_been_run():
    """What its cells print is in the file, and so on the site."""
    *_, last = notebook.code_cells(TUTORIAL)
    assert last["execution_count"]
    assert "loaded: " in "".join(last["outputs"][0]["text"])


def test_the_site_is_whole(tmp_path):
    """Every page is in the menu, every link leads somewhere, and nothing is fetched."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    pages = {page.with_suffix(".html").name for page in (ROOT / "docs").glob("*.md")}
    assert {*pages, "tutorial.html"} <= {page.name for page in tmp_path.glob("*.html")}
    assert "loaded: " in (tmp_path / "tutorial.html").read_text()
    reference = (tmp_path / "api.html").read_text()
    assert "Transitions dropped for bad input" in reference
    assert 'id="rillax.cells.RTU"' in reference
    fetched = re.findall(r'(?:src|href)="https?://(?!squidfunk|arxiv)[^"]*"', reference)
    assert fetched == []
