"""The Python in README and docs runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
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


def test_the_site_is_whole(tmp_path):
    """Every page is in the menu, every link leads somewhere, and nothing is fetched."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    pages = {page.with_suffix(".html").name for page in (ROOT / "docs").glob("*.md")}
    assert pages <= {page.name for page in tmp_path.glob("*.html")}
    reference = (tmp_path / "api.html").read_text()
    assert "Transitions dropped for bad input" in reference
    assert 'id="rillax.cells.RTU"' in reference
    fetched = re.findall(r'(?:src|href)="https?://(?!squidfunk|arxiv)[^"]*"', reference)
    assert fetched == []
