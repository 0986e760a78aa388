"""What the text of every recurrent cell has.

Whatever the cell, it has the same functions, under the name that the layer has:

- ``cell_advance``: the memory after one more input, and what the layer above reads of it;
- ``cell_recall``: what is read of the memory as it stands;
- ``cell_peek``: what would be read after one more input; the memory stays;
- ``cell_back``: from the gradient of what was read to that of the state and of the input;
- ``cell_past``: from the gradient of the state to that of the vectors among the parameters;
- ``cell_past_of_peek``: the same for a peek;
- ``cell_size``: the sum of what those are, without their signs;
- ``cell_X`` for each rule X: every row of the parameters, with its gradient, given to the rule.

``ROW(n, member, gradient, gradient of the peek)`` stands for the rule's work on a row.
"""

from collections.abc import Callable
from dataclasses import dataclass

from rillax.export.rules import Row

Leaf = tuple[str, str, int]
"""A member of a C struct, the path of the JAX leaf below the cell's, and how many numbers."""


@dataclass(frozen=True)
class CellText:
    """A recurrent layer in C."""

    name: str
    """What the layer is called: ``cell``, or ``cell_1`` in a stack."""
    units: int
    inputs: int
    features: int
    weights: tuple[Leaf, ...]
    """What is learned, in the order of the struct; so is what is remembered."""
    matrices: tuple[str, ...]
    """Those of what is learned that have a row of inputs for each unit."""
    hidden: tuple[Leaf, ...]
    previous: tuple[Leaf, ...]
    sensitivity: tuple[Leaf, ...]
    structs: str
    functions: str
    past_of_peek: str
    rows: Callable[[Row], str]
    """The function that goes over the rows with a rule."""
