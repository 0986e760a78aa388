"""The settings that the paper gives each agent in each environment, for a run of one's own."""

from typing import Any

from rillax import envs
from rillax.agents import AGENTS, PPO, QRC, StreamAC
from rillax.paper import tables
from rillax.utils.names import choose

Agent = QRC | StreamAC | PPO


def paper(agent: str, env: str, frames: int) -> Agent:
    """The paper's settings for an agent in an environment, for a run of so many frames.

    Where its tables are silent: epsilon falls over the first tenth of the run on MemoryChain, as it
    does on KMemoryChain (Table 6), and gradients are not clipped (docs/architecture.md says why).
    """
    choose("agent", agent, AGENTS)
    if not envs.is_gymnasium(env):
        choose("environment", env, envs.names())
    settings, network = settings_for(agent, env, frames)
    return tables.build(agent, settings, network)


def settings_for(agent: str, env: str, frames: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an agent and of its networks; an agent without a table keeps its own."""
    network = dict(tables.CONTINUOUS if env in envs.MUJOCO else tables.DISCRETE)
    table = tables.table_for(agent, family(env))
    return ({} if table is None else table.settings_for(frames)), network


def family(env: str) -> str:
    """The family of environments whose table applies."""
    if env in envs.MUJOCO:
        return "MuJoCo"
    if env in envs.POPGYM:
        return "POPGym"
    return env
