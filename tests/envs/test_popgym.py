"""Our games and the reference's, in the same hidden state, under the same actions, step for step.

The reference is put into the state that our environment turned out to have: it is given the deck
that we dealt, the board that we drew. Then every observation, reward and end must be the same.
"""

import numpy as np
import pytest
from scipy import stats

from rillax.envs import make
from rillax.envs.popgym import GAMES

from .documented import Estimate, read_tables
from .reference import make_reference, replay
from .rollouts import play, unwrapped
from .shuffles import SURPRISING, assert_same_shuffles

REQUIRED = ("Autoencode", "Concentration", "CountRecall", "HigherLower", "RepeatFirst")
"""The games of the paper, played for 200 episodes by each player; the others for 100."""

NAMES = [name for name in GAMES if "CartPole" not in name and "Pendulum" not in name]

ONE_DECK = ("HigherLower", "RepeatFirst", "RepeatPrevious")
"""Games that show one deck, a card at a time, from the reset to the last step."""

LENGTHS = {
    "AutoencodeEasy": 103,
    "AutoencodeMedium": 207,
    "AutoencodeHard": 311,
    "CountRecallEasy": 51,
    "CountRecallMedium": 103,
    "CountRecallHard": 207,
    "HigherLowerEasy": 51,
    "HigherLowerMedium": 103,
    "HigherLowerHard": 155,
    "RepeatFirstEasy": 51,
    "RepeatFirstMedium": 415,
    "RepeatFirstHard": 831,
    "RepeatPreviousEasy": 51,
    "RepeatPreviousMedium": 103,
    "RepeatPreviousHard": 155,
    "MultiarmedBanditEasy": 200,
    "MultiarmedBanditMedium": 400,
    "MultiarmedBanditHard": 600,
}
"""Of the games that always take as long, whatever is done."""

ALL_RIGHT = ("Autoencode", "CountRecall", "RepeatFirst", "RepeatPrevious")
"""Games whose perfect player needs only a memory, and answers everything right."""

MINE_OR_SHIP = ("MineSweeper", "Battleship")
"""Games whose perfect player, who knows the board, loses nothing."""


def of(*families):
    return [name for name in NAMES if name.startswith(families)]


def episodes_of(name):
    return 200 if name.startswith(REQUIRED) else 100


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def episodes(name):
    return play(name, episodes_of(name))


def test_every_step_is_the_references(name, episodes):
    reference = make_reference(name)
    for batch in episodes.values():
        assert len(batch.actions) == episodes_of(name)
        for i, length in enumerate(batch.lengths):
            theirs = replay(reference, batch, i)
            assert len(theirs.rewards) == length
            np.testing.assert_array_equal(batch.seen[i, : length + 1], theirs.seen)
            np.testing.assert_allclose(batch.rewards[i, :length], theirs.rewards, rtol=1e-6)
            np.testing.assert_array_equal(batch.terminated[i, :length], theirs.terminated)
            np.testing.assert_array_equal(batch.truncated[i, :length], theirs.truncated)


def test_the_previous_action_is_seen_where_the_reference_requires_it(name, episodes):
    required = make_reference(name).obs_requires_prev_action
    n = unwrapped(make(name)).action_space().n
    for batch in episodes.values():
        assert batch.added.shape[2] == (n if required else 0)
        if required:
            expected = np.eye(n, dtype=np.float32)[batch.actions]
            for i, length in enumerate(batch.lengths):
                np.testing.assert_array_equal(batch.added[i, 0], 0)
                np.testing.assert_array_equal(batch.added[i, 1 : length + 1], expected[i, :length])


@pytest.mark.parametrize("name", of("Autoencode", "CountRecall", *ONE_DECK), indirect=True)
def test_decks_are_shuffled_as_the_references_are(name, episodes):
    """All but Concentration's, whose cards do not come in order: they have a test of their own."""
    ours, theirs = our_decks(name, episodes), their_decks(name)
    for our_deck, their_deck in zip(ours, theirs, strict=True):
        assert_same_shuffles(our_deck, their_deck)


@pytest.mark.parametrize("name", of("CountRecall"), indirect=True)
def test_queries_do_not_depend_on_cards(name, episodes):
    values, queries = our_decks(name, episodes)
    for i in (0, -1):
        table = stats.contingency.crosstab(values[:, i], queries[:, i]).count
        assert stats.chi2_contingency(table).pvalue > SURPRISING


def our_decks(name, episodes):
    seen = np.concatenate([batch.seen for batch in episodes.values()])
    if name.startswith("Autoencode"):
        return [seen[:, : seen.shape[1] // 2, 1]]
    if name.startswith("CountRecall"):
        return [seen[:, :, 0], seen[:, :, 1]]
    return [seen]


def their_decks(name, count=2000):
    reference = make_reference(name)
    reference.reset(seed=11)

    def shuffled():
        reference.reset()
        if name.startswith("CountRecall"):
            decks = reference.value_deck, reference.query_deck
            return [reference.deck_idx_type[deck.idx[::-1]] for deck in decks]
        field = "ranks_idx" if name.startswith("HigherLower") else "suits_idx"
        return [getattr(reference.deck, field)[reference.deck.idx[::-1]]]

    return [np.array(decks) for decks in zip(*(shuffled() for _ in range(count)), strict=True)]


@pytest.mark.parametrize("name", LENGTHS, indirect=True)
def test_lengths(name, episodes):
    for batch in episodes.values():
        np.testing.assert_array_equal(batch.lengths, LENGTHS[name])


def test_the_spaces_have_the_references_sizes(name):
    reference = make_reference(name)
    game = unwrapped(make(name))
    space = reference.observation_space
    parts = space.spaces if hasattr(space, "spaces") else [space]
    sizes = [n for part in parts for n in (part.nvec if hasattr(part, "nvec") else [part.n])]
    assert game.observation_space().shape == (sum(sizes),)
    actions = reference.action_space
    assert game.num_actions == (np.prod(actions.nvec) if hasattr(actions, "nvec") else actions.n)


@pytest.mark.parametrize("name", of(*ALL_RIGHT, *MINE_OR_SHIP), indirect=True)
def test_perfect_play_earns_the_maximum(name, episodes):
    np.testing.assert_allclose(episodes["perfect"].returns, 1, atol=1e-5)


@pytest.mark.parametrize("name", of(*ALL_RIGHT), indirect=True)
def test_wrong_answers_earn_the_minimum(name, episodes):
    np.testing.assert_allclose(episodes["adversarial"].returns, -1, atol=1e-5)


@pytest.mark.parametrize("name", of("HigherLower"), indirect=True)
def test_a_clairvoyant_loses_only_the_ties(name, episodes):
    batch = episodes["clairvoyant"]
    cards = batch.seen.shape[1]
    ties = (np.diff(batch.seen, axis=1) == 0).sum(axis=1)
    np.testing.assert_allclose(batch.returns, (cards - 1 - ties) / cards, atol=1e-5)


def test_returns_are_those_documented(name, episodes):
    row = read_tables()[name]
    for policy, documented in (("random", row.random), ("perfect", row.perfect)):
        measured = estimate(episodes[policy].returns)
        assert measured.agrees_with(documented), (policy, measured, documented)


def test_the_documented_sizes_are_true(name):
    row = read_tables()[name]
    env = make(name)
    assert row.steps == env.default_params.max_steps_in_episode
    assert row.actions == str(env.num_actions)
    assert (row.observation,) == env.observation_space(env.default_params).shape


def estimate(returns: np.ndarray) -> Estimate:
    return Estimate(returns.mean(), returns.std(ddof=1) / np.sqrt(len(returns)))
