"""Streaming agents: settings, and the pure functions ``init``, ``act`` and ``learn``."""

from rillax.agents.qrc import QRC, QRCState

__all__ = ["QRC", "QRCState"]
