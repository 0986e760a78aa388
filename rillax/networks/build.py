"""The settings of a network, and how it is built from them (Appendix A)."""

import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass
from typing import Any, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from rillax.cells import RTU, Cell, CellSettings, Defaults
from rillax.layers import (
    ACTIVATIONS,
    Activation,
    Block,
    Blocks,
    Initialisation,
    linear,
    orthogonal_linear,
)
from rillax.networks.network import Head, Network
from rillax.utils import ranges
from rillax.utils.names import choose

EncoderFactory = Callable[[PRNGKeyArray, tuple[int, ...]], Callable[[Array], Array]]
"""(key, shape of an observation) -> a module from one observation to a vector."""


class Brought(eqx.Module):
    """A module that a user brings as encoder: its arrays are leaves, all else is static."""

    arrays: Any
    rest: Any = eqx.field(static=True)

    def __init__(self, module: Callable[[Array], Array]):
        self.arrays, self.rest = eqx.partition(module, eqx.is_inexact_array)

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, " inputs"]:
        return eqx.combine(self.arrays, self.rest)(x)


@dataclass(frozen=True)
class Architecture:
    """Every number of a network. ``build`` makes one.

    A network has one recurrent layer or several, each given by the settings of its cell:

    >>> Architecture(cell=RTU(units=32)) == Architecture(layers=(RTU(units=32),))
    True
    >>> len(Architecture(layers=(RTU(96), RTU(96))).layers)
    2
    """

    layers: tuple[CellSettings, ...] = (RTU(),)
    """The recurrent layers, from the encoder to the head."""
    width: int = 64
    """Units of the encoder and of the head's hidden layer."""
    encoder_widths: tuple[int, ...] | None = None
    """Units of each block of the encoder; one block of ``width`` if not given."""
    head_widths: tuple[int, ...] | None = None
    """Units of each hidden block of the head; one of ``width`` if not given."""
    activation: Activation = "leaky_relu"
    """Of encoder, head and cell."""
    initialisation: Initialisation = "sparse"
    """How the dense layers start: sparse, sparse where a unit may be blind, or orthogonal."""
    layer_norm: bool = True
    """Whether the encoder's blocks have a LayerNorm."""
    head_layer_norm: bool = True
    """Whether the head's hidden blocks have a LayerNorm."""
    sparsity: float = 0.9
    """Share of the weights of encoder and head that start at zero."""
    reader_sparsity: float | None = None
    """The same for the layer that reads the recurrence alone; as the others if not given."""
    direct: bool = False
    """Whether the output layer also reads the observation itself (not the last action and reward),
    with weights that start at zero."""
    cell_step: float = 1.0
    """Factor on the steps of the recurrent parameters."""
    update_every: int = 1
    """Change the recurrent parameters at every n-th update only."""
    encoder: EncoderFactory | None = None
    """A module of your own in the encoder's place."""
    learn_encoder: bool = True
    """Whether the encoder learns or stays as it was built."""
    cell: InitVar[CellSettings | None] = None

    def __post_init__(self, cell: CellSettings | None) -> None:
        if cell is not None:
            object.__setattr__(self, "layers", (cell,))
        self._check_layers()
        choose("activation", self.activation, get_args(Activation))
        choose("initialisation", self.initialisation, get_args(Initialisation))
        if self.encoder_widths == ():
            raise ValueError("encoder_widths must name at least one block, got none")
        for name in ("encoder_widths", "head_widths"):
            if any(width < 1 for width in getattr(self, name) or ()):
                raise ValueError(f"{name} must be at least 1 each, got {getattr(self, name)}")
        ranges.check(self, width=ranges.COUNT, update_every=ranges.COUNT)
        ranges.check(self, sparsity=ranges.DECAY, reader_sparsity=ranges.DECAY)
        ranges.check(self, cell_step=ranges.NOT_NEGATIVE)

    def _check_layers(self) -> None:
        if not isinstance(self.layers, tuple) or not self.layers:
            raise ValueError(
                f"layers must be a tuple of at least one cell's settings, got {self.layers!r}"
            )
        for layer in self.layers:
            if not hasattr(layer, "build"):
                raise ValueError(
                    f"a recurrent layer is given by the settings of a cell, such as RTU(192), got "
                    f"{layer!r}"
                )

    def build(
        self,
        key: PRNGKeyArray,
        observation_shape: tuple[int, ...],
        outputs: int,
        output_gain: float | None = None,
        added: int = 0,
    ) -> Network:
        """A network; with ``output_gain`` its last layer starts orthogonal, times that.

        The last ``added`` of the inputs are not of the observation: the last action and reward.
        """
        key_encoder, key_cell, key_hidden, key_out = jax.random.split(key, 4)
        encoder = self._encoder(key_encoder, observation_shape)
        layers = self._layers(key_cell, _output_size(encoder, observation_shape))
        features = layers[-1].features
        widths = (self.width,) if self.head_widths is None else self.head_widths
        reader = self.sparsity if self.reader_sparsity is None else self.reader_sparsity
        blocks = self._blocks(key_hidden, features, widths, reader, self.head_layer_norm)
        last = blocks[-1].linear.out_features if blocks else features
        sparsity = self.sparsity if blocks else reader
        if output_gain is None:
            out = linear(int(last), outputs, sparsity, self.initialisation, key=key_out)
        else:
            out = orthogonal_linear(int(last), outputs, output_gain, key=key_out)
        direct = math.prod(observation_shape) - added if self.direct else 0
        head = Head(blocks, _widened(out, direct) if direct else out, direct)
        return Network(encoder, layers, head, self.learn_encoder, self.update_every, self.cell_step)

    def _encoder(self, key: PRNGKeyArray, shape: tuple[int, ...]) -> Callable[[Array], Array]:
        if self.encoder is not None:
            return Brought(self.encoder(key, shape))
        widths = self.encoder_widths or (self.width,)
        blocks = self._blocks(key, math.prod(shape), widths, self.sparsity, self.layer_norm)
        return blocks[0] if len(blocks) == 1 else Blocks(blocks)

    def _blocks(
        self,
        key: PRNGKeyArray,
        inputs: int,
        widths: tuple[int, ...],
        sparsity: float,
        norm: bool,
    ) -> tuple[Block, ...]:
        """Blocks in a row; ``sparsity`` is that of the first, which reads what comes in."""
        blocks = []
        for i, width in enumerate(widths):
            key_block = key if i == 0 else jax.random.fold_in(key, i)
            share = sparsity if i == 0 else self.sparsity
            layer = linear(inputs, width, share, self.initialisation, key=key_block)
            blocks.append(Block(layer, ACTIVATIONS[self.activation], norm))
            inputs = width
        return tuple(blocks)

    def _layers(self, key: PRNGKeyArray, inputs: int) -> tuple[Cell, ...]:
        cells: list[Cell] = []
        for i, settings in enumerate(self.layers):
            # A single layer has the key itself: how many layers there are must not change it.
            key_layer = key if i == 0 else jax.random.fold_in(key, i)
            defaults = Defaults(self.activation, self.sparsity)
            cells.append(settings.build(key_layer, inputs, defaults))
            inputs = cells[-1].features
        return tuple(cells)


def _widened(layer: eqx.nn.Linear, more: int) -> eqx.nn.Linear:
    """A dense layer that takes in so many more numbers, and makes nothing of them yet."""
    weight = jnp.pad(layer.weight, ((0, 0), (0, more)))
    wide = eqx.nn.Linear(weight.shape[1], weight.shape[0], key=jax.random.key(0))
    return eqx.tree_at(lambda layer: (layer.weight, layer.bias), wide, (weight, layer.bias))


def _output_size(encoder: Callable[[Array], Array], shape: tuple[int, ...]) -> int:
    out = jax.eval_shape(encoder, jax.ShapeDtypeStruct(shape, jnp.float32))
    if len(out.shape) != 1:
        raise ValueError(f"an encoder must return a vector, but this one returns shape {out.shape}")
    if out.shape[0] == 0:
        raise ValueError(
            f"an encoder must return at least one number, but for observations of shape {shape} "
            "this one returns none"
        )
    return out.shape[0]
