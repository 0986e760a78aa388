"""The learner in C against JAX's one kernel and the floor, and its size.

python -m benchmarks.device [sizes] [speed [stream_ac] [qrc] [stream_q] [rill]]
"""

import ctypes
import dataclasses
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from gymnasium.spaces import Box, Discrete

from benchmarks.floor import like, touch
from benchmarks.steps import ENV, touched
from rillax import Learner, envs
from rillax.agents import QRC, Rill, StreamAC, StreamQ
from rillax.cells import RTU
from rillax.export import Source, source
from rillax.export.library import FLAGS, compiler
from rillax.loops.compiled import CompiledLoop
from rillax.networks import Architecture
from rillax.utils import checkpoint, settings

AGENTS: dict[str, Any] = {
    "stream_ac": StreamAC(),
    "qrc": QRC(),
    "stream_q": StreamQ(),
    "rill": settings.change(Rill(), units=192, width=64),  # the size of the others
}
SMALL = Architecture(cell=RTU(32), width=16)

# Frames in C, on a stream like MemoryChain's: episodes of nine steps.
_DRIVER = """
#include "learner.c"
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

void run(learner *self, int frames, double *microseconds)
{
    for (int i = 0; i < frames; i++) {
        const learner_real seen[3] = {(learner_real)(i % 9) / 8, 0, (learner_real)(i % 9 == 0)};
        const learner_real after[3] = {(learner_real)(i % 9 + 1) / 8, 0, 0};
        const double start = microseconds ? now() : 0;
        learner_act(self, seen);
        learner_learn(self, i % 9 == 8, after, i % 9 == 8, 0);
        if (microseconds)
            microseconds[i] = now() - start;
    }
}
"""


class InC:
    """A learner that runs frames in C."""

    def __init__(self, agent: Any, text: Source, command: list[str]):
        with tempfile.TemporaryDirectory() as directory:
            work = Path(directory)
            (work / "learner.h").write_text(text.header)
            (work / "learner.c").write_text(text.code)
            (work / "driver.c").write_text("#define _POSIX_C_SOURCE 199309L\n" + _DRIVER)
            library = work / "driver.so"
            whole = [*command, *FLAGS, str(work / "driver.c"), "-o", str(library), "-lm"]
            subprocess.run(whole, check=True)
            self.c = ctypes.CDLL(str(library))
        self.c.learner_size.restype = ctypes.c_size_t
        self.c.run.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p]
        self.c.learner_load.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        self.memory = np.zeros(self.c.learner_size() // 64 + 2, "V64")
        self.at = self.memory.ctypes.data + (-self.memory.ctypes.data) % 64
        state = agent.init(jax.random.key(0), *envs.spaces_of(ENV))
        content = text.layout.write(checkpoint.flatten(state), acted=False)
        assert self.c.learner_load(self.at, content, len(content)) == 0

    def run(self, frames: int) -> None:
        self.c.run(self.at, frames, None)

    def latencies(self, frames: int) -> np.ndarray:
        times = np.zeros(frames)
        self.c.run(self.at, frames, times.ctypes.data)
        return times


def in_turns(loops: dict[str, Any], frames: int = 300, repeats: int = 11) -> dict[str, list[float]]:
    """Microseconds of processor time per frame in each of several turns."""
    times: dict[str, list[float]] = {name: [] for name in loops}
    for i in range(repeats + 1):
        for name, run in loops.items():
            before = time.process_time()
            jax.block_until_ready(run(frames))
            if i:  # the first compiles
                times[name].append(1e6 * (time.process_time() - before) / frames)
    return times


def from_python(agent: Any, engine: Any) -> Any:
    """Frames of a Learner."""
    learner = Learner(agent, *envs.spaces_of(ENV), engine=engine)
    seen = np.zeros(3, np.float32)

    def run(frames: int) -> None:
        for _ in range(frames):
            learner.act(seen)
            learner.learn(0.0, seen, False, False)

    return run


def speed(
    names: Sequence[str] = tuple(AGENTS), compilers: tuple[str, ...] = ("gcc", "clang")
) -> Iterator[tuple[str, Any]]:
    """Microseconds per step, the least of several turns, and the median of the turns' ratios to
    JAX's kernel: what else runs here meets both.
    """
    for name in names:
        agent = AGENTS[name]
        text = source(agent, *envs.spaces_of(ENV))
        arrays = like(touched(CompiledLoop(agent, ENV, [0]).agent_state()))
        machines = {c: InC(agent, text, [c]) for c in compilers if shutil.which(c)}
        loops: dict[str, Any] = {
            "jax": CompiledLoop(agent, ENV, [0]).run,
            "floor": lambda frames, arrays=arrays: touch(arrays, frames),
            **{c: machine.run for c, machine in machines.items()},
            "learner, engine c": from_python(agent, "c"),
        }
        turns = in_turns(loops)
        row = {
            loop: {"us": min(times), "times jax": float(np.median(np.divide(times, turns["jax"])))}
            for loop, times in turns.items()
        }
        times = next(iter(machines.values())).latencies(20_000)
        row["latency"] = {
            "median": float(np.median(times)),
            "99.9 %": float(np.quantile(times, 0.999)),
            "worst": float(times.max()),
            "worst / median": float(times.max() / np.median(times)),
        }
        yield name, row


def sizes(command: list[str], flags: list[str]) -> dict[str, Any]:
    """Bytes of code and of state."""
    rows = {}
    for name, agent in AGENTS.items():
        for label, network in (("64-192-64", agent.network), ("16-32-16", SMALL)):
            one = dataclasses.replace(agent, network=network)
            text = source(one, Box(-1.0, 1.0, (3,)), Discrete(2))
            with tempfile.TemporaryDirectory() as directory:
                work = Path(directory)
                (work / "learner.h").write_text(text.header)
                probe = "learner learner_probe;\n"
                (work / "learner.c").write_text(text.code + probe)
                whole = [*command, *flags, "-c", str(work / "learner.c"), "-o", str(work / "l.o")]
                subprocess.run(whole, check=True)
                tool = command[0].replace("gcc", "size") if "arm" in command[0] else "size"
                said = (
                    subprocess.run(
                        [tool, str(work / "l.o")], check=True, capture_output=True, text=True
                    )
                    .stdout.splitlines()[1]
                    .split()
                )
            rows[f"{name} {label}"] = {
                "code": int(said[0]) + int(said[1]),
                "state": int(said[2]),
                "saved": text.layout.length(4),
            }
    return rows


if __name__ == "__main__":
    if "sizes" in sys.argv[1:] or len(sys.argv) == 1:
        print(json.dumps({"here -Os": sizes(compiler() or ["cc"], ["-std=c99", "-Os"])}, indent=1))
        if shutil.which("arm-none-eabi-gcc"):
            m4 = ["-mcpu=cortex-m4", "-mthumb", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
            arm = sizes(["arm-none-eabi-gcc"], ["-std=c99", "-Os", *m4])
            print(json.dumps({"Cortex-M4 -Os": arm}, indent=1))
    if "speed" in sys.argv[1:] or len(sys.argv) == 1:
        started = time.perf_counter()
        chosen = [name for name in AGENTS if name in sys.argv] or list(AGENTS)
        for name, row in speed(chosen):
            print(json.dumps({name: row}, indent=1), flush=True)
        print(f"in {time.perf_counter() - started:.0f} s")
