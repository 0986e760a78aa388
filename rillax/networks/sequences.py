"""A network along a stretch of its stream: memories moved, with or without sensitivities."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from rillax.networks.network import Memories, Network, hiddens


def along(
    network: Network,
    hidden: Any,
    observation: Float[Array, "length ..."],
    fresh: Bool[Array, " length"],
    seen: Bool[Array, " length"],
) -> Float[Array, "length outputs"]:
    """What a network puts out along a sequence before which its states were ``hidden``."""

    def step(hidden: Any, inputs: tuple[Array, Array, Array]) -> Any:
        x, fresh, seen = inputs
        after = []
        for cell, state in zip(network.layers, hidden, strict=True):
            before = where(fresh, cell.initial_hidden(), state)
            after.append(where(seen, cell.step(before, x), before))
            x = cell.read(after[-1])
        return tuple(after), tuple(after)

    inputs = (jax.vmap(network.encoder)(observation), fresh, seen)
    _, hidden = jax.lax.scan(step, hidden, inputs)
    return jax.vmap(network.output)(hidden, observation)


def move(
    network: Network, memories: Memories, o: Array, fresh: Bool[Array, ""], seen: Bool[Array, ""]
) -> Memories:
    """The memories after one more observation; blank before it if ``fresh``, as they were if not
    ``seen``.
    """
    blank = tuple(
        new if old.sensitivity is not None else new._replace(sensitivity=None)
        for new, old in zip(network.initial_memory(), memories, strict=True)
    )
    before = where(fresh, blank, memories)
    return where(seen, network.advance(before, o), before)


def read(network: Network, memories: Memories, observation: Array) -> Float[Array, " outputs"]:
    """The outputs, of memories that have taken this observation in."""
    return network.output(hiddens(memories), observation)


def hidden_alone(memories: Memories) -> Memories:
    """The memories without their sensitivities: acting needs no more."""
    return tuple(memory._replace(sensitivity=None) for memory in memories)


def where(condition: Bool[Array, ""], yes: Any, no: Any) -> Any:
    return jax.tree.map(lambda y, n: jnp.where(condition, y, n), yes, no)
