"""What a test needs that looks into the fast forms."""

import pytest

from rillax._jax import private

needs_fast_forms = pytest.mark.skipif(
    private.why_off() is not None, reason=f"there are no fast forms: {private.why_off()}"
)
