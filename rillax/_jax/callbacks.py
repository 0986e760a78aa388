"""Host callbacks: a compiled loop that calls Python, frame after frame, without leaving.

Entering and leaving a compiled program costs about two microseconds for each array of an agent's
state, every time. A loop that stays inside and asks what followed an action pays for the two arrays
that are asked and answered. JAX's own callback does the same, but sends every array to a device
and back; numbers that are only written into the next observation need no such journey. JAX's own
is what is used where the direct one of ``rillax._jax.private`` is not to be had.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rillax._jax import private
from rillax._jax.kernels import note

Host = Callable[[np.ndarray], tuple[np.ndarray]]


def host_call(host: Host, question: jax.Array, answer: jax.Array) -> Any:
    """What ``host`` answers: an array of the shape and type of ``answer``, in a tuple.

    ``host`` gets a view of the question that is gone after the call, and must not raise.
    """
    if (reason := private.why_no_direct_call()) is None:
        return private.direct_call(host, question, answer)
    if jax.default_backend() == "cpu":
        note(reason)
    like = jax.ShapeDtypeStruct(answer.shape, answer.dtype)

    def call(question: Any) -> np.ndarray:
        # A copy: the host may write its next answer before JAX has taken this one.
        return host(np.asarray(question))[0].copy()

    return private.ordered_callback()(call, like, question)


class PackedBuffer:
    """Arrays of 32-bit numbers in one, which is what crosses: each array by itself costs as much.

    >>> buffer = PackedBuffer(((2,), np.dtype(np.float32)), ((), np.dtype(np.int32)))
    >>> rewards, count = buffer.parts
    >>> rewards[:] = 0.5, -1.0
    >>> count[...] = 7
    >>> jax.jit(buffer.read)(buffer.words)[0].tolist()
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
