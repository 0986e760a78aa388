"""Settings for the whole test suite."""

import os

# The tests compile many small programs and run each briefly: less optimisation, sooner done.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

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
