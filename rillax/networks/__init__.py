"""Networks: encoder, recurrent layers, head; ``Architecture`` holds their settings."""

from rillax.networks.build import Architecture, EncoderFactory
from rillax.networks.network import (
    Head,
    Memories,
    Network,
    Stream,
    advance,
    hiddens,
    learn,
    pick,
    split,
    start,
    streams,
)

__all__ = [
    "Architecture",
    "EncoderFactory",
    "Head",
    "Memories",
    "Network",
    "Stream",
    "advance",
    "hiddens",
    "learn",
    "pick",
    "split",
    "start",
    "streams",
]
