"""Settings for the whole test suite."""

import os
from importlib.util import find_spec
from pathlib import Path

# The tests compile many small programs and run each briefly: less optimisation, sooner done.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
# What one process has compiled, the others load: the workers, the runs they start, the next time.
os.environ.setdefault(
    "JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "compiled")
)
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")

import pytest
from hypothesis import settings

from rillax._jax import enable_x64

settings.register_profile("rillax", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("rillax")

collect_ignore = [] if find_spec("gymnax") else ["envs/test_gymnax.py"]


@pytest.fixture
def x64():
    """Double precision for the length of one test."""
    with enable_x64(True):
        yield
