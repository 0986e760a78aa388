"""Agents: settings, and pure functions.

Streaming agents have ``init``, ``act`` and ``learn``; PPO, which learns from rollouts, has
``init``, ``act``, ``record`` and ``update``.
"""

from typing import Any

from rillax.agents.brook import Brook
from rillax.agents.ppo import PPO, PPOState, Sample
from rillax.agents.qrc import QRC, QRCState
from rillax.agents.rill import Rill, RillState
from rillax.agents.stream_ac import StreamAC, StreamACState
from rillax.agents.stream_q import StreamQ, StreamQState
from rillax.agents.td import TD, TDState
from rillax.cells import CELLS
from rillax.utils import settings

__all__ = [
    "AGENTS",
    "PPO",
    "QRC",
    "TD",
    "Brook",
    "PPOState",
    "QRCState",
    "Rill",
    "RillState",
    "Sample",
    "StreamAC",
    "StreamACState",
    "StreamQ",
    "StreamQState",
    "TDState",
    "name_of",
    "one_kernel",
    "title",
]

AGENTS: dict[
    str, type[Rill] | type[QRC] | type[StreamQ] | type[StreamAC] | type[TD] | type[PPO]
] = {
    "rill": Rill,
    "brook": Brook,
    "qrc": QRC,
    "stream_q": StreamQ,
    "stream_ac": StreamAC,
    "td": TD,
    "ppo": PPO,
}


def one_kernel(agent: Any) -> bool:
    """Whether a step of this agent may be compiled as one kernel (``rillax._jax.kernels``).

    A compiler that is asked for too much may abort, so code of a user's is compiled in the ordinary
    way.
    """
    return type(agent) in (Rill, Brook, QRC, StreamQ, StreamAC, TD) and settings.all_ours(agent)


def name_of(agent: Any) -> str:
    """The name under which an agent is known, or its class's if it is of the user's own making."""
    return next((n for n, cls in AGENTS.items() if type(agent) is cls), type(agent).__name__)


def title(agent: Any) -> str:
    """An agent and its memory in a few words.

    >>> title(QRC())
    'qrc (rtu-rtrl)'
    """
    network = getattr(agent, "network", None)
    layers = getattr(network, "layers", ())
    memory = "+".join(_cell_title(cell) for cell in layers)
    length = getattr(agent, "sequence_length", 1)
    length = f"({length})" if length > 1 and "-" in memory else ""
    return f"{name_of(agent)} ({memory}{length})" if memory else name_of(agent)


def _cell_title(cell: Any) -> str:
    name = next((n for n, cls in CELLS.items() if type(cell) is cls), type(cell).__name__)
    gradient = getattr(cell, "gradient", None)
    return name if gradient is None else f"{name}-{gradient}"
