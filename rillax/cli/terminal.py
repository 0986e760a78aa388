"""Talking to a person at a terminal: text, errors in one line, flags, Ctrl-C, progress bars.

rich and tyro take a while to import, so that happens where they are needed.
"""

import dataclasses
import difflib
import io
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, get_args, get_origin

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

    from rillax.experiments import Run
    from rillax.experiments.training import Progress

FAILED, USAGE, DIVERGED, INTERRUPTED = 1, 2, 3, 130
"""Exit codes: something went wrong, a mistake in the command, every seed diverged, Ctrl-C."""
T = TypeVar("T")


@cache
def console() -> "Console":
    from rich.console import Console

    # Markup would swallow square brackets: pip install 'rillax[mujoco]'.
    return Console(highlight=False, markup=False, emoji=False)


def say(*what: Any) -> None:
    console().print(*what, soft_wrap=True)


def fail(message: str, code: int = USAGE) -> NoReturn:
    """One line on stderr, and the end."""
    lines = [line.strip() for line in message.splitlines()]
    print(f"rillax: {' '.join(lines)}", file=sys.stderr)
    sys.exit(code)


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "seed"), count(2_000, "frame")
    ('1 seed', '2,000 frames')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def duration(seconds: float | None) -> str:
    """A time as a person says it.

    >>> duration(42), duration(4242), duration(424242)
    ('42 s', '1 h 10 min', '4 d 21 h')
    """
    if seconds is None:
        return "unknown"
    minutes, hours, days = (int(seconds // n) for n in (60, 3600, 86400))
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min {int(seconds) % 60} s" if minutes else f"{seconds:.0f} s"


# ---- flags


def parse(cls: type[T], argv: list[str], prog: str, *, hint: str = "", epilog: str = "") -> T:
    """The flags as a dataclass; a mistake is one line that ends the program.

    ``hint`` says what to do about a mistake. ``epilog`` comes after the help.
    """
    import tyro

    said = io.StringIO()
    try:
        with redirect_stderr(said):
            value, unknown = tyro.cli(
                cls,
                args=argv,
                prog=prog,
                return_unknown_args=True,
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.SuppressFixed),
            )
    except SystemExit as end:
        if not end.code:
            if epilog:
                print(epilog)
            raise
        wrong = _first_words(said.getvalue())
    else:
        if not unknown:
            return value
        wrong = _unknown(unknown[0], _names(cls))
    fail(f"{wrong} ({hint or f'{prog} --help lists the flags'})")


def _first_words(box: str) -> str:
    """What tyro says of a mistake, without the frame around it and the flag's help below it."""
    lines = [line.strip("│ ") for line in box.splitlines()[1:]]
    is_rule = [not line.strip("─-╰╯") for line in lines]
    first = is_rule.index(False)
    words = " ".join(lines[first : is_rule.index(True, first)])
    missing = re.match(r"(?:Missing value for argument '|Argument )(--[^ ':]+).* 1 ", words)
    if missing:
        return f"{missing[1]} needs a value"
    words = re.sub(r"^Missing from [^:]+: (\S+) (.*) \(required\)$", r"\1 is missing. \2", words)
    return words.removeprefix("Error parsing ")


def _unknown(flag: str, names: list[str]) -> str:
    if not flag.startswith("-"):
        return f"unknown argument {flag!r}"
    close = difflib.get_close_matches(flag.split("=")[0], names, n=2, cutoff=0.7)
    return f"unknown flag {flag}" + (f"; did you mean {' or '.join(close)}?" if close else "")


def _names(cls: Any) -> list[str]:
    """The flags that a dataclass has, its groups' included."""
    names = []
    for field in dataclasses.fields(cls):
        kind = get_args(field.type)[0] if get_origin(field.type) else field.type
        inner = _names(kind) if dataclasses.is_dataclass(kind) else []
        names += inner or [f"--{field.name.replace('_', '-')}"]
    return names


# ---- while something runs


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


def progress_bars() -> "Bars":
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    def text(pattern: str) -> TextColumn:
        return TextColumn(pattern, markup=False)

    return Bars(  # at most 80 columns
        text("{task.description}"),
        BarColumn(bar_width=16),
        text("{task.percentage:3.0f} %"),
        text("{task.fields[rate]}"),
        TimeRemainingColumn(),
        text("left, return {task.fields[value]}"),
        console=console(),
        disable=not console().is_terminal,
    )


def progress_bar(bars: "Bars", run: "Run", label: str = "") -> "Callable[[Progress], None]":
    """A bar for one run; where there is no terminal, a line every tenth of the way.

    What the run is stands above the bar, unless a short ``label`` says it.
    """
    from rillax.experiments.training import shown

    terminal, title = console().is_terminal, label or run.title()
    if terminal and not label:
        say(f"{title}, {count(run.frames, 'frame')}, {count(run.seeds, 'seed')}")
    task = bars.add_task(label, total=run.frames, rate="compiling", value="-")
    tenths = 0

    def report(progress: "Progress") -> None:
        nonlocal tenths
        rate, value = progress.frames_per_second, shown(progress.latest_return)
        bars.update(task, completed=progress.frames, rate=_rate(rate), value=value)
        if not terminal and progress.frames * 10 // run.frames > tenths:
            tenths = progress.frames * 10 // run.frames
            say(f"{title}: {10 * tenths} %, {rate:,.0f} frames/s, return {value}")

    return report


def _rate(frames_per_second: float) -> str:
    """Frames per second in few characters.

    >>> _rate(123), _rate(32_828.4)
    ('123/s', '32.8k/s')
    """
    thousands = frames_per_second / 1000
    return f"{thousands:.1f}k/s" if thousands >= 1 else f"{frames_per_second:.0f}/s"


def say_if_slow() -> None:
    """One line if the fast compiled forms are not in use; the results are the same without."""
    from rillax._jax import kernels

    why_slow = getattr(kernels, "why_slow", None)
    if why_slow is not None and (reason := why_slow()) is not None:
        say(f"running without the fast kernels: {reason}")
