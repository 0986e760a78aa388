"""minGRU (Feng et al., 2024): a gated recurrence whose gates see the input alone.

    u = sigmoid(U x + c),    v = W x + b,    h_t = (1 - u) h_{t-1} + u v

Gate and candidate do not depend on h_{t-1}, so J = diag(1 - u), and exact RTRL is one real array
for each of U and W:

    S_W = (1 - u) S_W + u x,    S_U = (1 - u) S_U + (v - h_{t-1}) u (1 - u) x

(b and c alike, with x = 1). What a unit retains is real and positive, so that what it is given adds
up, where the phases of an RTU turn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from rillax._jax.kernels import once
from rillax.cells.cell import Cell, Defaults, Gradient, Memory, check_recurrent
from rillax.layers import ACTIVATIONS, Activation


class MinGRUSensitivity(NamedTuple):
    """dh/dpsi. Unit k depends on row k of each matrix alone, so that one row each is all of it."""

    U: Float[Array, "units inputs"]
    W: Float[Array, "units inputs"]
    c: Float[Array, " units"]
    b: Float[Array, " units"]


class MinGRUCell(Cell):
    """The cell; its parameters are U and c of the gate, W and b of the candidate."""

    U: Float[Array, "units inputs"]
    W: Float[Array, "units inputs"]
    c: Float[Array, " units"]
    b: Float[Array, " units"]
    activation: Callable[[Array], Array] = eqx.field(static=True)

    @property
    def features(self) -> int:
        return self.b.size

    def initial_hidden(self) -> Float[Array, " units"]:
        return jnp.zeros_like(self.b)

    def gate_and_candidate(self, x: Array) -> tuple[Array, Array]:
        """U and v, each computed once: the rows of the sensitivities all read them."""

        @once
        def both(U: Array, W: Array, c: Array, b: Array, x: Array) -> tuple[Array, Array]:
            return jax.nn.sigmoid(U @ x + c), W @ x + b

        return both(self.U, self.W, self.c, self.b, x)

    def step(self, hidden: Array, x: Array) -> Float[Array, " units"]:
        u, v = self.gate_and_candidate(x)
        return hidden + u * (v - hidden)

    def read(self, hidden: Array) -> Float[Array, " units"]:
        return self.activation(hidden)

    def initial_sensitivity(self) -> MinGRUSensitivity:
        return MinGRUSensitivity(*map(jnp.zeros_like, (self.U, self.W, self.c, self.b)))

    def advance_exactly(self, memory: Memory, x: Array) -> Memory:
        (u, v), h, s = self.gate_and_candidate(x), memory.hidden, memory.sensitivity
        retained, through_gate = 1 - u, (v - h) * u * (1 - u)
        sensitivity = MinGRUSensitivity(
            U=retained[:, None] * s.U + through_gate[:, None] * x,
            W=retained[:, None] * s.W + u[:, None] * x,
            c=retained * s.c + through_gate,
            b=retained * s.b + u,
        )
        return Memory(h + u * (v - h), sensitivity)

    def contract(self, g: Array, sensitivity: MinGRUSensitivity) -> Self:
        s = sensitivity
        leaves = g[:, None] * s.U, g[:, None] * s.W, g * s.c, g * s.b
        return eqx.tree_at(lambda cell: (cell.U, cell.W, cell.c, cell.b), self, leaves)


@dataclass(frozen=True)
class MinGRU:
    """The settings of a minGRU.

    At the start a unit without input forgets half of its state in every step. With a larger
    ``timescale_max`` what units retain is spread: they remember for ``timescale_min`` to
    ``timescale_max`` steps, evenly on a logarithmic scale.

    >>> settings = MinGRU(units=3, timescale_min=2, timescale_max=200)
    >>> cell = settings.build(jax.random.key(0), inputs=4)
    >>> [round(float(1 - u), 3) for u in jax.nn.sigmoid(cell.c)]  # 1 - 1/2, 1 - 1/20, 1 - 1/200
    [0.5, 0.95, 0.995]
    """

    units: int = 192
    """How many units."""
    gradient: Gradient = "rtrl"
    """How credit reaches the past: exactly (rtrl), or through one step (tbptt)."""
    timescale_min: float = 2.0
    """Steps that the unit with the shortest memory remembers at the start, without input."""
    timescale_max: float = 2.0
    """Steps that the unit with the longest memory remembers at the start, without input."""
    features: Activation | None = None
    """The function of the state that the head reads; tanh if not given."""

    def __post_init__(self) -> None:
        check_recurrent(self.units, self.gradient)
        if not 1 < self.timescale_min <= self.timescale_max:
            raise ValueError(
                "a minGRU needs 1 < timescale_min <= timescale_max, got "
                f"{self.timescale_min} and {self.timescale_max}"
            )

    def build(self, key: PRNGKeyArray, inputs: int, defaults: Defaults = Defaults()) -> MinGRUCell:
        U, W = jax.random.normal(key, (2, self.units, inputs)) / jnp.sqrt(inputs)
        timescales = jnp.geomspace(self.timescale_min, self.timescale_max, self.units)
        c = -jnp.log(timescales - 1).astype(U.dtype)  # sigmoid(c) = 1 / timescale
        b = jnp.zeros(self.units, U.dtype)
        return MinGRUCell(U, W, c, b, ACTIVATIONS[self.features or "tanh"], gradient=self.gradient)
