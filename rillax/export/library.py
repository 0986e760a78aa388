"""The C of a learner, compiled on this machine and called from Python."""

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from rillax.export.source import Source
from rillax.utils import machine

FLAGS = (
    *("-std=c99", "-O3", "-march=native", "-ffp-contract=fast"),
    # Without these a root or a comparison keeps a loop from being vectorised. NaN stays NaN.
    *("-fno-math-errno", "-fno-trapping-math"),
    *("-fPIC", "-shared"),
)
REFUSED = -6
"""What ``learner_learn`` returns where the numbers would not be finite: it has skipped the step."""
_ERRORS = {
    -1: "a number is not finite",
    -2: "learn was called before act, or twice: there is no action to learn about",
    -3: "too few bytes",
    -4: "the bytes are of another learner, version or precision",
    -5: "the bytes are damaged",
}


class NoCompiler(RuntimeError):
    """There is no C compiler, or it does not compile; the message says what to do."""


def compiler() -> list[str] | None:
    """The command of the C compiler: what CC says, or the first of cc, gcc and clang."""
    if chosen := shlex.split(os.environ.get("CC", "")):
        return chosen if shutil.which(chosen[0]) else None
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), None)


def compiled(source: Source, double: bool = False) -> Path:
    """The shared library of a learner: from the cache, or compiled now."""
    command = compiler()
    if command is None:
        raise NoCompiler(
            "engine='c' needs a C compiler, and there is none: install gcc or clang, name one in "
            "the variable CC, or use engine='jax'"
        )
    flags = [*FLAGS, *(["-DLEARNER_DOUBLE"] if double else [])]
    what = "\0".join([*command, *flags, source.header, source.code])
    name = hashlib.sha256(what.encode()).hexdigest()[:24]
    place = _cache()
    library = place / f"{name}.so"
    if not library.exists():
        _compile([*command, *flags], source, library)
    return library


def _cache() -> Path:
    """Where libraries are kept: beside what JAX has compiled, or in a directory of our own."""
    place = platformdirs.user_cache_path("rillax") / "c" / machine.kind_of_processor()
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        if os.access(place, os.W_OK):
            return place
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="rillax-c-"))


def _compile(command: list[str], source: Source, library: Path) -> None:
    """Compile beside, and put the library in its place at once."""
    with tempfile.TemporaryDirectory(dir=library.parent) as directory:
        work = Path(directory)
        (work / "learner.h").write_text(source.header)
        (work / "learner.c").write_text(source.code)
        beside = work / library.name
        whole = [*command, str(work / "learner.c"), "-o", str(beside), "-lm"]
        done = subprocess.run(whole, capture_output=True, text=True)
        if done.returncode != 0:
            raise NoCompiler(
                f"engine='c' could not be compiled with {' '.join(command)}: "
                f"{done.stderr.strip()[:500] or 'the compiler said nothing'}; "
                "use engine='jax', or another compiler in the variable CC"
            )
        os.replace(beside, library)


class Library:
    """A learner in C, held by Python.

    It is the same state machine as an agent's ``act``, ``learn`` and ``skip``. ``load`` and
    ``save`` take and give the bytes that ``source.layout`` describes.
    """

    def __init__(self, source: Source, actions: int, discrete: bool, double: bool = False):
        self.source, self.discrete = source, discrete
        self.dtype = np.dtype(np.float64 if double else np.float32)
        c = ctypes.CDLL(str(compiled(source, double)))
        real = ctypes.c_double if double else ctypes.c_float
        pointer = ctypes.c_void_p
        self.functions: dict[str, Any] = {}
        for name, result, takes in (
            ("size", ctypes.c_size_t, []),
            ("bytes", ctypes.c_size_t, []),
            ("act", ctypes.c_int, [pointer] * (2 if discrete else 3)),
            ("learn", ctypes.c_int, [pointer, real, pointer, ctypes.c_int, ctypes.c_int]),
            ("skip", ctypes.c_int, [pointer, ctypes.c_int]),
            ("save", ctypes.c_int, [pointer, pointer, ctypes.c_size_t]),
            ("load", ctypes.c_int, [pointer, ctypes.c_char_p, ctypes.c_size_t]),
            ("metrics", None, [pointer, pointer]),
        ):
            function = getattr(c, f"learner_{name}")
            function.restype, function.argtypes = result, takes
            self.functions[name] = function
        self._memory = np.zeros(self.functions["size"]() + 64, np.uint8)
        start = self._memory.ctypes.data
        self.address = start + (-start) % 64
        """Of the struct."""
        self._actions = actions

    def load(self, content: bytes) -> None:
        _check(self.functions["load"](self.address, content, len(content)))

    def save(self) -> bytes:
        content = np.zeros(self.functions["bytes"](), np.uint8)
        _check(self.functions["save"](self.address, content.ctypes.data, content.size))
        return content.tobytes()

    def act(self, observation: np.ndarray) -> np.ndarray:
        """The action for an observation of this library's ``dtype``, end to end in memory."""
        if self.discrete:
            return np.asarray(_check(self.functions["act"](self.address, observation.ctypes.data)))
        action = np.zeros(self._actions, self.dtype)
        pointers = observation.ctypes.data, action.ctypes.data
        _check(self.functions["act"](self.address, *pointers))
        return action

    def learn(self, reward: float, after: np.ndarray, terminated: bool, truncated: bool) -> bool:
        """Whether it was learned from, and not refused."""
        inputs = reward, after.ctypes.data, terminated, truncated
        code = self.functions["learn"](self.address, *inputs)
        return code != REFUSED and _check(code) == 0

    def skip(self, done: bool) -> None:
        self.functions["skip"](self.address, done)

    @property
    def metrics(self) -> dict[str, float]:
        numbers = np.zeros(len(self.source.metrics), self.dtype)
        self.functions["metrics"](self.address, numbers.ctypes.data)
        return dict(zip(self.source.metrics, numbers.tolist(), strict=True))


def _check(code: int) -> int:
    if code < 0:
        raise ValueError(_ERRORS.get(code, f"the C learner failed with code {code}"))
    return code
