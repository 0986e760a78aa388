"""The settings that the paper gives each agent in each environment, for a run of one's own."""

import dataclasses
from typing import Any

from rillax import envs
from rillax.agents import AGENTS
from rillax.paper import tables
from rillax.utils import settings


def paper(agent: str, env: str, frames: int) -> Any:
    """An agent with the paper's settings for an environment, for a run of this many frames.

    Where the tables are silent, epsilon falls over the first tenth of the run on MemoryChain, as it
    does on KMemoryChain (Table 6), and gradients are not clipped (docs/paper.md says why). An agent
    of a user's, ``module:Name``, has its own defaults.
    """
    kind = settings.resolve("agent", agent, AGENTS)
    envs.check(env)
    made = tables.agent_for(agent, family(env), frames)
    return kind() if made is None else made


def bounded(agent: Any) -> Any:
    """The agent with its inputs bounded, as it has them by default and the paper has not.

    The bound is generous: where nothing is wrong with a stream, it changes nothing.
    """
    default = getattr(type(agent), "input_bound", None)
    return agent if default is None else dataclasses.replace(agent, input_bound=default)


def family(env: str) -> str:
    """The family of environments whose table applies."""
    if env in envs.MUJOCO:
        return "MuJoCo"
    if env in envs.POPGYM:
        return "POPGym"
    return env
