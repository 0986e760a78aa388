"""The settings that the paper gives each agent in each environment (Appendix A)."""

from typing import Any

from rillax import envs
from rillax.agents import AGENTS, QRC, StreamAC
from rillax.names import choose
from rillax.networks import Architecture

Agent = QRC | StreamAC


def paper(agent: str, env: str, frames: int) -> Agent:
    """The paper's settings for an agent in an environment, for a run of so many frames.

    Where its tables are silent: epsilon falls over the first tenth of the run on MemoryChain, as it
    does on KMemoryChain (Table 6), and gradients are not clipped (docs/architecture.md says why).
    """
    choose("agent", agent, AGENTS)
    if not envs.is_gymnasium(env):
        choose("environment", env, envs.names())
    network = Architecture(activation="tanh" if env in envs.MUJOCO else "leaky_relu")
    return _qrc(env, network, frames) if agent == "qrc" else _stream_ac(env, network)


def _qrc(env: str, network: Architecture, frames: int) -> QRC:
    """Tables 1, 2 and 6 differ in how long epsilon takes to fall; the rest are QRC's defaults."""
    share = 0.2 if env in envs.POPGYM else 0.1
    return QRC(network=network, epsilon_frames=max(1, round(share * frames)))


def _stream_ac(env: str, network: Architecture) -> StreamAC:
    """Tables 3 (StreamAC's defaults), 4 and 5."""
    settings: dict[str, Any] = {}
    if env in envs.MUJOCO:
        settings = {"entropy": 0.01, "actor_kappa": 1.5, "critic_kappa": 1.0}
    elif env in ("MemoryChain", "KMemoryChain"):
        settings = {"entropy": 0.01, "trace_decay": 0.95}
    return StreamAC(network=network, **settings)
