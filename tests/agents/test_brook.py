"""Brook is stream AC with other numbers; a deviation that depends on the state has a floor."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.agents import Brook, StreamAC, one_kernel
from rillax.agents.policies import make_policy
from rillax.cells import RTU
from rillax.envs import spaces
from rillax.networks import Architecture

SMALL = Architecture(cell=RTU(4), width=4)
OBSERVED, ACTED = spaces.Box(-1.0, 1.0, (3,)), spaces.Box(-1.0, 1.0, (2,))


def test_a_step_is_that_of_stream_ac_with_its_numbers():
    brook = Brook(network=SMALL)
    names = [field.name for field in dataclasses.fields(StreamAC)]
    plain = StreamAC(**{name: getattr(brook, name) for name in names})
    states = []
    for agent in (brook, plain):

        @jax.jit
        def life(key, agent=agent):
            state = agent.init(key, OBSERVED, ACTED)
            for reward in (1.0, -2.0):
                state, _ = agent.act(state, jnp.ones(3))
                state, _ = agent.learn(state, reward, jnp.zeros(3), False, False)
            return state._replace(key=0)

        states.append(life(jax.random.key(0)))
    for ours, theirs in zip(*map(jax.tree.leaves, states), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert one_kernel(brook)


def test_a_certain_policy_still_tries_things():
    out = jnp.array([0.3, -50.0])
    policy = make_policy(out, None, True, 0.2)
    np.testing.assert_allclose(jnp.exp(policy.log_deviation), [0.2], rtol=1e-5)


def test_a_floor_that_is_none_is_refused():
    with pytest.raises(ValueError, match="least_deviation must be more than 0, got 0"):
        StreamAC(least_deviation=0)
