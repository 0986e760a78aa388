"""The hidden states that we draw, against the reference's: tables, boards, starts and noise.

The decks of games that deal are compared in test_popgym.py, by the same means: each is checked to
be a whole deck, and the joint kinds of two of its cards are compared with the law of a shuffle and
with decks that the reference shuffled.
"""

import jax
import jax.numpy as jnp
import numpy as np
import popgym.envs
import pytest
from scipy import stats

from rillax.envs import make
from rillax.envs.popgym import GAMES, Battleship, deck

from .reference import make_reference
from .rollouts import quick_jit, random_keys, unroll_many
from .shuffles import SURPRISING, assert_same_shuffles, same_law

TABLES, BOARDS = 1000, 2000


def of(*families):
    return [name for name in GAMES if name.startswith(families)]


def test_a_deal_is_uniform_over_the_cards_left():
    left = jnp.array([5, 0, 1, 14])
    keys = random_keys(np.random.default_rng(0), 40_000)
    kinds, after = jax.vmap(deck.deal, in_axes=(0, None))(keys, left)
    counts = np.bincount(kinds, minlength=4)
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2, 3]], 2000 * np.array([5, 1, 14])).pvalue > SURPRISING
    np.testing.assert_array_equal(after, left - np.eye(4, dtype=int)[np.asarray(kinds)])


def test_an_empty_deck_deals_nothing():
    _, after = deck.deal(jax.random.key(0), jnp.zeros(4, jnp.int32))
    np.testing.assert_array_equal(after, 0)


def draw_theirs(reference, hidden, count):
    """What so many of the reference's resets hide."""
    reference.reset(seed=5)
    drawn = []
    for _ in range(count):
        reference.reset()
        drawn.append(hidden(reference))
    return np.array(drawn)


def our_tables(name):
    """Tables of Concentration, looked at by turning every card once."""
    env = make(name, previous_action=False)
    position = np.arange(env.num_cards)
    final = unroll_many(env, np.tile(position, (TABLES, 1))).final
    final = final.reshape(TABLES, env.num_cards, env.num_cards, -1)
    return final[:, position, position].argmax(axis=-1)


@pytest.mark.parametrize("name", of("Concentration"))
def test_tables_are_laid_as_the_references_are(name):
    theirs = draw_theirs(make_reference(name), lambda reference: reference.state, TABLES)
    assert_same_shuffles(our_tables(name), theirs)


def resets(env, count):
    keys = random_keys(np.random.default_rng(5), count)
    params = env.default_params
    return quick_jit(jax.vmap(lambda key: env.reset(key, params)))(keys)


@pytest.mark.parametrize("name", of("MineSweeper"))
def test_mines_lie_as_the_references_do(name):
    ours = np.asarray(resets(make(name, previous_action=False), BOARDS)[1].mines)
    reference = make_reference(name)
    theirs = draw_theirs(reference, lambda reference: reference.hidden_grid.ravel() == 1, BOARDS)
    assert (ours.sum(axis=1) == reference.num_mines).all()
    for which in ([0, 1], [-1, -2], [0, -1]):
        assert same_law(*counts_of(_two_squares(ours, which), _two_squares(theirs, which)))


@pytest.mark.parametrize("name", of("Battleship"))
def test_ships_lie_as_the_references_do(name):
    ours = np.asarray(resets(make(name, previous_action=False), BOARDS)[1].board)
    theirs = draw_theirs(make_reference(name), lambda reference: reference.board.ravel(), BOARDS)
    assert (ours.sum(axis=1) == 12).all()
    for which in ([0, 1], [-1, -2], [5, 6]):
        assert same_law(*counts_of(_two_squares(ours, which), _two_squares(theirs, which)))


def _two_squares(boards, which):
    """Two of each board's occupied squares, by their rank from either end, as one number."""
    occupied = np.array([np.flatnonzero(board)[which] for board in boards])
    return len(boards[0]) * occupied[:, 0] + occupied[:, 1]


def counts_of(ours, theirs):
    """Two samples in the same bins; bins too rare for a chi-squared test are taken together."""
    bins = max(ours.max(), theirs.max()) + 1
    counts = np.array([np.bincount(sample, minlength=bins) for sample in (ours, theirs)])
    rare = counts.sum(axis=0) < 20
    return np.concatenate([counts[:, ~rare], counts[:, rare].sum(axis=1, keepdims=True)], axis=1)


def test_every_set_of_mines_is_equally_likely():
    mines = np.asarray(resets(make("MineSweeperEasy", previous_action=False), 12_000)[1].mines)
    _, counts = np.unique(mines, axis=0, return_counts=True)
    assert len(counts) == 120
    assert stats.chisquare(counts).pvalue > SURPRISING


def test_every_fleet_is_as_likely_as_in_the_reference():
    """On a board so small that whole boards can be counted."""
    reference = popgym.envs.Battleship(board_size=4, ship_sizes=[2, 3])
    place_values = 2 ** np.arange(16)
    ours = np.asarray(resets(Battleship(board_size=4, ship_sizes=(2, 3)), 6000)[1].board)
    theirs = draw_theirs(reference, lambda reference: reference.board.ravel(), 6000)
    ours, theirs = ours @ place_values, theirs @ place_values
    assert set(ours) == set(theirs)
    assert same_law(*counts_of(ours, theirs))


def test_arms_are_uniform():
    bandits = np.asarray(resets(make("MultiarmedBanditEasy"), 2000)[1].bandits)
    for arm in bandits.T:
        assert stats.kstest(arm, "uniform").pvalue > SURPRISING


def test_carts_start_as_the_references_do():
    state = resets(make("PositionOnlyCartPoleEasy"), 4000)[1]
    for part in (state.x, state.x_dot, state.theta, state.theta_dot):
        assert stats.kstest(part, "uniform", (-0.05, 0.1)).pvalue > SURPRISING


def test_pendulums_start_as_the_references_do():
    state = resets(make("PositionOnlyPendulumEasy"), 4000)[1]
    assert stats.kstest(state.theta, "uniform", (-np.pi, 2 * np.pi)).pvalue > SURPRISING
    assert stats.kstest(state.theta_dot, "uniform", (-1, 2)).pvalue > SURPRISING


@pytest.mark.parametrize("name", of("Noisy"))
def test_noise_is_gaussian_clipped_and_independent_of_what_it_hides(name):
    env = make(name)
    observation, state = resets(env, 4000)
    space = env.observation_space(env.default_params)
    assert (observation <= space.high).all()
    assert (observation >= space.low).all()

    sigma = env.noise_sigma
    truth = np.asarray(state.x) if "CartPole" in name else np.cos(np.asarray(state.theta))
    noise = np.asarray(observation)[:, 0] - truth
    # Within one sigma of a truth that is two from the bounds, nothing is clipped.
    clear = (np.abs(noise) < sigma) & (np.abs(truth) < np.max(space.high) - 2 * sigma)
    assert clear.sum() > 500
    noise, truth = noise[clear], truth[clear]
    assert stats.kstest(noise, stats.truncnorm(-1, 1, scale=sigma).cdf).pvalue > SURPRISING
    assert stats.pearsonr(noise, truth).pvalue > SURPRISING
