"""Time per frame of compiled loops, and Figure 1a: what one gradient update costs."""

import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import pyarrow as pa
from jaxtyping import Array

from rillax.networks import Architecture, Network, Stream, advance, split, start
from rillax.utils import settings

Loop = Callable[[int], object]
"""Runs so many frames."""
LARGEST = 2**30
"""Bytes of a sensitivity beyond which a width is not tried."""
_INPUTS = 8


def microseconds_per_frame(
    loops: Mapping[str, Loop], *, repeats: int = 7, seconds: float = 0.4
) -> dict[str, float]:
    """The median time of one frame for each loop, measured in turns.

    Turns are fair to all loops where the machine is noisy. Each is run first to compile it and to
    find how many frames fill ``seconds``.
    """
    frames = {name: _frames_that_fill(loop, seconds) for name, loop in loops.items()}
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(repeats):
        for name, loop in loops.items():
            times[name].append(_time(loop, frames[name]) / frames[name])
    return {name: 1e6 * statistics.median(values) for name, values in times.items()}


def _frames_that_fill(loop: Loop, seconds: float) -> int:
    jax.block_until_ready(loop(1))
    frames, taken = 1, _time(loop, 1)
    while taken < seconds / 10:
        frames *= 4
        taken = _time(loop, frames)
    return max(1, int(frames * seconds / taken))


def _time(loop: Loop, frames: int) -> float:
    started = time.perf_counter()
    jax.block_until_ready(loop(frames))
    return time.perf_counter() - started


def gradient_update(network: Architecture) -> Loop:
    """A loop of updates of one network with one output: memory, gradient, a step of SGD."""
    built = start(network.build(jax.random.key(0), (_INPUTS,), 1))
    fresh = jnp.bool_(False)

    def body(t: Array, stream: Stream) -> Stream:
        observation = jnp.sin(t + jnp.arange(_INPUTS, dtype=jnp.float32))
        stream = advance(stream, observation, fresh)
        learns, frozen = split(stream.network)

        def output(learns: Network) -> Array:
            network = eqx.combine(learns, frozen)
            return network(observation, stream.previous, stream.memory)[0]

        gradient = jax.grad(output)(learns)
        learns = jax.tree.map(lambda w, g: w - 1e-4 * g, learns, gradient)
        return stream._replace(network=eqx.combine(learns, frozen))

    run = jax.jit(lambda stream, frames: jax.lax.fori_loop(0, frames, body, stream))
    return lambda frames: run(built, frames)


@dataclass(frozen=True)
class Timing:
    """The time of one gradient update at several hidden widths."""

    network: Architecture
    widths: tuple[int, ...]
    seconds: float = 2.0
    """A width whose update would take longer than this is left out, and all wider ones."""
    repeats: int = 7
    frames: int = 0
    seeds: int = 1

    alone: ClassVar[bool] = True
    """It measures time, so nothing else may run beside it."""

    def measure(self) -> pa.Table:
        """Milliseconds of an update at each hidden width, several times over.

        Dense RTRL costs O(n^4): a width that would take longer than ``seconds`` at the pace of the
        ones before it, or more memory than there should be, ends the row.
        """
        rows: list[dict[str, float]] = []
        medians: dict[int, float] = {}
        for width in self.widths:
            network = settings.change(self.network, units=width)
            if _sensitivity_bytes(network) > LARGEST or _expected(medians, width) > self.seconds:
                break
            loop = gradient_update(network)
            frames = _frames_that_fill(loop, min(0.2, self.seconds))
            times = [_time(loop, frames) / frames for _ in range(self.repeats)]
            medians[width] = statistics.median(times)
            rows += [
                {"width": width, "seed": i, "milliseconds": 1e3 * value}
                for i, value in enumerate(times)
            ]
        return pa.Table.from_pylist(rows)


def _sensitivity_bytes(architecture: Architecture) -> int:
    def memory(key: Array) -> Any:
        return architecture.build(key, (_INPUTS,), 1).initial_memory()

    leaves = jax.tree.leaves(jax.eval_shape(memory, jax.random.key(0)))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)


def _expected(medians: Mapping[int, float], width: int) -> float:
    """The time of the next width, if it grows as it did between the last two."""
    if len(medians) < 2:
        return 0.0
    (width_0, time_0), (width_1, time_1) = list(medians.items())[-2:]
    slope = max(1.0, math.log(time_1 / time_0) / math.log(width_1 / width_0))
    return time_1 * (width / width_1) ** slope
