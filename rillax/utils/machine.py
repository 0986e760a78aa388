"""What the machine has to offer."""

import glob
import hashlib
import os
import platform
import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import platformdirs

_CGROUP = Path("/sys/fs/cgroup")


def available_memory() -> int | None:
    """Bytes that a program could still take without swapping; None where that cannot be told."""
    known = [b for b in (_of_the_kernel(), _of_the_container()) if b is not None]
    return min(known, default=None)


def _of_the_kernel() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        return 1024 * int(fields["MemAvailable"].split()[0])
    except (OSError, ValueError, KeyError, IndexError):
        return None


def _of_the_container() -> int | None:
    try:
        limit = int((_CGROUP / "memory.max").read_text())
        used = int((_CGROUP / "memory.current").read_text())
        lines = (_CGROUP / "memory.stat").read_text().splitlines()
        cached = int(dict(line.split() for line in lines)["inactive_file"])
        return max(0, limit - used + cached)
    except (OSError, ValueError, KeyError):  # "max" is no number: there is no limit
        return None


def cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def readable(bytes: int) -> str:
    """A number of bytes as a person reads it.

    >>> readable(421_000_000)
    '421 MB'
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if bytes >= size:
            return f"{bytes / size:.3g} {unit}"
    return f"{bytes} bytes"


def keep_compilations() -> Path | None:
    """Keep compiled programs in the user's cache directory; returns where, None if nowhere.

    The command line does this. JAX_COMPILATION_CACHE_DIR names another directory, and
    JAX_ENABLE_COMPILATION_CACHE=false turns it off.
    """
    from rillax._jax import configure, setting  # with JAX, whose import takes a second

    chosen = setting("jax_compilation_cache_dir")
    if chosen is not None:
        repair_cache(Path(chosen))
        return Path(chosen)
    if not setting("jax_enable_compilation_cache", True):
        return None
    place = platformdirs.user_cache_path("rillax") / "compiled" / kind_of_processor()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(place, os.W_OK):
        return None
    if not configure("jax_compilation_cache_dir", str(place)):
        return None
    configure("jax_persistent_cache_min_compile_time_secs", 0.2)
    repair_cache(place)
    return place


def repair_cache(place: Path) -> None:
    """Let an entry of the cache that turns out to be damaged be removed, and so written anew.

    JAX goes on without such an entry, but never replaces it. It says so in a warning that names the
    program, by which the names of its entries begin.
    """
    before = warnings.showwarning
    repaired: frozenset[Path] = getattr(before, "repaired", frozenset())
    if place in repaired:
        return

    def show(message: Any, *rest: Any, **more: Any) -> None:
        found = re.search(r"reading persistent compilation cache entry for '([^']+)'", str(message))
        if found is None:
            before(message, *rest, **more)
            return
        for entry in place.glob(f"{glob.escape(found[1])}-*"):
            with suppress(OSError):
                entry.unlink()

    show.repaired = repaired | {place}  # type: ignore[attr-defined]
    warnings.showwarning = show
    warnings.filterwarnings("always", message=".*reading persistent compilation cache entry")


def kind_of_processor() -> str:
    """A name for what programs are compiled for: a home directory may be shared by several."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = sorted({line for line in lines if line.startswith(("flags", "Features"))})
    except OSError:
        features = [platform.processor()]
    digest = hashlib.sha256("\n".join(features).encode()).hexdigest()
    return f"{platform.machine()}-{digest[:12]}"
