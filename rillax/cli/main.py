"""The ``rillax`` command: the table of its commands. Each is imported when it is chosen.

Nothing here may import JAX, or anything else that takes long: ``rillax --help`` answers at once.
"""

import importlib
import os
import sys
from collections.abc import Sequence

import rillax
from rillax.cli.terminal import INTERRUPTED, fail
from rillax.utils import files
from rillax.utils.files import OutputError
from rillax.utils.names import choose

COMMANDS = {
    "train": ("rillax.cli.train", "train an agent and write down what it learned"),
    "evaluate": ("rillax.cli.evaluate", "play a trained run without learning"),
    "compare": ("rillax.cli.compare", "draw several runs in one picture"),
    "demo": ("rillax.cli.demo", "see three kinds of memory learn, in a few minutes"),
    "export": ("rillax.cli.export", "write a learner as C, to learn where there is no Python"),
    "import": ("rillax.cli.import_", "take back what a learner in C has saved"),
    "envs": ("rillax.cli.envs", "list the environments"),
    "agents": ("rillax.cli.agents", "list the agents"),
    "reproduce": ("rillax.cli.reproduce", "run the experiments of the paper"),
    "results": ("rillax.cli.results", "collect the results of the paper, or show them"),
    "plot": ("rillax.cli.plot", "draw a figure of the paper"),
    "report": ("rillax.cli.report", "write a page with every figure, claim and number"),
}
"""Each command: the module whose ``main`` takes its flags, and what it does."""


def main(argv: Sequence[str] | None = None) -> None:
    """Entry point of the ``rillax`` command."""
    argv = list(sys.argv[1:] if argv is None else argv)
    try:
        _dispatch(argv)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # as in ``rillax train --help | head``
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:  # of a file that the user has named, mostly
        fail(files.said_of(error))
    except Exception as error:
        if not _says_what_to_do(error):
            raise
        fail(str(error))


def _dispatch(argv: list[str]) -> None:
    if not argv or argv[0] in ("-h", "--help"):
        print(usage())
    elif argv[0] in ("-V", "--version"):
        print(f"rillax {rillax.__version__}")
    else:
        choose("command", argv[0], COMMANDS)
        module, _ = COMMANDS[argv[0]]
        importlib.import_module(module).main(argv[1:])


def usage() -> str:
    """One line per command."""
    lines = [f"  {name:<11}{what}" for name, (_, what) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: rillax COMMAND ...",
            "",
            "Streaming reinforcement learning under partial observability.",
            "",
            *lines,
            "",
            "rillax COMMAND --help lists the flags of a command, rillax --version the version.",
        ]
    )


def _says_what_to_do(error: Exception) -> bool:
    """Whether the message of an error is for the user, and a traceback would be in the way."""
    return isinstance(error, ValueError | ModuleNotFoundError | OutputError)
