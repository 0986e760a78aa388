"""A step-size rule of your own: steps of a fixed norm along the trace.

rillax train --agent stream_ac --actor my_rules:FixedNorm --critic my_rules:FixedNorm
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import optax

from rillax.updates import eligibility_trace


@dataclass(frozen=True)
class FixedNorm:
    """Step along the trace by the TD error, but never further than ``norm``."""

    step_size: float = 0.1
    """The largest step size."""
    norm: float = 0.01
    """The largest norm of a step."""

    def build(self, decay: float) -> optax.GradientTransformationExtraArgs:
        """An optax transformation: gradient in, step out, an eligibility trace between them."""

        def init(params: Any) -> optax.EmptyState:
            return optax.EmptyState()

        def update(trace: Any, state: Any, params: Any = None, *, td_error: Any, **_: Any) -> Any:
            length = jnp.abs(td_error) * optax.global_norm(trace)
            scale = td_error * jnp.minimum(self.step_size, self.norm / jnp.maximum(length, 1e-12))
            return jax.tree.map(lambda z: scale * z, trace), state

        rule = optax.GradientTransformationExtraArgs(init, update)
        return optax.chain(eligibility_trace(decay), rule)
