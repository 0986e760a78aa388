"""Names that a user types, and the settings the paper gives them (Appendix A)."""

import dataclasses
from typing import Any

from rillax import envs
from rillax.agents import QRC
from rillax.names import choose
from rillax.networks import Architecture

Agent = QRC

AGENTS: dict[str, type[Agent]] = {"qrc": QRC}


def paper(agent: str, env: str, frames: int) -> Agent:
    """The paper's settings for an agent in an environment, for a run of so many frames.

    Where its tables are silent: epsilon falls over the first tenth of the run on MemoryChain, as it
    does on KMemoryChain (Table 6), and gradients are not clipped (docs/architecture.md says why).
    """
    choose("agent", agent, AGENTS)
    choose("environment", env, envs.names())
    # Table 1: gamma, lambda, alpha_Q, alpha_h and beta are QRC's defaults.
    return QRC(network=Architecture(), epsilon_frames=max(1, frames // 10))


def describe(agent: Agent) -> dict[str, Any]:
    """An agent's settings as JSON can hold them."""

    def plain(value: Any) -> Any:
        return value if isinstance(value, int | float | str | bool | None) else repr(value)

    def tree(value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {f.name: tree(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return plain(value)

    return tree(agent)
