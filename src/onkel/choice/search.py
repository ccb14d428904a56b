"""The search for a kernel's width and for relevances: by the loss that a fit to some rows has on others.

The core minimises the loss of two-fold cross-validation over a scale for each feature and λ
(``native/search/relevances.hpp``). The isotropic kernel is the same search with one scale for all features; its start
is the best of some widths, with equal scales or with one over each feature's spread. Scales for each feature are
searched for from there, and from the features that the screen selects (:mod:`onkel.choice.screen`); a start that is
behind after a few evaluations is left. What is found is judged on rows that no search has seen. The columns of one
category share a scale (:func:`categories`). All of this is a function of the rows.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onkel import _core
from onkel.choice.rows import Rows
from onkel.choice.screen import selected
from onkel.choice.steps import Steps, each, searched
from onkel.parts import RBF, Laplacian
from onkel.parts.metric import Quantiles

Floats = NDArray[np.float64]
Radial = RBF | Laplacian

MOST_NUMBERS = 2**19  # of dense rows
MOST_ROWS = 2048
LEAST_ROWS = 256  # for which relevances are searched
LEAST_A_SCALE = 2  # rows
ROWS_A_SCALE = 16  # between the ten and twenty that regressions are said to need for each coefficient
POINTS = 200
ROWS_OF_WIDTHS = 512  # that compare widths far apart
FEW, ALL = 6, 16  # evaluations from each start, and from those that go on
BEHIND = 0.01  # of the loss: what decides between starts
WIDTHS = (-4.0, -2.0, 0.0, 2.0, 4.0)  # the first ones: powers of two over the median squared distance
FARTHEST = 30.0  # the largest power of two
SCREENED = (-1.0, 1.0, 3.0)  # likewise, of the features that the screen has selected
SPREAD = 0.3  # of the log scales around their mean, in units of one over the square root of the number of rows
LAM = 0.1  # at first
SPREADS_DIFFER = 100.0  # ratio of spreads
FARTHEST_LOG = 340.0  # of a scale, whose square is a number then


class Found(NamedTuple):
    """A point of the search: the logarithms of all features' scales and of λ, and that of the loss."""

    kernel: type[Radial]
    at: Floats
    loss: float


class Problem:
    """Rows as the core's search takes them, with the ranks of their features; of these only those that vary."""

    def __init__(self, rows: Rows, ranks: tuple[Quantiles, ...], task: str, n_classes: int, n_threads: int = 1) -> None:
        seen = rows.rows.toarray() if issparse(rows.rows) else rows.rows
        X = np.asarray(RBF(ranks=ranks).metric.of(seen), np.float64)
        groups = categories(X)
        self.known = known_groups(X, groups)
        columns = np.flatnonzero(self.known) if self.known.any() else np.zeros(1, np.intp)
        self.X = np.ascontiguousarray(X[:, columns])
        self.groups = np.unique(groups[columns], return_inverse=True)[1]
        self.places = np.append(columns, X.shape[1])  # in a point
        self.y = np.ascontiguousarray(2 * rows.y - 1 if task == "binary" else rows.y)
        self.weight = np.ascontiguousarray(rows.weight)
        self.task, self.n_classes, self.n_threads, self.ranks = task, n_classes, n_threads, ranks

    @property
    def n_scales(self) -> int:
        """The number of scales that are to be found: one for each feature or category that varies."""
        return len(np.unique(self.groups)) if self.known.any() else 0

    def point(self, logs: Floats) -> Found:
        """Return the gaussian kernel with the logarithms of these scales, in the middle of which are the others."""
        at = np.full(len(self.known) + 1, logs.mean())
        at[self.places] = np.append(logs, math.log(LAM))
        return Found(RBF, at, math.inf)

    def loss(self, found: Found, points: int = POINTS) -> Steps[Found]:
        """Return the point with its loss on these rows."""
        at = found.at[self.places].tolist()
        search = _core.Search(self.X, self.y, self.weight, at=at, **self._given(found, points))
        value = (yield from searched(search)).value
        return found._replace(loss=math.log(value) if value > 0 else -math.inf if value == 0 else math.inf)

    def go_on(self, found: Found, evaluations: int, *, one: bool = False, points: int = POINTS) -> Steps[Found]:
        """Search from a point on, with ``one`` for the factor of all scales alone."""
        groups = np.zeros_like(self.groups) if one else self.groups
        at = found.at[self.places]
        centre = at[:-1] if one else tied(at[:-1], groups)
        search = _core.Search(
            self.X,
            self.y,
            self.weight,
            at=[*centre, at[-1]],
            centre=centre.tolist(),
            groups=groups.tolist(),
            spread=SPREAD if self.task == "regression" and not one else math.inf,
            evaluations=evaluations,
            **self._given(found, points),
        )
        value = (yield from searched(search)).value
        whole = found.at.copy()
        whole[self.places] = search.at
        return found._replace(at=whole, loss=math.inf if math.isnan(value) else value)

    def _given(self, found: Found, points: int) -> dict[str, Any]:
        return {"task": self.task, "classes": self.n_classes, "kernel": found.kernel.name, "max_points": points}

    def isotropic(self, tries_spreads: bool) -> Steps[list[Found]]:
        """Return the kernel with one width for all features, as they are or, if that is better, in units of their
        spreads. Where these differ widely return both, the better one first: from one no search would reach the other.
        """
        starts, spread = [np.ones(self.X.shape[1])], tied(spreads(self.X), self.groups)
        if tries_spreads and np.ptp(spread) > 0:
            starts.append(spread.min() / spread)
        some = self.first(ROWS_OF_WIDTHS)
        found = yield from each([some.best_width(start) for start in starts])
        if found[-1].loss < found[0].loss - BEHIND:
            found.reverse()
        both = spread.max() > SPREADS_DIFFER * spread.min()
        best = yield from self.go_on(found[0], FEW, one=True)
        return [best, *(found[1:] if both else [])]

    def first(self, n: int) -> Problem:
        """Return the problem of the first rows."""
        part = copy.copy(self)
        part.X, part.y, part.weight = self.X[:n], self.y[:n], self.weight[:n]
        return part

    def best_width(self, scales: Floats) -> Steps[Found]:
        """Return the best of some widths with these scales, ever farther ones as long as they are better."""
        width = 1.0 / median(self.X * scales, 2)

        def at(power: float) -> Steps[Found]:
            log_scales = np.log(scales) + 0.5 * math.log(width * 2.0**power)
            return self.loss(self.point(log_scales), POINTS // 2)

        tried = dict(zip(WIDTHS, (yield from each([at(power) for power in WIDTHS])), strict=True))
        best = min(tried, key=lambda power: tried[power].loss)
        step = math.copysign(2.0, best)
        while max(WIDTHS) <= abs(best) < FARTHEST:
            tried[best + step] = yield from at(best + step)
            if tried[best + step].loss >= tried[best].loss:
                break
            best += step
        return tried[best]

    def relevant(self, starts: Sequence[Found]) -> Steps[list[Found]]:
        """Return what is found from these points, and from the features that the screen selects, but for what is
        behind after a few evaluations."""
        screened = yield from self.screened()
        begun = yield from each([self.go_on(start, FEW) for start in [*starts, *screened]], self.n_threads)
        least = min(found.loss for found in begun)
        ahead = [found for found in begun if found.loss <= least + BEHIND]
        return (yield from each([self.go_on(found, ALL - FEW) for found in ahead], self.n_threads))

    def screened(self) -> Steps[list[Found]]:
        """Return where the search starts among the features that the screen selects, if these are few."""
        one = self.task == "regression"
        targets = self.y[:, None] if one else np.equal.outer(self.y, np.unique(self.y)).astype(np.float64)
        chosen = yield from selected(self.X, self.groups, targets, self.weight)
        n, n_chosen = self.n_scales, len(np.unique(self.groups[chosen]))
        if not 0 < n_chosen <= n / 2:
            return []
        # The selected ones weigh as much as all others together.
        scales = np.where(chosen, 1.0, math.sqrt(n_chosen / (n - n_chosen))) / spreads(self.X)
        width = 1.0 / median(self.X[:, chosen] * scales[chosen], 2)
        points = [self.point(np.log(scales) + 0.5 * math.log(width * 2.0**power)) for power in SCREENED]
        return [min((yield from each([self.loss(point) for point in points])), key=lambda found: found.loss)]

    def as_laplacian(self, found: Found) -> Found:
        """Return the same scales for the Laplacian kernel, whose median exponent is the same then."""
        seen, at = self.X * np.exp(found.at[self.places[:-1]]), found.at.copy()
        at[:-1] += math.log(median(seen, 2) / median(seen, 1))
        return Found(Laplacian, at, math.inf)

    def point_of(self, kernel: Radial) -> Found:
        """Return the point of a kernel."""
        scales = (kernel.gamma * kernel.relevances_of(len(self.known))) ** (1 / kernel.base.power)
        with np.errstate(divide="ignore"):
            logs = np.maximum(np.log(scales), -FARTHEST_LOG)
        return Found(type(kernel), np.append(logs, math.log(LAM)), math.inf)

    def with_lam(self, found: Found) -> Steps[Found]:
        """Return the point with the λ that suits it here."""
        at = found.at.copy()
        at[-1] = (yield from self.go_on(found, FEW, one=True)).at[-1]
        return found._replace(at=at)

    def kernel_of(self, found: Found) -> Radial:
        """Return the kernel with these scales."""
        power = found.kernel.base.power
        relevances = np.exp(power * np.clip(found.at[:-1], -FARTHEST_LOG, FARTHEST_LOG))
        known = relevances[self.known] if self.known.any() else relevances[:1]
        if (known == known[0]).all():
            return found.kernel(float(known[0]), ranks=self.ranks)
        made = found.kernel(1.0, ranks=self.ranks).with_relevances(relevances.tolist(), self.known)
        assert isinstance(made, RBF | Laplacian)
        return made


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
    high, low = rows.max(axis=0), rows.min(axis=0)
    on = (rows == high) & (high > low)
    begins = np.concatenate([[0], np.cumsum(on.sum(axis=0))])  # how often columns before each have the larger value
    others = np.concatenate([[0], np.cumsum(~(on | (rows == low)).all(axis=0))])  # of them that have not two values
    groups = np.arange(rows.shape[1])
    first = 0
    while first < rows.shape[1]:
        end = int(np.searchsorted(begins, begins[first] + len(rows)))  # where each row could have had it once
        if (
            begins[first + 1] > begins[first]
            and end <= rows.shape[1]
            and begins[end] == begins[first] + len(rows)
            and others[end] == others[first]
            and on[:, first:end].any(axis=1).all()
        ):
            groups[first:end] = first
            first = end - 1
        first += 1
    return groups


def known_groups(rows: Floats, groups: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which features vary, or belong to a category of which a column varies."""
    return np.asarray(tied(varying(rows).astype(np.float64), groups) > 0)


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
