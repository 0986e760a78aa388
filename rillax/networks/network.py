"""A network on a stream: encoder, recurrent layers, head (Section 3 of the paper).

A network is an ordinary function of one observation. The gradient through time hides in
``rillax.cells.remember``; nothing here or above ever handles a sensitivity.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int

from rillax._jax.kernels import kept, once
from rillax.cells import Cell, Memory, past, remember
from rillax.layers import Block

Memories = tuple[Memory, ...]
"""What each recurrent layer remembers."""
Hiddens = tuple[Any, ...]
"""The hidden state of each recurrent layer."""


class Head(eqx.Module):
    """Hidden blocks, if there are any, then the outputs."""

    blocks: tuple[Block, ...]
    linear: eqx.nn.Linear
    direct: int = eqx.field(static=True, default=0)
    """How many numbers of what comes in the outputs read as well, next to the last features."""

    def __call__(
        self, features: Float[Array, " features"], observation: Float[Array, "..."]
    ) -> Float[Array, " outputs"]:
        for block in self.blocks:
            features = block(features)
        if self.direct:
            features = jnp.concatenate([features, observation.ravel()[: self.direct]])
        return self.linear(features)


class Network(eqx.Module):
    """Observation to outputs, by way of memories that the caller holds.

    ``memory = network.advance(previous, observation)`` moves the memories; ``network(observation,
    hiddens(previous), memory)`` reads them, and is what to differentiate;
    ``network.peek(observation, memory)`` reads what they would be after one more.

    Each layer reads the features of the one below. The gradient is exact within a layer and
    reaches one step back between layers (Zucchet et al., 2023).
    """

    encoder: Callable[[Array], Array]
    layers: tuple[Cell, ...]
    head: Head
    learn_encoder: bool = eqx.field(static=True, default=True)
    update_every: int = eqx.field(static=True, default=1)
    cell_step: float = eqx.field(static=True, default=1.0)

    def initial_memory(self) -> Memories:
        return tuple(cell.initial_memory() for cell in self.layers)

    def advance(self, memories: Memories, observation: Array) -> Memories:
        x = self.encoder(observation)
        after: list[Memory] = []
        for cell, memory in zip(self.layers, memories, strict=True):
            if after:
                x = self._read_below(len(after), after[-1].hidden)
            after.append(cell.advance(memory, x))
        return tuple(after)

    def __call__(
        self, observation: Array, previous: Hiddens, memories: Memories
    ) -> Float[Array, " outputs"]:
        x = self.encoder(observation)
        for cell, before, memory in zip(self.layers, previous, memories, strict=True):
            x = _read(cell, remember(cell, x, before, memory))
        return self.head(x, observation)

    def peek(self, observation: Array, memories: Memories) -> Float[Array, " outputs"]:
        """What the outputs would be after one more observation; the memories stay."""
        x = self.encoder(observation)
        for cell, memory in zip(self.layers, memories, strict=True):
            x = _read(cell, cell.step(past(cell, memory), x))
        return self.head(x, observation)

    def inputs(self, observation: Array, memories: Memories) -> list[Array]:
        """What each layer takes in, given the memories that have taken it in."""
        below = [self._read_below(i, memories[i - 1].hidden) for i in range(1, len(self.layers))]
        return [self.encoder(observation), *below]

    def output(self, states: Hiddens, observation: Array) -> Float[Array, " outputs"]:
        """The outputs, given the state of every layer after an observation."""
        return self.head(self.layers[-1].read(states[-1]), observation)

    def _read_below(self, layer: int, hidden: Any) -> Array:
        return _read(self.layers[layer - 1], hidden)


def _read(cell: Cell, hidden: Any) -> Array:
    # Read once: else every row of the weights behind would compute the features anew.
    return once(lambda hidden: cell.read(hidden))(hidden)


def hiddens(memories: Memories) -> Hiddens:
    return tuple(memory.hidden for memory in memories)


def split(network: Network) -> tuple[Network, Network]:
    """The part that learns and the part that does not; ``equinox.combine`` joins them again."""
    learns = jax.tree.map(eqx.is_inexact_array, network)
    frozen = jax.tree.map(lambda _: network.learn_encoder, learns.encoder)
    return eqx.partition(network, eqx.tree_at(lambda n: n.encoder, learns, frozen))


def pick(values: Float[Array, " n"], which: Int[Array, ""]) -> Float[Array, ""]:
    """One of some values; as a sum, whose gradient is a product where an index's is a scatter."""
    return jnp.sum(jnp.where(jnp.arange(values.size) == which, values, 0))


class Stream(NamedTuple):
    """A network on a stream: what it is, what it remembers, and the hidden states before that."""

    network: Network
    memory: Memories
    previous: Hiddens
    clock: Int[Array, ""] | None = None
    """Updates since the recurrent parameters changed; None where every update changes them."""


def start(network: Network) -> Stream:
    memory = network.initial_memory()
    clock = None if network.update_every == 1 else jnp.int32(0)
    return Stream(network, memory, hiddens(memory), clock)


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
    return stream._replace(memory=memory, previous=hiddens(before))


def learn(stream: Stream, update: Network) -> Stream:
    """The stream after an update to what learns, its memories moved along by any correction.

    Recurrent parameters take ``cell_step`` times their part of it. With ``update_every`` m > 1,
    only every m-th update reaches them, and they are held fixed in between (Appendix C, "Periodic
    updates").
    """
    before = stream.network
    if before.cell_step != 1:
        update = _of_layers(update, lambda by: before.cell_step * by)
    if stream.clock is not None:
        due = stream.clock == before.update_every - 1
        update = _of_layers(update, lambda by: jnp.where(due, by, 0))
        stream = stream._replace(clock=jnp.where(due, 0, stream.clock + 1))
    if any(cell.moves_memory for cell in before.layers):
        update = eqx.tree_at(lambda n: n.layers, update, kept(update.layers))
    learns, frozen = split(before)
    network = eqx.combine(optax.apply_updates(learns, update), frozen)
    memory = tuple(
        cell.transport(memory, after, change)
        for cell, memory, after, change in zip(
            before.layers, stream.memory, network.layers, update.layers, strict=True
        )
    )
    return stream._replace(network=network, memory=memory)


def _of_layers(update: Network, change: Callable[[Array], Array]) -> Network:
    """The update with the part of the recurrent layers changed."""
    return eqx.tree_at(lambda n: n.layers, update, jax.tree.map(change, update.layers))
