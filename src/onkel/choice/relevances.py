"""relevances="stream": one relevance per feature, learned on rows of a stream (``docs/relevances.md``).

The core minimises the validation loss of two-fold cross-validation over a scale for each feature
(``native/search/relevances.hpp``). It uses the first half of the rows kept, or `ROWS_A_SCALE` of them for each scale if
that is more, and at most `MOST_NUMBERS` numbers; where that is fewer than `LEAST_ROWS` rows, or `LEAST_A_SCALE` for
each scale, no relevances are learned. With classes two searches compete, one that is regularised towards the start and
one that is not, by the loss of a second-order learner on the later half of the rows, which neither has seen unless
there are many features; from `ENOUGH_ROWS` on there is only the latter. In regression one has the gaussian and one the
Laplacian kernel, and both become terms of the sum. They start from the isotropic kernel that was chosen, or from half
of one over the median squared distance if that is narrower; where the features' spreads differ by more than `WILD` also
from scales of one over each spread. Later on they start from the relevances in use. The columns of one category share a
relevance (:func:`categories`). All of this is a function of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onkel import _core
from onkel.choice.rows import Rows
from onkel.parts import RBF, Kernel, Laplacian
from onkel.parts.metric import Quantiles, quantiles_of
from onkel.utils.threads import together

Floats = NDArray[np.float64]

MOST_NUMBERS = 2**19
LEAST_ROWS = 256
LEAST_A_SCALE = 2  # rows
ROWS_A_SCALE = 16  # between the ten and twenty that regressions are said to need for each coefficient
ENOUGH_ROWS = 2048  # from which classes need no regularisation
POINTS = 200
EVALUATIONS = 16
SPREAD = 0.3  # of the log scales around their mean, in units of one over the square root of the number of rows
WILD = 100.0


class Search(NamedTuple):
    """One way to search for relevances."""

    kernel: type[RBF] | type[Laplacian]
    spread: float


def searches(task: str, kernel: type[Kernel] | None, n_rows: int) -> list[Search]:
    """Return the searches that compete over this many rows; ``kernel`` is the only kernel to consider, or None for all
    kernels."""
    if task == "regression":
        both = [Search(RBF, SPREAD), Search(Laplacian, SPREAD)]
        return [search for search in both if kernel in (None, search.kernel)]
    spreads = (SPREAD, math.inf) if n_rows < ENOUGH_ROWS else (math.inf,)
    return [Search(RBF if kernel is None else kernel, spread) for spread in spreads]  # type: ignore[arg-type]


def first_searched(rows: Rows) -> Rows:
    """Return the rows that the first searches may look at: half of them, since the others are to judge what is found,
    but more where many scales are to be found."""
    half = len(rows) // 2
    if rows_looked_at(rows) <= half:
        return rows[:half]
    X = dense(rows[:half])
    return rows[: max(half, min(len(rows), ROWS_A_SCALE * n_scales(X, categories(X))))]


def rows_looked_at(rows: Rows) -> int:
    """Return how many of the rows a search looks at."""
    return min(len(rows), MOST_NUMBERS // int(rows.rows.shape[1]))


def dense(rows: Rows) -> Floats:
    """Return the rows that a search looks at as an array."""
    seen = rows.rows[: rows_looked_at(rows)]
    return np.ascontiguousarray(seen.toarray() if issparse(seen) else seen, np.float64)


def ranks_of(rows: Rows) -> tuple[Quantiles, ...]:
    """Return the quantiles among which the features of these rows are ranked; none if there are too many features."""
    return quantiles_of(rows.rows) if MOST_NUMBERS // int(rows.rows.shape[1]) >= LEAST_ROWS else ()


def learned_kernels(
    rows: Rows,
    ranks: tuple[Quantiles, ...],
    task: str,
    n_classes: int,
    kinds: Sequence[Search],
    starts: Sequence[Floats],
    n_threads: int,
) -> list[list[RBF | Laplacian]]:
    """Return the kernels with the relevances learned from the rows, one list for each kind of kernel; none if there are
    too many features.

    The features have their ranks among these quantiles, and one scale for both. ``starts`` are the scales of the
    features from which each search starts, those of a gaussian kernel unless it is the only one.
    """
    if rows_looked_at(rows) < LEAST_ROWS:
        return []
    X = RBF(ranks=ranks).metric.of(dense(rows))
    y, weight = rows.y[: len(X)], rows.weight[: len(X)]
    groups = categories(X)
    known = known_groups(X, groups)
    if len(X) < LEAST_A_SCALE * n_scales(X, groups):
        return []

    def searched(start: Floats, search: Search) -> RBF | Laplacian:
        power = search.kernel.base.power
        # 1 for the gaussian kernel, and where no other is considered
        width = (median(X * start, 2) / median(X * start, power)) ** (1 / power) if len(kinds) > 1 else 1.0
        centre = tied(np.log(width * start), groups)
        _, at = _core.learn_scales(
            X,
            np.ascontiguousarray(2 * y - 1 if task == "binary" else y),
            np.ascontiguousarray(weight),
            task=task,
            classes=n_classes,
            kernel=search.kernel.name,
            max_points=POINTS,
            at=[*centre, math.log(0.1)],
            centre=centre.tolist(),
            groups=groups.tolist(),
            spread=search.spread,
            evaluations=EVALUATIONS,
        )
        kernel = search.kernel(1.0, ranks=ranks).with_relevances(np.exp(power * np.clip(at[:-1], -150, 150)), known)
        assert isinstance(kernel, RBF | Laplacian)
        return kernel

    found: dict[type[Kernel], list[RBF | Laplacian]] = {}
    for kernel in together([partial(searched, *each) for each in product(starts, kinds)], n_threads):
        found.setdefault(type(kernel), []).append(kernel)
    return list(found.values())


def median(rows: Floats, power: int) -> float:
    """Return the median distance, to a power, of the first half of the rows to the second; 1 where all are equal."""
    half = len(rows) // 2
    distances = (np.abs(rows[:half] - rows[half : 2 * half]) ** power).sum(axis=1)
    found = float(np.median(distances)) or float(np.mean(distances))
    return found if found > 0 else 1.0


def categories(rows: Floats) -> NDArray[np.intp]:
    """Return a number for each feature, the same one for the columns of one category.

    These are adjacent columns with two values each, of which every row has the larger in exactly one column, as after
    one-hot encoding; columns that do not vary, of categories that no row has, may be among them.

    Examples
    --------
    >>> import numpy as np
    >>> categories(np.array([[3.0, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0]])).tolist()
    [0, 1, 1, 1]
    """
    high = rows.max(axis=0)
    on = (rows == high) & (high > rows.min(axis=0))
    two_valued = (on | (rows == rows.min(axis=0))).all(axis=0)
    groups = np.arange(rows.shape[1])
    first = 0
    while first < rows.shape[1]:
        last, covered = first, on[:, first]
        while two_valued[last] and not covered.all() and last + 1 < rows.shape[1] and on[:, first].any():
            last += 1
            if not two_valued[last] or (covered & on[:, last]).any():
                break
            covered = covered | on[:, last]
        else:
            if last > first and covered.all():
                groups[first : last + 1] = first
                first = last
        first += 1
    return groups


def known_groups(rows: Floats, groups: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which features vary, or belong to a category of which a column varies."""
    return np.asarray(tied(varying(rows).astype(np.float64), groups) > 0)


def n_scales(rows: Floats, groups: NDArray[np.intp]) -> int:
    """Return the number of scales that are to be found: one for each feature or category that varies."""
    return len(np.unique(groups[known_groups(rows, groups)]))


def tied(values: Floats, groups: NDArray[np.intp]) -> Floats:
    """Return the mean of the values of each group, for each of its members."""
    sums, counts = np.bincount(groups, values), np.bincount(groups)
    return np.asarray(sums[groups] / counts[groups])


def varying(rows: Any) -> NDArray[np.bool_]:
    """Return which features vary; the rows carry no information about the relevance of others."""
    if issparse(rows):
        return np.asarray(rows.max(axis=0).toarray() != rows.min(axis=0).toarray()).ravel()
    return np.asarray(np.ptp(rows, axis=0) > 0)


def spreads(rows: Any) -> Floats:
    """Return the standard deviation of each feature; 1 where it is 0."""
    if issparse(rows):
        exact = rows.astype(np.float64)  # squares of single-precision numbers may overflow
        mean = np.asarray(exact.mean(axis=0)).ravel()
        variance = np.asarray(exact.multiply(exact).mean(axis=0)).ravel() - mean**2
    else:
        variance = np.var(rows, axis=0, dtype=np.float64)
    spread = np.sqrt(np.maximum(variance, 0.0))
    return np.clip(np.where(spread > 0, spread, 1.0), 1e-100, 1e100)
