"""C text with gaps: names to fill in, and lines that belong to some learners only."""

import re
import textwrap
from string import Template
from typing import Any

_CONDITION = re.compile(r"^\?(!?)(\w+)\|(.*)$")


def fill(text: str, **values: Any) -> str:
    r"""The text with every ``$name`` replaced, and its conditional lines kept or dropped.

    A line ``?name|...`` is kept where the value is true, ``?!name|...`` where it is not.

    >>> fill("?odd|odd $n\n?!odd|even $n\n", odd=False, n=2)
    'even 2\n'
    """
    lines = []
    for line in textwrap.dedent(text).lstrip("\n").splitlines():
        if found := _CONDITION.match(line):
            negated, name, line = found.groups()
            if bool(values[name]) == bool(negated):
                continue
        lines.append(line)
    return Template("\n".join(lines) + "\n").substitute(values)


def number(value: float) -> str:
    """A setting as a C constant of either precision: ``REAL(0.99)``."""
    digits = repr(float(value))
    return f"REAL({digits})"


def indent(text: str) -> str:
    """Lines of C, as they stand in a function."""
    return "\n".join(f"    {line}" if line else "" for line in text.rstrip("\n").splitlines())
