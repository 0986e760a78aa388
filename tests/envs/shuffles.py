"""Whether decks are shuffled well, by chi-squared tests whose seeds are fixed."""

import numpy as np
from scipy import stats

SURPRISING = 1e-4
"""A p-value below this fails; a few hundred are computed."""


def assert_same_shuffles(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Decks, one to a row: whole, and with the law of a shuffle and of the reference.

    The law is that of two of the cards together, for pairs of places near and far apart.
    """
    n, kinds = ours.shape[1], theirs.max() + 1
    whole = np.repeat(np.arange(kinds), n // kinds)
    for decks in (ours, theirs):
        np.testing.assert_array_equal(np.sort(decks, axis=1), np.tile(whole, (len(decks), 1)))
    groups, law = _law_of_two(n, kinds, len(ours))
    for i, j in ((0, 1), (0, n - 1), (n // 2, n // 2 + 1), (n - 2, n - 1)):
        observed, expected = (
            np.bincount(groups[decks[:, i], decks[:, j]], minlength=len(law))
            for decks in (ours, theirs)
        )
        assert stats.chisquare(observed, len(ours) * law).pvalue > SURPRISING
        assert same_law(observed, expected)


def same_law(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether two samples, counted in the same bins, may come from one law."""
    table = np.array([ours, theirs])
    return stats.chi2_contingency(table[:, table.sum(axis=0) > 0]).pvalue > SURPRISING


def _law_of_two(n: int, kinds: int, sample: int) -> tuple[np.ndarray, np.ndarray]:
    """Bins for the kinds of two cards, as fine as the sample allows, and how likely each is."""
    of_kind = n // kinds
    pair = of_kind * (of_kind - np.eye(kinds)) / (n * (n - 1))
    bins = np.arange(kinds**2).reshape(kinds, kinds)
    if sample * pair.min() < 5:  # too fine: the first kind, and whether the second is above it
        first, second = np.indices(bins.shape)
        bins = 3 * first + 1 + np.sign(second - first)
    law = np.bincount(bins.ravel(), pair.ravel(), minlength=bins.max() + 1)
    used, groups = np.unique(bins, return_inverse=True)
    return groups.reshape(bins.shape), law[used]
