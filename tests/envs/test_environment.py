"""The base class: what it makes of an environment's own part, and the trees it carries."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.envs import Environment, environment, is_ours, spaces


@environment.dataclass
class State(environment.EnvState):
    place: jax.Array


@environment.dataclass
class Params(environment.EnvParams):
    goal: int = 3
    max_steps_in_episode: int = 5


class Walk(Environment[State, Params]):
    """Starts somewhere below the goal and ends on it; the action is the number of places to go."""

    @property
    def default_params(self):
        return Params()

    def reset_env(self, key, params):
        place = -jax.random.randint(key, (), 0, 1000)
        return jnp.float32(place), State(time=jnp.int32(0), place=place)

    def step_env(self, key, state, action, params):
        noise = jax.random.randint(key, (), 1000, 2000)
        state = state.replace(time=state.time + 1, place=state.place + action)
        over = self.is_terminated(state, params)
        return jnp.float32(state.place), state, jnp.float32(action), over, {"noise": noise}

    def is_terminated(self, state, params):
        return state.place == params.goal

    def action_space(self, params=None):
        return spaces.Discrete(2000)


def test_a_step_goes_on_where_the_episode_does():
    env, key = Walk(), jax.random.key(0)
    first, state = env.reset(key)
    observation, after, reward, terminated, truncated, info = env.step(key, state, 4)
    assert first == state.place
    assert observation == info["final_observation"] == after.place == state.place + 4
    assert after.time == 1
    assert reward == 4
    assert not terminated
    assert not truncated
    assert (info["terminated"], info["truncated"]) == (terminated, truncated)


def test_a_step_that_ends_an_episode_shows_the_next_one():
    """Its key makes two: the first is the step's, the second the reset's."""
    env, key = Walk(), jax.random.key(1)
    _, state = env.reset(key)
    observation, after, _, terminated, truncated, info = env.step(key, state, 3 - state.place)
    key_step, key_reset = jax.random.split(key)
    fresh, restarted = env.reset(key_reset)
    assert terminated
    assert not truncated
    assert info["final_observation"] == 3
    assert info["noise"] == jax.random.randint(key_step, (), 1000, 2000)
    assert observation == fresh
    jax.tree.map(np.testing.assert_array_equal, after, restarted)


def test_out_of_time_is_truncated():
    env, params = Walk(), Params(max_steps_in_episode=2)
    _, state = env.reset(jax.random.key(2), params)
    for t in range(2):
        _, state, _, terminated, truncated, _ = env.step(jax.random.key(t), state, 0, params)
        assert not terminated
        assert truncated == (t == 1)
    assert state.time == 0


def test_an_episode_without_a_limit_is_not_cut_off():
    env, params = Walk(), environment.EnvParams()
    assert not env.is_truncated(State(time=jnp.int32(10**9), place=0), params)


def test_what_follows_from_the_rest():
    env = Walk()
    assert env.name == "Walk"
    assert env.num_actions == 2000
    _, state = env.reset(jax.random.key(0))
    assert env.discount(state, env.default_params) == 1
    assert env.discount(state.replace(place=3), env.default_params) == 0
    assert not is_ours(env)


def test_transition_gradients_are_for_those_who_have_them():
    assert not Walk().supports_transition_gradients
    with pytest.raises(ValueError, match="Walk does not support transition gradients"):
        Walk().with_transition_gradients()


def test_a_state_is_a_frozen_tree_of_its_fields():
    state = State(time=1, place=jnp.arange(2))
    assert [f.name for f in dataclasses.fields(state)] == ["time", "place"]
    assert len(jax.tree.leaves(state)) == 2
    assert jax.tree.map(lambda x: x + 1, state).time == 2
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    assert paths == [".time", ".place"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        state.time = 3
    assert state.replace(time=5).time == 5
    with pytest.raises(TypeError, match="depth"):
        state.replace(depth=5)


def test_a_field_defined_anew_keeps_its_place():
    assert [f.name for f in dataclasses.fields(Params)] == ["max_steps_in_episode", "goal"]
    assert jax.tree.leaves(Params()) == [5, 3]


def test_params_are_numbers_to_a_compiled_program():
    """Other numbers run in the same program."""
    traces = []

    @jax.jit
    def goal(params):
        traces.append(params)
        return params.goal + 1

    assert goal(Params(goal=3)) == 4
    assert goal(Params(goal=7)) == 8
    assert len(traces) == 1


def test_a_static_field_is_a_constant():
    @environment.dataclass
    class Sized:
        values: jax.Array
        size: int = dataclasses.field(metadata={"static": True})

    sized = Sized(jnp.ones(2), size=2).replace(size=3)
    assert len(jax.tree.leaves(sized)) == 1
    assert jax.jit(lambda s: jnp.zeros(s.size))(sized).shape == (3,)
