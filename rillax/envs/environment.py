"""The interface of an environment in JAX."""

from typing import Any

from gymnax.environments.environment import Environment

__all__ = ["Environment", "is_jax"]


def is_jax(env: Any) -> bool:
    """Whether an environment runs inside compiled programs; if not, it is Gymnasium's."""
    return hasattr(env, "step_env")
