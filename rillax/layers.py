"""Dense layers as streaming networks want them: sparse initialisation, LayerNorm, activations."""

import math
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

Activation = Literal["leaky_relu", "tanh"]
Initialisation = Literal["sparse", "sparse_blind", "orthogonal"]
"""How dense layers start. ``sparse_blind`` may leave a unit without inputs, as the paper's code."""

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "leaky_relu": jax.nn.leaky_relu,
    "tanh": jnp.tanh,
}


def layer_norm(x: Float[Array, " n"]) -> Float[Array, " n"]:
    """LayerNorm (Ba et al., 2016) without scale or bias."""
    centred = x - jnp.mean(x)
    return centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred)) + 1e-5)


def linear(
    inputs: int,
    outputs: int,
    sparsity: float,
    initialisation: Initialisation = "sparse",
    gain: float = math.sqrt(2),
    *,
    key: PRNGKeyArray,
) -> eqx.nn.Linear:
    """A dense layer; ``sparsity`` and ``gain`` are for the initialisations that have them."""
    if initialisation == "orthogonal":
        return orthogonal_linear(inputs, outputs, gain, key=key)
    return sparse_linear(inputs, outputs, sparsity, initialisation == "sparse_blind", key=key)


def orthogonal_linear(
    inputs: int, outputs: int, gain: float, *, key: PRNGKeyArray
) -> eqx.nn.Linear:
    """A dense layer with orthogonal weights (Saxe et al., 2014) times ``gain``; biases are zero."""
    layer = eqx.nn.Linear(inputs, outputs, key=key)
    weight = jax.nn.initializers.orthogonal(gain)(key, (outputs, inputs), jnp.float32)
    leaves = weight.astype(layer.weight.dtype), jnp.zeros(outputs, layer.weight.dtype)
    return eqx.tree_at(lambda layer: (layer.weight, layer.bias), layer, leaves)


def sparse_linear(
    inputs: int, outputs: int, sparsity: float, blind: bool = False, *, key: PRNGKeyArray
) -> eqx.nn.Linear:
    """A dense layer with sparse initialisation (Elsayed et al., 2024).

    Of each unit's incoming weights ceil(sparsity * inputs) are zero and the others uniform on
    +-1/sqrt(inputs); biases are zero. Unless units may be ``blind``, at least one weight stays: a
    layer with three inputs would start out seeing none of them.
    """
    zeros = min(math.ceil(sparsity * inputs), inputs if blind else inputs - 1)
    weight, order = jax.random.uniform(key, (2, outputs, inputs))
    _, kept = jax.lax.top_k(order, inputs - zeros)
    mask = jnp.zeros_like(weight).at[jnp.arange(outputs)[:, None], kept].set(1)
    layer = eqx.nn.Linear(inputs, outputs, key=key)
    leaves = mask * (2 * weight - 1) / math.sqrt(inputs), jnp.zeros_like(weight[:, 0])
    return eqx.tree_at(lambda layer: (layer.weight, layer.bias), layer, leaves)


class Block(eqx.Module):
    """Dense layer, LayerNorm (unless it is off), activation; any shape in, a vector out."""

    linear: eqx.nn.Linear
    activation: Callable[[Array], Array] = eqx.field(static=True)
    norm: bool = eqx.field(static=True, default=True)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " width"]:
        out = self.linear(x.ravel())
        return self.activation(layer_norm(out) if self.norm else out)


class Blocks(eqx.Module):
    """Several blocks in a row."""

    blocks: tuple[Block, ...]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " width"]:
        for block in self.blocks:
            x = block(x)
        return x
