"""Settings for the whole test suite."""

import os

# One thread per worker: the arrays are small, and the workers share the cores.
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import jax
import pytest
from hypothesis import settings

settings.register_profile("rillax", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("rillax")


@pytest.fixture
def x64():
    """Double precision for the length of one test."""
    with jax.enable_x64(True):
        yield
