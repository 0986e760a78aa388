"""The loop that fits an agent and an environment."""

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium

from rillax.envs.environment import is_jax
from rillax.envs.wrappers import for_agents
from rillax.loops.compiled import CompiledLoop
from rillax.loops.host import HostLoop
from rillax.loops.host_rollouts import HostRollouts
from rillax.loops.inputs import OnBadInput
from rillax.loops.interface import Agent, Loop, RolloutAgent, learns_from
from rillax.loops.rollouts import CompiledRollouts


def make_loop(
    agent: Agent | RolloutAgent,
    env: Any,
    seeds: Sequence[int],
    on_bad_input: OnBadInput = "raise",
) -> Loop:
    """The loop of an agent and some seeds in a gymnax environment or in Gymnasium ones.

    ``env`` is a gymnax environment, a Gymnasium one (for a single seed), or a function that makes
    a Gymnasium one.
    """
    chosen: Any = agent
    rollouts, in_jax = learns_from(agent) == "rollouts", is_jax(env)
    if in_jax:
        return (CompiledRollouts if rollouts else CompiledLoop)(chosen, for_agents(env), seeds)
    make_env: Callable[[], gymnasium.Env] = (lambda: env) if isinstance(env, gymnasium.Env) else env
    if rollouts:
        return HostRollouts(chosen, make_env, seeds, on_bad_input)
    return HostLoop(chosen, [make_env() for _ in seeds], seeds, on_bad_input)
