"""The cell that forgets: the paper's feed-forward baseline."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from rillax.cells.cell import Cell, Defaults, Memory
from rillax.layers import ACTIVATIONS, layer_norm, sparse_linear


class FeedForwardCell(Cell):
    """A dense layer in the place of a recurrence.

    Without a past, the derivative of one step is the whole derivative: RTRL and TBPTT(1) are the
    same thing here, and no sensitivity is carried under either name.
    """

    linear: eqx.nn.Linear
    activation: Callable[[Array], Array] = eqx.field(static=True)

    @property
    def features(self) -> int:
        return self.linear.weight.shape[0]

    def initial_hidden(self) -> Float[Array, " units"]:
        return jnp.zeros(self.features, self.linear.weight.dtype)

    def step(self, hidden: Float[Array, " units"], x: Array) -> Float[Array, " units"]:
        return self.linear(x)

    def read(self, hidden: Float[Array, " units"]) -> Array:
        return self.activation(layer_norm(hidden))

    def initial_sensitivity(self) -> None:
        return None

    def advance_exactly(self, memory: Memory, x: Array) -> Memory:
        raise AssertionError("a feed-forward cell carries no sensitivity")

    def contract(self, g: Array, sensitivity: None) -> Self:
        raise AssertionError("a feed-forward cell carries no sensitivity")


@dataclass(frozen=True)
class FeedForward:
    """The settings of a dense layer in the place of a recurrence: LayerNorm and activation."""

    units: int = 192
    """How many units."""

    def __post_init__(self) -> None:
        if self.units < 1:
            raise ValueError(f"units must be at least 1, got {self.units}")

    def build(
        self, key: PRNGKeyArray, inputs: int, defaults: Defaults = Defaults()
    ) -> FeedForwardCell:
        linear = sparse_linear(inputs, self.units, defaults.sparsity, key=key)
        return FeedForwardCell(linear, ACTIVATIONS[defaults.activation])
