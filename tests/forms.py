"""What some tests need."""

from importlib.util import find_spec

import pytest

from rillax._jax import private

needs_fast_forms = pytest.mark.skipif(
    private.why_off() is not None, reason=f"there are no fast forms: {private.why_off()}"
)

needs_gymnax = pytest.mark.skipif(
    find_spec("gymnax") is None, reason="gymnax is not installed; it wants JAX below 0.12"
)
