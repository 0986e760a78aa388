"""A recurrent cell of your own: an Elman network, trained by exact RTRL.

rillax train --cell my_cells:Elman --units 8 --env MemoryChain --length 4
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from rillax.cells import Defaults, DenseCell, Gradient


class ElmanCell(DenseCell):
    """h' = tanh(W h + U x + b). DenseCell carries its sensitivity; nothing else is to be done."""

    W: Float[Array, "units units"]
    U: Float[Array, "units inputs"]
    b: Float[Array, " units"]

    @property
    def features(self) -> int:
        return self.b.size

    def initial_hidden(self) -> Array:
        return jnp.zeros_like(self.b)

    def step(self, hidden: Array, x: Array) -> Array:
        return jnp.tanh(self.W @ hidden + self.U @ x + self.b)

    def read(self, hidden: Array) -> Array:
        return hidden


@dataclass(frozen=True)
class Elman:
    """The settings: what a network is given, what config.json holds, and the flags."""

    units: int = 8
    """How many units."""
    gradient: Gradient = "rtrl"
    """How credit reaches the past: exactly (rtrl), or through one step (tbptt)."""
    memory: float = 0.9
    """Spectral norm of W at the start: closer to 1 remembers longer."""

    def build(self, key: Array, inputs: int, defaults: Defaults = Defaults()) -> ElmanCell:
        key_W, key_U = jax.random.split(key)
        W, _ = jnp.linalg.qr(jax.random.normal(key_W, (self.units, self.units)))
        U = jax.random.normal(key_U, (self.units, inputs)) / jnp.sqrt(inputs)
        return ElmanCell(self.memory * W, U, jnp.zeros(self.units), gradient=self.gradient)
