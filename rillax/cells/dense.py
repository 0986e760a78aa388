"""Cells whose units all see each other, so that exact RTRL must carry a dense S: O(n^4) a step.

They are here as the paper's baselines under TBPTT(1), and to show what RTRL costs without a
diagonal recurrence. The equations are equinox's.
"""

from dataclasses import dataclass
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from rillax.cells.cell import Cell, Defaults, Gradient, Memory, check_recurrent


class DenseCell(Cell):
    """Exact RTRL for any cell whose hidden state is one array, by its two Jacobians.

    A cell of your own that subclasses this needs ``features``, ``initial_hidden``, ``step`` and
    ``read``; gradients through all of time follow. The sensitivity has as many numbers as the
    hidden state times the parameters, so this is for small cells.
    """

    def initial_sensitivity(self) -> Self:
        """A tree like the cell; each leaf has the axes of the hidden state in front of its own."""
        shape = self.initial_hidden().shape
        return jax.tree.map(lambda p: jnp.zeros(shape + p.shape, p.dtype), self)

    def advance_exactly(self, memory: Memory, x: Array) -> Memory:
        h = memory.hidden
        immediate = jax.jacrev(lambda cell: cell.step(h, x))(self)
        jacobian = jax.jacrev(lambda h: self.step(h, x))(h)
        sensitivity = jax.tree.map(
            lambda new, old: new + jnp.tensordot(jacobian, old, axes=h.ndim),
            immediate,
            memory.sensitivity,
        )
        return Memory(self.step(h, x), sensitivity)

    def contract(self, g: Array, sensitivity: Self) -> Self:
        return jax.tree.map(lambda s: jnp.tensordot(g, s, axes=g.ndim), sensitivity)


class GRUCell(DenseCell):
    """The gated recurrent unit (Cho et al., 2014)."""

    gates: eqx.nn.GRUCell

    @property
    def features(self) -> int:
        return self.gates.hidden_size

    def initial_hidden(self) -> Float[Array, " units"]:
        return jnp.zeros(self.gates.hidden_size, self.gates.weight_ih.dtype)

    def step(self, hidden: Float[Array, " units"], x: Array) -> Float[Array, " units"]:
        return self.gates(x, hidden)

    def read(self, hidden: Float[Array, " units"]) -> Array:
        return hidden


class LSTMCell(DenseCell):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997); the hidden state is [h, c]."""

    gates: eqx.nn.LSTMCell

    @property
    def features(self) -> int:
        return self.gates.hidden_size

    def initial_hidden(self) -> Float[Array, "2 units"]:
        return jnp.zeros((2, self.gates.hidden_size), self.gates.weight_ih.dtype)

    def step(self, hidden: Float[Array, "2 units"], x: Array) -> Float[Array, "2 units"]:
        return jnp.stack(self.gates(x, (hidden[0], hidden[1])))

    def read(self, hidden: Float[Array, "2 units"]) -> Array:
        return hidden[0]


@dataclass(frozen=True)
class _Dense:
    """What the settings of both have in common."""

    units: int = 192
    """How many units."""
    gradient: Gradient = "rtrl"
    """How credit reaches the past: exactly (rtrl, at O(n^4)), or through one step (tbptt)."""

    def __post_init__(self) -> None:
        check_recurrent(self.units, self.gradient)


@dataclass(frozen=True)
class GRU(_Dense):
    """The settings of a gated recurrent unit."""

    def build(self, key: PRNGKeyArray, inputs: int, defaults: Defaults = Defaults()) -> GRUCell:
        return GRUCell(eqx.nn.GRUCell(inputs, self.units, key=key), gradient=self.gradient)


@dataclass(frozen=True)
class LSTM(_Dense):
    """The settings of a long short-term memory."""

    def build(self, key: PRNGKeyArray, inputs: int, defaults: Defaults = Defaults()) -> LSTMCell:
        return LSTMCell(eqx.nn.LSTMCell(inputs, self.units, key=key), gradient=self.gradient)
