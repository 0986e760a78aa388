"""Streaming deep reinforcement learning under partial observability, in JAX."""

__version__ = "0.1.0"
