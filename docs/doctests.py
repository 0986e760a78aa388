"""An extension of griffe: the doctests of a docstring are shown as code."""

from typing import Any

import griffe


class Doctests(griffe.Extension):
    """Puts a fence around each paragraph that begins with ``>>>``."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The text with fences around its doctests."""
    paragraphs = text.split("\n\n")
    shown = [f"```pycon\n{p}\n```" if p.lstrip().startswith(">>>") else p for p in paragraphs]
    return "\n\n".join(shown)
