"""Networks: encoder, recurrent layers, head."""

from rillax.networks.network import *  # noqa: F403
