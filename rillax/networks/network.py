"""Networks: encoder, cell, head (Section 3 of the paper), and how they are built.

A network is an ordinary function of one observation. The gradient through time hides in
``rillax.cells.remember``; nothing here or above ever handles a sensitivity.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from rillax._jax.kernels import kept, once
from rillax.cells import (
    GRU,
    LSTM,
    Cell,
    Correction,
    FeedForward,
    Gradient,
    LinearRTU,
    Memory,
    NonlinearRTU,
    past,
    remember,
)
from rillax.utils.names import choose

Activation = Literal["leaky_relu", "tanh"]
CellName = Literal["rtu", "rtu_nonlinear", "gru", "lstm", "feedforward"]

_ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "leaky_relu": jax.nn.leaky_relu,
    "tanh": jnp.tanh,
}


def layer_norm(x: Float[Array, " n"]) -> Float[Array, " n"]:
    """LayerNorm (Ba et al., 2016) without scale or bias."""
    centred = x - jnp.mean(x)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred)) + 1e-5)


def sparse_linear(
    inputs: int, outputs: int, sparsity: float, *, key: PRNGKeyArray
) -> eqx.nn.Linear:
    """A dense layer with sparse initialisation (Elsayed et al., 2024).

    Of each unit's incoming weights ceil(sparsity * inputs) are zero and the others uniform on
    +-1/sqrt(inputs); biases are zero. At least one weight stays, or a layer with three inputs would
    start out seeing none of them.
    """
    zeros = min(math.ceil(sparsity * inputs), inputs - 1)
    weight, order = jax.random.uniform(key, (2, outputs, inputs))
    _, kept = jax.lax.top_k(order, inputs - zeros)
    mask = jnp.zeros_like(weight).at[jnp.arange(outputs)[:, None], kept].set(1)
    layer = eqx.nn.Linear(inputs, outputs, key=key)
    leaves = mask * (2 * weight - 1) / math.sqrt(inputs), jnp.zeros_like(weight[:, 0])
    return eqx.tree_at(lambda layer: (layer.weight, layer.bias), layer, leaves)


class Block(eqx.Module):
    """Dense layer, LayerNorm, activation; any shape in, a vector out."""

    linear: eqx.nn.Linear
    activation: Callable[[Array], Array] = eqx.field(static=True)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " width"]:
        return self.activation(layer_norm(self.linear(x.ravel())))


class Head(eqx.Module):
    """A hidden block, then the outputs."""

    block: Block
    linear: eqx.nn.Linear

    def __call__(self, features: Float[Array, " features"]) -> Float[Array, " outputs"]:
        return self.linear(self.block(features))


class Brought(eqx.Module):
    """A module that a user brings as encoder: its arrays are leaves, all else is static."""

    arrays: Any
    rest: Any = eqx.field(static=True)

    def __init__(self, module: Callable[[Array], Array]):
        self.arrays, self.rest = eqx.partition(module, eqx.is_inexact_array)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " inputs"]:
        return eqx.combine(self.arrays, self.rest)(x)


class Network(eqx.Module):
    """Observation to outputs, by way of a memory that the caller holds.

    ``memory = network.advance(previous, observation)`` moves the memory; ``network(observation,
    previous.hidden, memory)`` reads it, and is what to differentiate; ``network.peek(observation,
    memory)`` reads what it would be after one more.
    """

    encoder: Callable[[Array], Array]
    cell: Cell
    head: Head
    learn_encoder: bool = eqx.field(static=True, default=True)
    update_every: int = eqx.field(static=True, default=1)
    cell_step: float = eqx.field(static=True, default=1.0)

    def initial_memory(self) -> Memory:
        return self.cell.initial_memory()

    def advance(self, memory: Memory, observation: Array) -> Memory:
        return self.cell.advance(memory, self.encoder(observation))

    def __call__(
        self, observation: Array, previous: Any, memory: Memory
    ) -> Float[Array, " outputs"]:
        hidden = remember(self.cell, self.encoder(observation), previous, memory)
        return self._judge(hidden)

    def peek(self, observation: Array, memory: Memory) -> Float[Array, " outputs"]:
        """What the outputs would be after one more observation; the memory stays where it is."""
        hidden = self.cell.step(past(self.cell, memory), self.encoder(observation))
        return self._judge(hidden)

    def _judge(self, hidden: Any) -> Float[Array, " outputs"]:
        # Read once: else every row of the head's weights would compute the features anew.
        return self.head(once(lambda hidden: self.cell.read(hidden))(hidden))


def split(network: Network) -> tuple[Network, Network]:
    """The part that learns and the part that does not; ``equinox.combine`` joins them again."""
    learns = jax.tree.map(eqx.is_inexact_array, network)
    frozen = jax.tree.map(lambda _: network.learn_encoder, learns.encoder)
    return eqx.partition(network, eqx.tree_at(lambda n: n.encoder, learns, frozen))


def pick(values: Float[Array, " n"], which: Int[Array, ""]) -> Float[Array, ""]:
    """One of some values; as a sum, whose gradient is a product where an index's is a scatter."""
    return jnp.sum(jnp.where(jnp.arange(values.size) == which, values, 0))


class Stream(NamedTuple):
    """A network on a stream: what it is, what it remembers, and the hidden state before that."""

    network: Network
    memory: Memory
    previous: Any
    clock: Int[Array, ""] | None = None
    """Updates since the recurrent parameters changed; None where every update changes them."""


def start(network: Network) -> Stream:
    memory = network.initial_memory()
    clock = None if network.update_every == 1 else jnp.int32(0)
    return Stream(network, memory, memory.hidden, clock)


def streams(state: Any) -> dict[str, Stream]:
    """The networks in an agent's state, by name."""
    return {n: s for n, s in state._asdict().items() if isinstance(s, Stream)}


def advance(stream: Stream, observation: Array, fresh: Bool[Array, ""]) -> Stream:
    """Take in an observation, from a blank memory if the episode is ``fresh``.

    Blanking here rather than when the episode ends keeps it in the same pass over the arrays.
    """
    blank = stream.network.initial_memory()
    before = jax.tree.map(lambda new, old: jnp.where(fresh, new, old), blank, stream.memory)
    memory = stream.network.advance(before, observation)
    return stream._replace(memory=memory, previous=before.hidden)


def learn(stream: Stream, update: Network) -> Stream:
    """The stream after an update to what learns, its memory moved along by the cell's correction.

    Recurrent parameters take ``cell_step`` times their part of it. With ``update_every`` m > 1,
    only every m-th update reaches them, and they are held fixed in between (Appendix C, "Periodic
    updates").
    """
    before = stream.network
    if before.cell_step != 1:
        slower = jax.tree.map(lambda by: before.cell_step * by, update.cell)
        update = eqx.tree_at(lambda n: n.cell, update, slower)
    if stream.clock is not None:
        due = stream.clock == before.update_every - 1
        cell = jax.tree.map(lambda by: jnp.where(due, by, 0), update.cell)
        update = eqx.tree_at(lambda n: n.cell, update, cell)
        stream = stream._replace(clock=jnp.where(due, 0, stream.clock + 1))
    if before.cell.moves_memory:
        update = eqx.tree_at(lambda n: n.cell, update, kept(update.cell))
    learns, frozen = split(before)
    network = eqx.combine(optax.apply_updates(learns, update), frozen)
    memory = before.cell.transport(stream.memory, network.cell, update.cell)
    return stream._replace(network=network, memory=memory)


EncoderFactory = Callable[[PRNGKeyArray, tuple[int, ...]], Callable[[Array], Array]]
"""(key, shape of an observation) -> a module from one observation to a vector."""


@dataclass(frozen=True)
class Architecture:
    """Every number of a network (Appendix A). ``build`` makes one."""

    cell: CellName = "rtu"
    gradient: Gradient = "rtrl"
    width: int = 64
    """Units of the encoder and of the head's hidden layer."""
    hidden: int = 192
    """Units of the cell; an RTU's are complex, so it gives twice as many features."""
    activation: Activation = "leaky_relu"
    sparsity: float = 0.9
    """Share of the weights of encoder and head that start at zero."""
    reader_sparsity: float | None = None
    """The same for the layer that reads the cell alone; None: as the others."""
    r_min: float = 0.0
    """RTU: smallest initial r = |lambda|."""
    r_max: float = 1.0
    """RTU: largest initial r."""
    phase_min: float = 0.0
    """RTU: smallest initial phase."""
    phase_max: float = 2 * math.pi
    """RTU: largest initial phase."""
    gain: bool = True
    """RTU: scale the input by gamma = sqrt(1 - r^2)."""
    correction: Correction = "none"
    """RTU: what is done about stale sensitivities (docs/staleness.md)."""
    cell_step: float = 1.0
    """Steps of the recurrent parameters are so many times those of the others."""
    update_every: int = 1
    """Only every so manieth update changes the recurrent parameters."""
    encoder: EncoderFactory | None = None
    """A module of your own in the encoder's place."""
    learn_encoder: bool = True
    """Whether the encoder learns or stays as it was built."""

    def __post_init__(self) -> None:
        choose("cell", self.cell, get_args(CellName))
        choose("gradient", self.gradient, get_args(Gradient))
        choose("activation", self.activation, get_args(Activation))
        choose("correction", self.correction, get_args(Correction))
        if self.correction != "none":
            self._check_correction()
        for name in ("width", "hidden", "update_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("sparsity", "reader_sparsity"):
            if not 0 <= (getattr(self, name) or 0) < 1:
                raise ValueError(f"{name} must be in [0, 1), got {getattr(self, name)}")
        if self.cell_step < 0:
            raise ValueError(f"cell_step must be at least 0, got {self.cell_step}")

    def _check_correction(self) -> None:
        of_rtu = self.cell in ("rtu", "rtu_nonlinear") and self.gradient == "rtrl"
        if not of_rtu or (self.correction == "exact" and self.cell != "rtu"):
            cells = "rtu" if self.correction == "exact" else "rtu or rtu_nonlinear"
            raise ValueError(
                f"the correction {self.correction!r} is for the cell {cells} with the gradient "
                f"rtrl, got {self.cell} with {self.gradient}"
            )

    def build(self, key: PRNGKeyArray, observation_shape: tuple[int, ...], outputs: int) -> Network:
        key_encoder, key_cell, key_hidden, key_out = jax.random.split(key, 4)
        encoder = self._encoder(key_encoder, observation_shape)
        cell = self._cell(key_cell, _output_size(encoder, observation_shape))
        reader = self.sparsity if self.reader_sparsity is None else self.reader_sparsity
        hidden = sparse_linear(cell.features, self.width, reader, key=key_hidden)
        out = sparse_linear(self.width, outputs, self.sparsity, key=key_out)
        head = Head(Block(hidden, _ACTIVATIONS[self.activation]), out)
        return Network(encoder, cell, head, self.learn_encoder, self.update_every, self.cell_step)

    def _encoder(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Callable[[Array], Array]:
        if self.encoder is not None:
            return Brought(self.encoder(key, shape))
        linear = sparse_linear(math.prod(shape), self.width, self.sparsity, key=key)
        return Block(linear, _ACTIVATIONS[self.activation])

    def _cell(self, key: PRNGKeyArray, inputs: int) -> Cell:
        activation = _ACTIVATIONS[self.activation]
        if self.cell in ("rtu", "rtu_nonlinear"):
            return (LinearRTU if self.cell == "rtu" else NonlinearRTU)(
                inputs,
                self.hidden,
                key=key,
                activation=activation,
                gradient=self.gradient,
                r_min=self.r_min,
                r_max=self.r_max,
                phase_min=self.phase_min,
                phase_max=self.phase_max,
                gain=self.gain,
                correction=self.correction,
            )
        if self.cell == "feedforward":
            return FeedForward(
                sparse_linear(inputs, self.hidden, self.sparsity, key=key),
                activation=lambda x: activation(layer_norm(x)),
            )
        dense = GRU if self.cell == "gru" else LSTM
        return dense(inputs, self.hidden, key=key, gradient=self.gradient)


def _output_size(encoder: Callable[[Array], Array], shape: tuple[int, ...]) -> int:
    out = jax.eval_shape(encoder, jax.ShapeDtypeStruct(shape, jnp.float32))
    if len(out.shape) != 1:
        raise ValueError(f"an encoder must return a vector, but this one returns shape {out.shape}")
    return out.shape[0]
