"""Agents: settings, and pure functions.

Streaming agents have ``init``, ``act`` and ``learn``; PPO, which learns from rollouts, has
``init``, ``act``, ``record`` and ``update``.
"""

import dataclasses
from typing import Any

from rillax.agents.ppo import PPO, PPOState, Sample
from rillax.agents.qrc import QRC, QRCState
from rillax.agents.stream_ac import StreamAC, StreamACState
from rillax.networks import Architecture
from rillax.utils.names import choose

__all__ = [
    "AGENTS",
    "PPO",
    "QRC",
    "PPOState",
    "QRCState",
    "Sample",
    "StreamAC",
    "StreamACState",
    "describe",
    "one_kernel",
    "rebuild",
]

AGENTS: dict[str, type[QRC] | type[StreamAC] | type[PPO]] = {
    "qrc": QRC,
    "stream_ac": StreamAC,
    "ppo": PPO,
}


def one_kernel(agent: Any) -> bool:
    """Whether a step of this agent is known to compile as one kernel (``rillax._jax.kernels``)."""
    if type(agent) not in (QRC, StreamAC):
        return False
    return agent.network.encoder is None


def describe(agent: Any) -> dict[str, Any]:
    """An agent's settings as JSON can hold them; ``rebuild`` is the way back."""
    settings = dataclasses.asdict(agent)
    if settings["network"]["encoder"] is not None:
        settings["network"]["encoder"] = repr(settings["network"]["encoder"])
    return {"agent": name_of(agent), "settings": settings}


def rebuild(description: dict[str, Any]) -> Any:
    """The agent that was described. An encoder of the user's own cannot be: it is code."""
    settings = dict(description["settings"])
    choose("agent", description["agent"], AGENTS)
    if settings["network"]["encoder"] is not None:
        raise ValueError(
            f"the agent has an encoder of its own, {settings['network']['encoder']}, which a file "
            "cannot hold; give the agent itself"
        )
    settings["network"] = Architecture(**settings["network"])
    return AGENTS[description["agent"]](**settings)


def name_of(agent: Any) -> str:
    """The name under which an agent is known, or its class's if it is of the user's own making."""
    return next((n for n, cls in AGENTS.items() if type(agent) is cls), type(agent).__name__)
