"""What the machine has to offer."""

from pathlib import Path

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


def readable(bytes: int) -> str:
    """A number of bytes as a person reads it.

    >>> readable(421_000_000)
    '421 MB'
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if bytes >= size:
            return f"{bytes / size:.3g} {unit}"
    return f"{bytes} bytes"
