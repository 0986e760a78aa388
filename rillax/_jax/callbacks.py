"""A compiled loop that asks Python for an answer, frame after frame, without leaving.

Entering and leaving a compiled program costs about two microseconds for each array of an agent's
state, every time. A loop that stays inside and asks what followed an action pays for the two arrays
that are asked and answered. ``jax.io_callback`` does the same, but sends every array to a device
and back; numbers that are only written into the next observation need no such journey.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import mlir

Host = Callable[[np.ndarray], tuple[np.ndarray]]

_ask = Primitive("ask")


def ask(host: Host, question: jax.Array, answer: jax.Array) -> Any:
    """What ``host`` answers: an array of the shape and type of ``answer``, in a tuple.

    ``host`` gets a view of the question that is gone after the call, and must not raise.
    """
    return _ask.bind(question, host=host, shape=answer.shape, dtype=answer.dtype)


@_ask.def_abstract_eval
def _(question: Any, *, host: Host, shape: Any, dtype: Any) -> Any:
    del question, host
    return jax.core.ShapedArray(shape, dtype)


def _lower(ctx: Any, question: Any, *, host: Host, shape: Any, dtype: Any) -> Any:
    del shape, dtype
    results, _, _ = mlir.emit_python_callback(
        ctx,
        host,
        None,
        [question],
        ctx.avals_in,
        ctx.avals_out,
        has_side_effect=True,
        returns_token=False,
    )
    return results


def _lower_for_cpu(ctx: Any, question: Any, *, host: Host, shape: Any, dtype: Any) -> Any:
    """What ``emit_python_callback`` does, without its look at each answer."""
    del shape, dtype
    ctx.module_context.add_host_callback(host)
    index = np.uint64(len(ctx.module_context.host_callbacks) - 1)
    call = jax.ffi.ffi_lowering("xla_ffi_python_cpu_callback", has_side_effect=True)
    return call(ctx, question, index=index)


mlir.register_lowering(_ask, _lower)
mlir.register_lowering(_ask, _lower_for_cpu, platform="cpu")


class Letter:
    """Arrays of 32-bit numbers in one, which is what crosses: each array by itself costs as much.

    >>> letter = Letter(((2,), np.dtype(np.float32)), ((), np.dtype(np.int32)))
    >>> rewards, count = letter.parts
    >>> rewards[:] = 0.5, -1.0
    >>> count[...] = 7
    >>> jax.jit(letter.read)(letter.words)[0].tolist()
    [0.5, -1.0]
    """

    def __init__(self, *parts: tuple[tuple[int, ...], np.dtype]):
        """For parts of these shapes and types."""
        self._kinds = parts
        *self._cuts, size = np.cumsum([math.prod(shape) for shape, _ in parts])
        self.words = np.zeros(size, np.int32)
        split = zip(np.split(self.words, self._cuts), parts, strict=True)
        self.parts = [part.view(dtype).reshape(shape) for part, (shape, dtype) in split]
        """Views of ``words``, to write into."""

    def read(self, words: jax.Array) -> list[jax.Array]:
        """The parts, inside a compiled program."""
        split = zip(jnp.split(words, self._cuts), self._kinds, strict=True)
        return [
            jax.lax.bitcast_convert_type(part, dtype).reshape(shape)
            for part, (shape, dtype) in split
        ]
