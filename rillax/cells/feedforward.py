"""The cell that forgets: the paper's feed-forward baseline."""

from collections.abc import Callable
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rillax.cells.cell import Cell, Memory


class FeedForward(Cell):
    """A dense layer in the place of a recurrence.

    Without a past, the derivative of one step is the whole derivative: RTRL and TBPTT(1) are the
    same thing here, and no sensitivity is carried under either name.
    """

    linear: eqx.nn.Linear
    activation: Callable[[Array], Array] = eqx.field(static=True, default=jax.nn.leaky_relu)

    @property
    def features(self) -> int:
        return self.linear.weight.shape[0]

    def initial_hidden(self) -> Float[Array, " units"]:
        return jnp.zeros(self.features, self.linear.weight.dtype)

    def step(self, hidden: Float[Array, " units"], x: Array) -> Float[Array, " units"]:
        return self.linear(x)

    def read(self, hidden: Float[Array, " units"]) -> Array:
        return self.activation(hidden)

    def initial_sensitivity(self) -> None:
        return None

    def advance_exactly(self, memory: Memory, x: Array) -> Memory:
        raise AssertionError("a feed-forward cell carries no sensitivity")

    def contract(self, g: Array, sensitivity: None) -> Self:
        raise AssertionError("a feed-forward cell carries no sensitivity")
