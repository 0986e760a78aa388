"""Streaming agents: settings, and the pure functions ``init``, ``act`` and ``learn``."""

from rillax.agents.qrc import QRC, QRCState
from rillax.agents.stream_ac import StreamAC, StreamACState

__all__ = ["QRC", "QRCState", "StreamAC", "StreamACState"]
