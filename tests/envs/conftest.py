"""The programs here run once and briefly: most of their time would go into optimising them."""

import jax
import pytest


@pytest.fixture(scope="package", autouse=True)
def _quick_to_compile():
    before = jax.config.read("jax_disable_most_optimizations")
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Easy and Hard are the ends of each game; Medium lies between them and is for test-all."""
    for item in items:
        if "tests/envs" in item.nodeid and "Medium" in item.name:
            item.add_marker(pytest.mark.slow)
