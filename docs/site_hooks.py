"""Hooks of mkdocs: the README is the first page, and links out of docs/ go to copies in the site.

A notebook in docs/ is a page, with what its cells printed when it was run.

On GitHub the pages in docs/ link to files beside that directory. The site has a copy of each such
file, so that it is whole by itself.
"""

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(\]\()([^)#\s]+)")
FIRST = "index.md"
COPIED = (
    "results/**/*.png",
    "results/**/*.jsonl",
    "results/README.md",
    "examples/**/*.py",
    "examples/**/README.md",
    "rillax/**/*.py",
)
COPIED += ("benchmarks/*.py", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "CITATION.cff")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the README, and whatever a page may link to outside docs/."""
    files.append(File.generated(config, FIRST, content=_first_page()))
    for notebook in sorted((ROOT / "docs").glob("*.ipynb")):
        name = notebook.with_suffix(".md").name
        files.append(File.generated(config, name, content=_page_of(notebook)))
    for pattern in COPIED:
        for path in sorted(ROOT.glob(pattern)):
            name = _name(path)
            files.append(File.generated(config, name, content=path.read_bytes()))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Links to files outside docs/ become links to their copies."""
    if page.file.src_uri == FIRST:
        return markdown
    return LINK.sub(lambda link: link[1] + _inside(link[2]), markdown)


def _first_page() -> str:
    """The README, whose links start at the root."""
    text = (ROOT / "README.md").read_text().replace(".ipynb)", ".md)")  # as a page
    return LINK.sub(lambda link: link[1] + _inside(link[2].removeprefix("docs/")), text)


def _page_of(notebook: Path) -> str:
    """A notebook as Markdown."""
    cells = json.loads(notebook.read_text())["cells"]
    link = f"[{notebook.name}]({notebook.name}) is this page as a notebook.\n"
    return "\n\n".join([*map(_cell, cells), link])


def _cell(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] != "code":
        return source
    printed = "".join("".join(out.get("text", ())) for out in cell["outputs"])
    said = f"\n\n```text\n{printed}```" if printed else ""
    return f"```python\n{source}\n```{said}"


def _inside(target: str) -> str:
    """Where the site has what a page links to."""
    target = target.removeprefix("../")
    path = ROOT / target
    if "://" in target or not path.exists():
        return target
    if path.is_dir():
        readme = path / "README.md"
        return _name(readme) if readme.exists() else target
    return _name(path)


def _name(path: Path) -> str:
    """The name of a copy. Pages in Markdown would be rendered, so that they are text."""
    name = str(path.relative_to(ROOT))
    return f"{name}.txt" if path.suffix in (".md", ".py", ".cff") or not path.suffix else name
