"""What the wrappers append, on our games and on gymnax's own environments."""

import jax
import jax.numpy as jnp
import numpy as np
import popgym.envs
import pytest
from popgym.wrappers import PreviousAction as TheirPreviousAction

from rillax.envs import PreviousAction, PreviousReward, make
from rillax.envs.popgym import GAMES
from rillax.envs.wrappers import flatten
from tests.forms import needs_gymnax

from .reference import cards_of, scripted_reset
from .rollouts import random_keys, unroll


def play(env, actions, start=None):
    return unroll(env, random_keys(np.random.default_rng(0), len(actions)), actions, start)


@pytest.mark.parametrize("name", ["Pendulum-v1", "FrozenLake-misc", "DeepSea-bsuite"])
def test_any_gymnax_environment_can_be_wrapped(name):
    """Continuous actions; discrete observations; images, and a step of the environment's own."""
    env = pytest.importorskip("gymnax").make(name)[0]
    params = env.default_params
    both = PreviousReward(PreviousAction(env))
    space = env.action_space(params)
    rng = np.random.default_rng(1)
    if hasattr(space, "n"):
        actions = rng.integers(space.n, size=60)
        encoded = np.eye(space.n, dtype=np.float32)[actions]
    else:
        actions = encoded = rng.uniform(space.low, space.high, (60, *space.shape)).astype("f4")
    plain, wrapped = play(env, actions), play(both, actions)
    seen = jax.vmap(lambda o: flatten(env.observation_space(params), o))
    size = len(wrapped.first) - encoded.shape[1] - 1

    np.testing.assert_array_equal(wrapped.first[:size], seen(plain.first[None])[0])
    np.testing.assert_array_equal(wrapped.first[size:], 0)
    np.testing.assert_array_equal(wrapped.final[:, :size], seen(plain.final))
    np.testing.assert_array_equal(wrapped.final[:, size:-1], encoded)
    np.testing.assert_array_equal(wrapped.final[:, -1], plain.rewards.astype(np.float32))

    done = plain.terminated | plain.truncated
    assert done.any() == (name != "Pendulum-v1")
    np.testing.assert_array_equal(wrapped.after[:, :size], seen(plain.after))
    np.testing.assert_array_equal(wrapped.after[~done], wrapped.final[~done])
    np.testing.assert_array_equal(wrapped.after[done, size:], 0)
    np.testing.assert_array_equal(wrapped.rewards, plain.rewards)
    np.testing.assert_array_equal(wrapped.terminated, plain.terminated)
    np.testing.assert_array_equal(wrapped.truncated, plain.truncated)

    space = both.observation_space(params)
    assert space.shape == wrapped.first.shape
    assert (wrapped.final >= space.low).all()
    assert (wrapped.final <= space.high).all()


def test_step_env_and_reset_env_agree_with_step_and_reset():
    env = make("RepeatFirstEasy", previous_action=True, previous_reward=True)
    params = env.default_params
    key = jax.random.key(3)
    first, state = env.reset(key, params)
    np.testing.assert_array_equal(first, jax.jit(env.reset_env)(key, params)[0])
    _, after, reward, *_, info = env.step(key, state, 2, params)
    observation, same, same_reward, *_ = jax.jit(env.step_env)(
        jax.random.split(key)[0], state, 2, params
    )
    np.testing.assert_array_equal(observation, info["final_observation"])
    jax.tree.map(np.testing.assert_array_equal, after, same)
    assert reward == same_reward

    seen, added = env.split(observation)
    assert added == reward
    seen, added = env.env.split(seen)
    np.testing.assert_array_equal(added, np.eye(4)[2])
    np.testing.assert_array_equal(seen, np.eye(4)[after.card])


def test_observe_knows_the_action_too():
    env = make("ConcentrationEasy")
    params = env.default_params
    key = jax.random.key(0)
    first, state = env.reset(key, params)
    np.testing.assert_array_equal(env.observe(key, state, None, params), first)
    observation, state, *_ = env.step_env(key, state, 7, params)
    np.testing.assert_array_equal(env.observe(key, state, 7, params), observation)


@pytest.mark.parametrize("name", GAMES)
def test_make_adds_the_previous_action_where_the_reference_requires_it(name):
    required = getattr(popgym.envs, name).obs_requires_prev_action
    assert isinstance(make(name), PreviousAction) == required
    assert isinstance(make(name, previous_action=True), PreviousAction)
    assert not isinstance(make(name, previous_action=False), PreviousAction)


def test_make_adds_the_previous_reward_last():
    env = make("MemoryChain", length=3, previous_action=True, previous_reward=True)
    observation, _ = env.reset(jax.random.key(0), env.default_params)
    assert observation.shape == (3 + 2 + 1,)
    assert isinstance(env, PreviousReward)
    assert env.default_params.memory_length == 3


def test_concentration_shows_what_the_references_wrapper_shows():
    """But for the reset: there the reference claims that the previous action was 0."""
    env = make("ConcentrationHard")
    reference = popgym.envs.ConcentrationHard()
    kind_of_card = reference.deck_idx_type
    table = np.random.default_rng(0).permutation(kind_of_card)
    scripted_reset(reference, shuffle=[cards_of(table, kind_of_card)])
    theirs = TheirPreviousAction(reference)
    _, start = env.reset(jax.random.key(0), env.default_params)
    start = start.replace(cards=jnp.asarray(table, jnp.int32), left=jnp.zeros_like(start.left))
    actions = np.random.default_rng(1).integers(52, size=103)
    steps = play(env, actions, start)
    for observation, action in zip(steps.final, actions, strict=True):
        (cards, previous), *_ = theirs.step(action)
        seen, added = env.decode(jnp.asarray(observation))
        np.testing.assert_array_equal(seen, cards)
        assert added.argmax() == previous
        assert added.sum() == 1


@needs_gymnax
def test_gradients_through_a_transition_stay_available():
    env = make("Pendulum-v1", previous_action=True)
    assert env.supports_transition_gradients
    assert not env.transition_gradients_enabled
    assert env.with_transition_gradients().transition_gradients_enabled


@pytest.mark.parametrize("module", ["rillax.envs.spaces", "gymnax.environments.spaces"])
def test_a_space_that_makes_no_vector_is_refused(module):
    spaces = pytest.importorskip(module)
    with pytest.raises(ValueError, match="only Box, Discrete, Tuple and Dict"):
        flatten(spaces.Dict({}), {})


@pytest.mark.parametrize("module", ["rillax.envs.spaces", "gymnax.environments.spaces"])
def test_a_tuple_space_is_laid_end_to_end(module):
    spaces = pytest.importorskip(module)
    space = spaces.Tuple([spaces.Discrete(3), spaces.Box(-1.0, 1.0, (2,), jnp.float32)])
    value = (jnp.int32(1), jnp.array([0.5, -0.5]))
    np.testing.assert_array_equal(flatten(space, value), [0, 1, 0, 0.5, -0.5])
