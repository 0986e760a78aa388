"""Time per frame of compiled loops, measured in turns so that a noisy machine is fair to all."""

import statistics
import time
from collections.abc import Callable, Mapping

import jax


def microseconds_per_frame(
    loops: Mapping[str, Callable[[int], object]], *, repeats: int = 7, seconds: float = 0.4
) -> dict[str, float]:
    """The median time of one frame for each loop; a loop takes a number of frames to run.

    Every loop is run once to compile it and once to find how many frames fill ``seconds``.
    """
    frames = {}
    for name, loop in loops.items():
        jax.block_until_ready(loop(1))
        frames[name] = max(1, int(200 * seconds / _time(loop, 200)))
    times: dict[str, list[float]] = {name: [] for name in loops}
    for _ in range(repeats):
        for name, loop in loops.items():
            times[name].append(_time(loop, frames[name]) / frames[name])
    return {name: 1e6 * statistics.median(values) for name, values in times.items()}


def _time(loop: Callable[[int], object], frames: int) -> float:
    start = time.perf_counter()
    jax.block_until_ready(loop(frames))
    return time.perf_counter() - start
