"""An agent of the user's own in every kind of loop, and what importing the loops costs."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import PPO, QRC, StreamAC
from rillax.envs import MemoryChain
from rillax.loops import make_loop
from rillax.loops.interface import learns_from
from tests.loops.test_host import Stream


class State(NamedTuple):
    weight: Any
    """What is learned."""
    sample: Any
    updates: Any
    steps: Any


@dataclass(frozen=True)
class Mean:
    """Learns, from rollouts, the mean reward of its one action."""

    learns_from: ClassVar[str] = "rollouts"
    acting_fields: ClassVar[tuple[str, ...]] = ("sample", "steps")
    update_fields: ClassVar[tuple[str, ...]] = ("updates",)
    environments: int = 2
    rollout: int = 5

    @property
    def frames(self):
        return self.environments * self.rollout

    def init(self, key, observation_space, action_space):
        return State(jnp.zeros(()), jnp.zeros(self.environments), jnp.int32(0), jnp.int32(0))

    def act(self, state, observation, seen=None):
        return state._replace(steps=state.steps + 1), jnp.ones(self.environments, int)

    def record(self, state, reward, next_observation, terminated, truncated, usable=None):
        state = state._replace(sample=reward)
        return state, reward, {"weight": self.environments * state.weight}

    def update(self, state, rollout):
        return state._replace(weight=jnp.mean(rollout), updates=state.updates + 1)

    def batch(self, state, rollout):
        return rollout


@pytest.mark.parametrize("env", [MemoryChain(3), Stream], ids=["compiled", "host"])
def test_rollouts_of_an_agent_of_ones_own(env):
    loop = make_loop(Mean(), env, [0, 1])
    statistics = loop.run(2 * 5 + 2 * 3)
    state = loop.agent_state()
    np.testing.assert_array_equal(state.steps, [8, 8])
    np.testing.assert_array_equal(state.updates, [1, 1])
    np.testing.assert_array_equal(statistics.frames, [16, 16])
    if env is Stream:  # whose reward is the action
        np.testing.assert_array_equal(state.weight, [1, 1])
        np.testing.assert_array_equal(statistics.metrics["weight"], [4, 4])  # one step is pending
        np.testing.assert_array_equal(statistics.returns, 4 * statistics.episodes)
    again = make_loop(Mean(), env, [0, 1])
    again.restore(loop.save(), "x")
    for a, b in zip(jax.tree.leaves(again.run(7)), jax.tree.leaves(loop.run(7)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_agents_say_how_they_are_run():
    assert learns_from(QRC()) == learns_from(StreamAC()) == "steps"
    assert learns_from(PPO()) == "rollouts"
    assert learns_from(object()) == "steps"


def test_a_learner_imports_no_environments():
    code = "import sys; from rillax.loops import Learner; print('gymnax' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
