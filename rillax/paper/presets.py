"""The settings that the paper gives each agent in each environment, for a run of one's own."""

import dataclasses
from typing import Any

from rillax import envs
from rillax.agents import AGENTS
from rillax.networks import Architecture
from rillax.paper import tables
from rillax.utils import settings


def paper(agent: str, env: str, frames: int) -> Any:
    """An agent with the paper's settings for an environment, for a run of this many frames.

    Where the tables are silent, epsilon falls over the first tenth of the run on MemoryChain, as it
    does on KMemoryChain (Table 6), and gradients are not clipped (docs/architecture.md says why).
    An agent of ours without a table has its own defaults and the networks of Appendix A. An agent
    of a user's, ``module:Name``, has its own defaults.
    """
    kind = settings.resolve("agent", agent, AGENTS)
    envs.check(env)
    table = tables.table_for(agent, family(env))
    if table is not None:
        return dataclasses.replace(table.agent_for(frames), network=network_for(env))
    return kind(network=network_for(env)) if agent in AGENTS else kind()


def network_for(env: str) -> Architecture:
    """The networks of Appendix A, which differ by the kind of actions."""
    return tables.CONTINUOUS if env in envs.MUJOCO else tables.DISCRETE


def family(env: str) -> str:
    """The family of environments whose table applies."""
    if env in envs.MUJOCO:
        return "MuJoCo"
    if env in envs.POPGYM:
        return "POPGym"
    return env
