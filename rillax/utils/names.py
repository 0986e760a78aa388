"""The error for a name that is not there: what was wrong, and what there is."""

import difflib
from collections.abc import Iterable


def choose(what: str, name: str, choices: Iterable[str]) -> None:
    """Raise a ValueError that lists the choices, unless ``name`` is one of them.

    >>> choose("cell", "grus", ["gru", "lstm"])
    Traceback (most recent call last):
    ValueError: unknown cell 'grus'; did you mean gru? choose from: gru, lstm
    """
    choices = list(choices)
    if name in choices:
        return
    close = difflib.get_close_matches(name, choices, n=3)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    raise ValueError(f"unknown {what} {name!r}; {hint}choose from: {', '.join(choices)}")
