"""Dense layers as streaming networks want them: sparse initialisation, LayerNorm, activations."""

import math
from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

Activation = Literal["leaky_relu", "tanh"]

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
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
