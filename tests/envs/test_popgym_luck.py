"""What takes foresight: the best possible returns, and ends that come at the last moment."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from rillax.envs import make
from rillax.envs.popgym import GAMES

from .reference import cards_of, make_reference, run, scripted_reset
from .rollouts import random_keys, unroll

CONCENTRATION = [name for name in GAMES if name.startswith("Concentration")]
CART_POLES = ["PositionOnlyCartPoleEasy", "VelocityOnlyCartPoleEasy"]


def play_actions(env, start, actions):
    """Rewards and ends of given actions from a given state, as far as the first end."""
    keys = random_keys(np.random.default_rng(0), len(actions))
    steps = unroll(env, keys, np.asarray(actions), start)
    end = int((steps.terminated | steps.truncated).argmax()) + 1
    return steps.rewards[:end], steps.terminated[:end], steps.truncated[:end]


def assert_same(ours, theirs):
    rewards, terminated, truncated = ours
    np.testing.assert_allclose(rewards, theirs.rewards, rtol=1e-6)
    np.testing.assert_array_equal(terminated, theirs.terminated)
    np.testing.assert_array_equal(truncated, theirs.truncated)


def lay_out(name, seed):
    """The same random table in both games."""
    env, reference = make(name, previous_action=False), make_reference(name)
    kind_of_card = reference.deck_idx_type
    table = np.random.default_rng(seed).permutation(kind_of_card)
    seen = scripted_reset(reference, shuffle=[cards_of(table, kind_of_card)])
    _, start = env.reset(jax.random.key(0), env.default_params)
    start = start.replace(cards=jnp.asarray(table, jnp.int32), left=jnp.zeros_like(start.left))
    return env, start, reference, seen, table


@pytest.mark.parametrize("name", CONCENTRATION)
def test_whoever_knows_the_table_finds_every_pair_for_a_return_of_one(name):
    env, start, reference, seen, table = lay_out(name, seed=1)
    pairs = table.argsort(kind="stable")
    ours = play_actions(env, start, pairs)
    assert len(ours[0]) == env.num_cards
    assert ours[1][-1]
    assert ours[0].sum() == pytest.approx(1)
    assert_same(ours, run(reference, seen, pairs))


def test_the_last_pair_at_the_last_moment_ends_the_game_twice():
    env, start, reference, seen, table = lay_out("ConcentrationEasy", seed=2)
    wasted = np.zeros(env.episode_length - env.num_cards, int)
    actions = np.concatenate([wasted, table.argsort(kind="stable")])
    ours = play_actions(env, start, actions)
    assert len(ours[0]) == env.episode_length
    assert ours[1][-1]
    assert ours[2][-1]
    assert_same(ours, run(reference, seen, actions))


def test_the_last_hit_at_the_last_moment_ends_the_game_twice():
    reference = make_reference("BattleshipEasy")
    env = make("BattleshipEasy", previous_action=False)
    _, start = env.reset(jax.random.key(3), env.default_params)
    seen, _ = reference.reset(seed=0)
    reference.board = np.asarray(start.board, np.int8).reshape(reference.board.shape)
    actions = np.asarray(start.board).argsort(kind="stable")
    ours = play_actions(env, start, actions)
    assert len(ours[0]) == env.episode_length
    assert ours[1][-1]
    assert ours[2][-1]
    assert ours[0].sum() == pytest.approx(0, abs=1e-5)
    assert_same(ours, run(reference, seen, actions))


@pytest.mark.parametrize("name", CART_POLES)
def test_a_pole_that_falls_at_the_last_moment_ends_the_game_twice(name):
    env, reference = make(name), make_reference(name)
    falling = np.array([0.0, 0.0, 0.2, 1.0])
    reference.reset(seed=0)
    reference.state, reference.num_steps = falling, 199
    _, start = env.reset(jax.random.key(0), env.default_params)
    x, x_dot, theta, theta_dot = jnp.asarray(falling, jnp.float32)
    start = start.replace(x=x, x_dot=x_dot, theta=theta, theta_dot=theta_dot, time=jnp.int32(199))
    ours = play_actions(env, start, [0])
    assert ours[1][-1]
    assert ours[2][-1]
    assert_same(ours, run(reference, None, [0]))
