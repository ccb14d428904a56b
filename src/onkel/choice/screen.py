"""Which features say something about the targets, alone or in pairs: where a search for relevances may start.

Each feature is a few columns: cosines of its mid-ranks, made orthonormal. The indicators of a category's values, which
count as one feature, are made orthonormal likewise. The sum of a feature's squared correlations with the targets, times
the number of rows, is compared with a χ² distribution; effects that are significant are removed, and the sums of
squared correlations of products of two features' columns with what remains are compared likewise. So noise alone
selects something once in a hundred times. What only three features say together is missed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2, rankdata

from onkel import _core
from onkel.choice.steps import Steps, looked_through

Floats = NDArray[np.float64]

COSINES = 4
MOST_VALUES = 8  # columns of a category, its most frequent values
MOST_PAIRED = 512  # features of which pairs are looked at, those that say most alone
PAIRS = 4e6  # multiplications for pairs of columns at a time
LEVEL = 0.01  # of significance, of all features and of all pairs
CLIP = 4.0  # spreads
SWEEPS = 3  # over the features whose effects are removed
TINY = 1e-6  # of a column's spread: less outside the span of the others is rounding


def selected(rows: Floats, groups: NDArray[np.intp], targets: Floats, weight: Floats) -> Steps[NDArray[np.bool_]]:
    """Return which features have a significant effect, alone or with another one.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
    groups : ndarray of shape (n_features,)
        A number for each feature, the same one for the columns of one category.
    targets : ndarray of shape (n_rows, n_targets)
        Several for the classes: their indicators.
    weight : ndarray of shape (n_rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from onkel.choice.steps import at_once
    >>> rows = np.random.default_rng(0).normal(size=(1000, 6))
    >>> target = np.sin(2 * rows[:, 1]) * np.sin(2 * rows[:, 4])
    >>> at_once(selected(rows, np.arange(6), target[:, None], np.ones(1000))).tolist()
    [False, True, False, False, True, False]
    """
    n = len(rows)
    columns, owners = yield from feature_columns(rows, groups)
    residuals = orthonormal(_clipped(targets) * (weight / weight.mean())[:, None], targets.shape[1])
    found = np.zeros(rows.shape[1], bool)
    if not len(owners) or not residuals.shape[1]:
        return found
    units, first, size = np.unique(owners, return_index=True, return_counts=True)
    effects = np.zeros(len(owners))
    for target in residuals.T:
        effects += ((columns * target[:, None]).sum(axis=0) / n) ** 2
        yield looked_through(columns.size // 10, 0)
    alone = n * np.add.reduceat(effects, first)
    n_targets = residuals.shape[1]
    says = alone > chi2.isf(LEVEL / len(units), size * n_targets)
    for _ in range(SWEEPS):
        for unit in np.flatnonzero(says):
            own = columns[:, first[unit] : first[unit] + size[unit]]
            for target in residuals.T:  # each a view, changed in place
                for column in own.T:
                    target -= column * ((column * target).sum() / n)
            yield looked_through(own.size * n_targets // 5, 0)
    paired = np.sort(np.argsort(-alone, kind="stable")[:MOST_PAIRED])
    if len(paired) > 1:
        residuals = orthonormal(residuals, n_targets)
        of_paired = np.isin(owners, units[paired])
        held = np.ascontiguousarray(columns[:, of_paired])
        starts = np.concatenate([[0], np.cumsum(size[paired])[:-1]])
        sums = yield from _pair_effects(held, np.ascontiguousarray(residuals))
        sums = n * np.add.reduceat(np.add.reduceat(sums, starts, axis=0), starts, axis=1)
        pairs = len(paired) * (len(paired) - 1) / 2
        least = chi2.isf(LEVEL / pairs, np.multiply.outer(size[paired], size[paired]) * n_targets)
        joint = (sums > least) & ~np.eye(len(paired), dtype=bool)
        says[paired] |= joint.any(axis=1)
    return np.isin(groups, units[says])


def _pair_effects(columns: Floats, residuals: Floats) -> Steps[Floats]:
    """The sums of the core, some columns at a time."""
    width, work = columns.shape[1], columns.size * residuals.shape[1]
    parts, at_a_time = [], max(8, int(PAIRS // work))
    for first in range(0, width, at_a_time):
        last = min(first + at_a_time, width)
        parts.append(_core.pair_effects(columns, residuals, first, last))
        yield work * (last - first + 2)
    upper = np.concatenate(parts)
    return np.asarray(np.triu(upper) + np.triu(upper, 1).T)


def feature_columns(rows: Floats, groups: NDArray[np.intp]) -> Steps[tuple[Floats, NDArray[np.intp]]]:
    """Return orthonormal columns for each feature, those of a category together, and the group of each column."""
    n, parts, owners = len(rows), [], []
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        if len(own) > MOST_VALUES:
            frequent = np.argsort(-np.minimum(*_counts(rows[:, own])), kind="stable")[:MOST_VALUES]
            own = own[np.sort(frequent)]
        turn = np.pi * (rankdata(rows[:, own], axis=0) - 0.5) / n
        several = np.arange(1, min(COSINES, len(np.unique(rows[:, own])) - 1) + 1) if len(own) == 1 else 1
        raw = np.cos(turn * several)
        yield 2 * looked_through(n * (len(own) + raw.shape[1]), 0)
        made = orthonormal(raw, raw.shape[1])
        parts.append(made)
        owners += [group] * made.shape[1]
    return np.hstack(parts), np.array(owners, np.intp)


def orthonormal(columns: Floats, most: int) -> Floats:
    """Return columns of mean 0 and mean square 1 with the same span, but for constants, orthogonal to each other."""
    n, made = len(columns), list[Floats]()
    for column in columns.T:
        column = column - column.mean()
        spread = np.sqrt((column * column).mean())
        for other in made:
            column = column - other * ((column * other).sum() / n)
        rest = np.sqrt((column * column).mean())
        if rest > TINY * spread and len(made) < most:
            made.append(column / rest)
    return np.column_stack(made) if made else np.empty((n, 0))


def _counts(rows: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How many rows have the larger value of each column, and how many do not."""
    high = (rows == rows.max(axis=0)).sum(axis=0)
    return high, len(rows) - high


def _clipped(targets: Floats) -> Floats:
    """Targets without their means, but none farther than `CLIP` spreads."""
    centred = targets - targets.mean(axis=0)
    most = CLIP * np.sqrt((centred * centred).mean(axis=0))
    return np.asarray(np.clip(centred, -most, most))
