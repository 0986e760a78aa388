"""What every recurrent cell offers, and the one place where its gradient through time enters.

A cell's memory is a value: the hidden state and, under real-time recurrent learning (RTRL), its
sensitivity S = dh/dpsi to the cell's parameters psi. ``advance`` moves both one step. ``remember``
reads the hidden state in a way that differentiates as if the whole history were in view, so that
``jax.grad`` of any scalar of a network is the paper's per-step gradient.
"""

import abc
from typing import Any, Literal, NamedTuple, Protocol, Self, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from rillax.layers import Activation
from rillax.utils.names import choose

Gradient = Literal["rtrl", "tbptt"]
"""How credit reaches the past: exactly (RTRL), or through one step (TBPTT(1))."""

Hidden = Any
Sensitivity = Any


class Memory(NamedTuple):
    """All a cell remembers of the past; ``sensitivity`` is None under TBPTT(1)."""

    hidden: Hidden
    sensitivity: Sensitivity
    second: Any = None
    """Second-order terms, where a staleness correction is on."""


class Cell(eqx.Module):
    """A recurrent cell h_t = step(h_{t-1}, x_t) whose array leaves are its parameters psi."""

    gradient: Gradient = eqx.field(static=True, kw_only=True, default="rtrl")

    @property
    @abc.abstractmethod
    def features(self) -> int:
        """How many numbers ``read`` gives to the head."""

    @abc.abstractmethod
    def initial_hidden(self) -> Hidden:
        """The hidden state before the first input."""

    @abc.abstractmethod
    def step(self, hidden: Hidden, x: Float[Array, " inputs"]) -> Hidden:
        """The one-step function f(h, x; psi)."""

    @abc.abstractmethod
    def read(self, hidden: Hidden) -> Float[Array, " features"]:
        """What the head sees of the hidden state."""

    @abc.abstractmethod
    def initial_sensitivity(self) -> Sensitivity:
        """The sensitivity of the initial hidden state: zero."""

    @abc.abstractmethod
    def advance_exactly(self, memory: Memory, x: Float[Array, " inputs"]) -> Memory:
        """One step of the hidden state and of S_t = J_t S_{t-1} + I_t."""

    @abc.abstractmethod
    def contract(self, g: Hidden, sensitivity: Sensitivity) -> Self:
        """dL/dh times S: the gradient of L for every parameter, through all of time."""

    def jacobian(self, sensitivity: Sensitivity) -> Any:
        """All of dh/dpsi, where ``sensitivity`` leaves out what follows from the rest."""
        return sensitivity

    @property
    def moves_memory(self) -> bool:
        """Whether ``transport`` goes over the sensitivities."""
        return False

    def transport(self, memory: Memory, after: Self, change: Any = None) -> Memory:
        """The memory, when the cell's parameters have just become those of ``after``.

        Only a staleness correction moves it; otherwise it stays, and grows stale. ``change`` is the
        difference of the two, if it is known: then the old parameters need not be kept for it.
        """
        return memory

    def initial_memory(self) -> Memory:
        exact = self.gradient == "rtrl"
        return Memory(self.initial_hidden(), self.initial_sensitivity() if exact else None)

    def advance(self, memory: Memory, x: Float[Array, " inputs"]) -> Memory:
        """The memory after one more input."""
        if memory.sensitivity is None:
            return Memory(self.step(memory.hidden, x), None)
        return self.advance_exactly(memory, x)


class Defaults(NamedTuple):
    """What a cell takes from the network around it, where its own settings leave it open."""

    activation: Activation = "leaky_relu"
    sparsity: float = 0.9


class CellSettings(Protocol):
    """The settings of a cell: a frozen dataclass that knows how to become one.

    A user's own needs no more than ``build``. A field ``units`` is what ``--units`` sets.
    """

    def build(self, key: PRNGKeyArray, inputs: int, defaults: Defaults = ...) -> Cell:
        """A cell that takes in vectors of ``inputs`` numbers."""
        ...


def check_recurrent(units: int, gradient: str) -> None:
    """What the settings of every recurrent cell have in common."""
    if units < 1:
        raise ValueError(f"units must be at least 1, got {units}")
    choose("gradient", gradient, get_args(Gradient))


@jax.custom_vjp
def remember(cell: Cell, x: Array, previous: Hidden, memory: Memory) -> Hidden:
    """The hidden state at t, given ``memory = cell.advance(Memory(previous, ...), x)``.

    Its value costs nothing: it is ``memory.hidden``. Its derivative with respect to the cell
    reaches through all of time by way of the sensitivity, or through one step where the memory
    carries none; its derivative with respect to ``x``, and so to the encoder, is that of the last
    step alone.
    """
    return memory.hidden


def _forward(
    cell: Cell, x: Array, previous: Hidden, memory: Memory
) -> tuple[Hidden, tuple[Cell, Array, Hidden, Sensitivity]]:
    return memory.hidden, (cell, x, previous, memory.sensitivity)


def _backward(residuals: tuple[Cell, Array, Hidden, Sensitivity], g: Hidden) -> tuple:
    cell, x, previous, sensitivity = residuals
    if sensitivity is None:
        d_cell, d_x = jax.vjp(lambda cell, x: cell.step(previous, x), cell, x)[1](g)
    else:
        d_cell = cell.contract(g, sensitivity)
        (d_x,) = jax.vjp(lambda x: cell.step(previous, x), x)[1](g)
    return d_cell, d_x, None, None


remember.defvjp(_forward, _backward)


@jax.custom_vjp
def past(cell: Cell, memory: Memory) -> Hidden:
    """The hidden state, where a stretch begins that is differentiated step by step.

    Its derivative with respect to the cell is that of its whole past, or none where the memory
    carries no sensitivity. So ``cell.step`` of it has the derivative that ``remember`` has after
    ``cell.advance``, g S_t = (g J_t) S_{t-1} + g I_t, and S_t itself is not computed.
    """
    return memory.hidden


def _past_forward(cell: Cell, memory: Memory) -> tuple[Hidden, tuple[Cell, Sensitivity]]:
    return memory.hidden, (cell, memory.sensitivity)


def _past_backward(residuals: tuple[Cell, Sensitivity], g: Hidden) -> tuple:
    cell, sensitivity = residuals
    return None if sensitivity is None else cell.contract(g, sensitivity), None


past.defvjp(_past_forward, _past_backward)


@jax.custom_vjp
def recall(cell: Cell, memories: Memory, indices: Int[Array, " chosen"]) -> Hidden:
    """``past`` for some memories out of a store of them."""
    return jax.tree.map(lambda leaf: leaf[indices], memories.hidden)


def _recall_forward(cell: Cell, memories: Memory, indices: Array) -> tuple[Hidden, tuple]:
    return recall(cell, memories, indices), (cell, memories.sensitivity, indices)


def _recall_backward(residuals: tuple[Cell, Sensitivity, Array], g: Hidden) -> tuple:
    cell, sensitivities, indices = residuals
    if sensitivities is None:
        return None, None, None

    def add(i: Array, total: Cell) -> Cell:
        """One at a time, straight from the store: a batch of them would not fit in the cache."""
        g_i = jax.tree.map(lambda leaf: leaf[i], g)
        sensitivity = jax.tree.map(lambda leaf: leaf[indices[i]], sensitivities)
        return jax.tree.map(jnp.add, total, cell.contract(g_i, sensitivity))

    nothing = jax.tree.map(jnp.zeros_like, cell)
    return jax.lax.fori_loop(0, len(indices), add, nothing), None, None


recall.defvjp(_recall_forward, _recall_backward)
