"""The metric that counts steps which were not taken because they would not have been finite."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from rillax.updates import refused_steps


def count_refused(before: Any, after: Any) -> dict[str, Float[Array, ""]]:
    """How many steps the rules refused in between; nothing where no rule refuses any."""
    then, now = refused_steps(before), refused_steps(after)
    if then is None or now is None:
        return {}
    return {"refused": (now - then).astype(jnp.result_type(float))}
