"""The programs here run once and briefly: most of their time would go into optimising them."""

import jax
import pytest


@pytest.fixture(scope="package", autouse=True)
def _quick_to_compile():
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
