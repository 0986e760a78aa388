"""Talking to a person at a terminal: what is said, errors in one line, flags, Ctrl-C."""

import io
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any, NoReturn, TypeVar

import tyro
from rich.console import Console

INTERRUPTED = 130
USAGE = 2
console = Console(highlight=False)
T = TypeVar("T")


def say(*what: Any) -> None:
    console.print(*what, soft_wrap=True)


def fail(message: str, code: int = USAGE) -> NoReturn:
    print(f"rillax: {message}", file=sys.stderr)
    sys.exit(code)


def parse(cls: type[T], argv: list[str], prog: str, default: T) -> T:
    """The flags as a dataclass. What tyro has to say of a mistake is put into one line."""
    said = io.StringIO()
    try:
        with redirect_stderr(said):
            return tyro.cli(
                cls,
                args=argv,
                prog=prog,
                default=default,
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed),
            )
    except SystemExit as end:
        if not end.code:
            raise
    lines = [line.strip(" │") for line in said.getvalue().splitlines()]
    body = [line for line in lines if line and line[0] not in "╭╰─" and "full helptext" not in line]
    fail(f"{' '.join(body)} ({prog} --help lists the flags)")


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C (or SIGTERM) sets; the second one has its usual effect."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in signals}

    def handle(number: int, frame: Any) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in signals:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
