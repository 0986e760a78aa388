"""``python -m tests.endless --steps 1e8``: a small agent on a stream that drifts, without an end.

The stream shows a cue among its readings and pays for the action that fits it. The cue's scale and
offset drift, one reading in 100,000 is an outlier of 1e6 or 1e20, and every tenth of the way the
right answer changes. Prints the share of right answers and the memory of the process along the
way: at the end it must still be learning, finite, and no larger than at the beginning.
"""

import argparse
import resource
import time
from pathlib import Path
from typing import Any

import gymnasium as gym
import jax
import jax.numpy as jnp
import numpy as np

from rillax._jax.kernels import Program, one_kernel, repeat
from rillax.agents import StreamQ
from rillax.cells import RTU
from rillax.networks import Architecture

AGENT = StreamQ(
    network=Architecture(cell=RTU(8), width=8),
    discount=0.5,
    epsilon_start=0.05,
    epsilon_end=0.05,
    normalisation_window=100_000,
)
"""It never stops exploring: a softmax policy that has become certain does not find out that the
right answer has changed (stream AC with entropy 0.01 did not, in ten million steps)."""
SPACES = gym.spaces.Box(-np.inf, np.inf, (2,)), gym.spaces.Discrete(2)


def readings(i, cue, phase):
    """What the sensors show at step i of a block; the drift takes many blocks."""
    hashed = (i ^ (i >> 16)) * np.uint32(0x7FEB352D)
    hashed = (hashed ^ (hashed >> 15)) * np.uint32(0x846CA68B)
    hashed = hashed ^ (hashed >> 16)
    loud = hashed % np.uint32(100_000) == 0
    sizes = jnp.where((hashed >> 20) % 2 == 0, 1e6, 1e20)
    scale, offset = jnp.exp(2 * jnp.sin(phase)), 30 * jnp.sin(0.37 * phase)
    x = jnp.stack([scale * cue + offset, ((hashed >> 8) % 256).astype(float) / 256])
    return jnp.where(loud, sizes, x), hashed


def body(carry: Any) -> Any:
    state, cue, i, phase, flip, right = carry
    x, hashed = readings(i, cue, phase)
    state, action = AGENT.act(state, x)
    after = jnp.where((hashed >> 3) % 2 == 0, 1.0, -1.0)
    fits = (action == 1) == (cue * flip > 0)
    following, _ = readings(i + np.uint32(1), after, phase)
    state, _ = AGENT.learn(state, jnp.where(fits, 1.0, -1.0), following, False, False)
    return state, after, i + np.uint32(1), phase, flip, right + fits.astype(jnp.int32)


def run(carry: Any, count: Any) -> Any:
    return repeat(body, count, carry)


def megabytes() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.endless", description=__doc__)
    parser.add_argument("--steps", type=float, default=1e8)
    parser.add_argument("--blocks", type=int, default=100)
    flags = parser.parse_args()
    count, program = int(flags.steps) // flags.blocks, Program(one_kernel(run), run, donate=(0,))
    state = jax.jit(lambda key: AGENT.init(key, *SPACES))(jax.random.key(0))
    cue, i, started = jnp.float32(1), jnp.uint32(1), time.perf_counter()
    for block in range(flags.blocks):
        phase, flip = jnp.float32(block / 7), jnp.float32((-1) ** (block * 10 // flags.blocks))
        carry = (state, cue, i, phase, flip, jnp.int32(0))
        state, cue, i, _, _, right = program(carry, count)
        share = int(right) / count
        numbers = [x for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.floating)]
        finite = all(bool(jnp.isfinite(x).all()) for x in numbers)
        seconds = time.perf_counter() - started
        print(
            f"{(block + 1) * count:>12,} steps, {100 * share:5.1f} % right, finite {finite}, "
            f"{megabytes():.1f} MB, {seconds:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
