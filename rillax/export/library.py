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

FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=fast", "-fPIC", "-shared")
_ERRORS = {
    -1: "a number is not finite",
    -2: "learn was called before act: there is no action to learn about",
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
            setattr(self, f"_{name}", function)
        size: int = self._call("size")
        self._memory = np.zeros(size + 64, np.uint8)
        start = self._memory.ctypes.data
        self._self = start + (-start) % 64
        self._action = np.zeros(actions, self.dtype)
        self._metric = np.zeros(len(source.metrics), self.dtype)
        self._act_c: Any = getattr(self, "_act")  # noqa: B009
        self._learn_c: Any = getattr(self, "_learn")  # noqa: B009

    def _call(self, name: str, *arguments: Any) -> Any:
        return getattr(self, f"_{name}")(*arguments)

    def load(self, content: bytes) -> None:
        _check(self._call("load", self._self, content, len(content)))

    def save(self) -> bytes:
        content = np.zeros(self._call("bytes"), np.uint8)
        _check(self._call("save", self._self, content.ctypes.data, content.size))
        return content.tobytes()

    def act(self, observation: np.ndarray) -> np.ndarray:
        """The action for an observation of this library's ``dtype``, end to end in memory."""
        if self.discrete:
            action = self._act_c(self._self, observation.ctypes.data)
            if action < 0:
                _check(action)
            return np.asarray(action)
        _check(self._act_c(self._self, observation.ctypes.data, self._action.ctypes.data))
        return self._action.copy()

    def learn(self, reward: float, after: np.ndarray, terminated: bool, truncated: bool) -> None:
        code = self._learn_c(self._self, reward, after.ctypes.data, terminated, truncated)
        if code:
            _check(code)

    def skip(self, done: bool) -> None:
        self._call("skip", self._self, done)

    @property
    def metrics(self) -> dict[str, float]:
        self._call("metrics", self._self, self._metric.ctypes.data)
        return dict(zip(self.source.metrics, self._metric.tolist(), strict=True))


def _check(code: int) -> None:
    if code < 0:
        raise ValueError(_ERRORS.get(code, f"the C learner failed with code {code}"))
