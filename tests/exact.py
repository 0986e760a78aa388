"""``python -m tests.exact --samples 1e9``: running statistics against exact arithmetic.

Five kinds of input, each of a period of a million samples. Over whole periods mean and variance are
those of one period, whatever their number, so they are known exactly.
"""

import argparse
import math
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rillax import normalisation
from rillax._jax.kernels import Program, one_kernel, repeat

PERIOD = 1_000_000
KINDS = ("1 in 100", "far from zero", "small", "heavy tails", "a slow wave")


def hashed(i: Any) -> Any:
    i = (i ^ (i >> 16)) * np.uint32(0x7FEB352D)
    i = (i ^ (i >> 15)) * np.uint32(0x846CA68B)
    return i ^ (i >> 16)


def samples(i: Any) -> Any:
    """The five inputs at place i of the period; the same bits in NumPy and in JAX."""
    xp = jnp if isinstance(i, jax.Array) else np
    bits = hashed(i)
    byte, other = (((bits >> n) & np.uint32(0xFF)).astype(np.float32) for n in (3, 17))
    one, zero = np.float32(1), np.float32(0)
    rare = xp.where(bits % np.uint32(100) == 0, one, zero)
    far = np.float32(1000) + (byte - np.float32(128)) * np.float32(2**-6)
    small = (other - np.float32(99)) * np.float32(2**-20)
    heavy = xp.where(byte < 2, np.float32(512), zero) + xp.where(other < 1, np.float32(4096), zero)
    wave = (i >> np.uint32(10)).astype(np.float32) * np.float32(2**-5)
    return xp.stack([rare, far, small, heavy, wave], axis=-1)


def exact() -> tuple[list[float], list[float]]:
    """Mean and variance over a period, in rational numbers."""
    everything = samples(np.arange(PERIOD, dtype=np.uint32)).astype(np.float64)
    means, variances = [], []
    for xs in everything.T:
        values, counts = np.unique(xs, return_counts=True)
        pairs = [(Fraction(float(v)), int(c)) for v, c in zip(values, counts, strict=True)]
        mean = sum(v * c for v, c in pairs) / PERIOD
        means.append(float(mean))
        variances.append(float(sum((v - mean) ** 2 * c for v, c in pairs) / PERIOD))
    return means, variances


def run(carry: Any, count: Any) -> Any:
    def body(carry: Any) -> Any:
        running, i = carry
        following = jnp.where(i == PERIOD - 1, np.uint32(0), i + np.uint32(1))
        return normalisation.update(running, samples(i)), following

    return repeat(body, count, carry)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.exact", description=__doc__)
    parser.add_argument("--samples", type=float, default=1e9)
    flags = parser.parse_args()
    periods = math.ceil(flags.samples / PERIOD)
    program = Program(one_kernel(run), run, donate=(0,))
    carry = jax.jit(lambda: (normalisation.start((5,)), jnp.uint32(0)))()
    means, variances = exact()
    for n in range(1, periods + 1):
        carry = program(carry, PERIOD)
        if n in (1, 10, 67, 134, periods) or n % 100 == 0:
            off_mean, off_variance = (
                np.abs(np.array(found, float) / known - 1)
                for found, known in ((carry[0].mean, means), (carry[0].variance, variances))
            )
            print(f"{n * PERIOD:>14,} samples", flush=True)
            for kind, mean, variance in zip(KINDS, off_mean, off_variance, strict=True):
                print(
                    f"  {kind:<14} mean off by {mean:.1e}, variance by {variance:.1e}", flush=True
                )


if __name__ == "__main__":
    main()
