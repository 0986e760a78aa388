"""The wall around what JAX may change: the fast forms, their plain fallbacks, and why one is used.

``private`` has the names. Everything else imports from here, ``kernels`` and ``callbacks``.
"""

from rillax._jax.kernels import why_slow
from rillax._jax.private import configure, enable_x64, setting, use_one_thread

__all__ = ["configure", "enable_x64", "setting", "use_one_thread", "why_slow"]
