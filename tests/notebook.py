"""A notebook run as Jupyter would, cell by cell in one namespace, with the standard library alone.

``python -m tests.notebook docs/tutorial.ipynb`` runs it in a new directory and writes what it
prints into the file.
"""

import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path


def code_cells(path):
    return [cell for cell in read(path)["cells"] if cell["cell_type"] == "code"]


def read(path):
    return json.loads(Path(path).read_text())


def run(cells):
    """Run code cells in the current directory; yields what each printed."""
    sys.path.insert(0, os.getcwd())
    namespace = {"__name__": "__main__"}
    try:
        for cell in cells:
            source = "".join(cell["source"])
            if source.startswith("!rillax "):
                yield _command(source)
                continue
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                exec(compile(source, cell["id"], "exec"), namespace)
            yield said.getvalue()
    finally:
        sys.path.remove(os.getcwd())


def _command(line):
    command = [sys.executable, "-m", "rillax", *shlex.split(line.removeprefix("!rillax "))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def main(path):
    notebook, path = read(path), Path(path).absolute()
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for i, (cell, said) in enumerate(zip(cells, run(cells), strict=True)):
            print(said, end="", flush=True)
            text = said.splitlines(keepends=True)
            stream = {"name": "stdout", "output_type": "stream", "text": text}
            cell["execution_count"], cell["outputs"] = i + 1, [stream] if text else []
        os.chdir("/")
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
