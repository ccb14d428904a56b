"""The metric of a kernel: what becomes of a row's features before distances are computed.

A feature is its number plus its rank, in units of the number's spread, and then multiplied by a scale. Both are one
increasing, piecewise linear function of the number, fixed by *quantiles*: numbers in ascending order, at equal steps of
rank. The rank does not know how a feature was scaled, and the number keeps apart what ranks bring together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array, issparse

Floats = NDArray[np.float64]
Quantiles = tuple[float, ...]

QUANTILES = 64  # of a feature
MOST_QUANTILES = 251  # with 0, where the number bends, and a knot beyond either end there are at most 256 knots
# Numbers far from the median count less: beyond so many half-widths of the central 96 % a number goes on, so slowly
# that an outlier is far from other rows, but not infinitely far.
CENTRAL, REACH, SLOWLY = 0.96, 2.0, 0.01
TINY = 1e-150  # of their range: knots that are nearer to each other might have slopes that are not finite
AT_ONCE = 2**20  # numbers that are sorted together


class PiecewiseLinear(NamedTuple):
    """A piecewise linear function, which goes on beyond its ends as it does between the last knots there."""

    at: tuple[float, ...] = ()  # ascending; none for the identity
    values: tuple[float, ...] = ()

    def __call__(self, x: object) -> Floats:
        """Return the values at numbers."""
        x = np.array(x, np.float64)
        if not self.at:
            return np.asarray(x)
        at, values = np.array(self.at), np.array(self.values)
        k = np.searchsorted(at[1:-1], x, side="right")
        return np.asarray(values[k] + np.diff(values)[k] / np.diff(at)[k] * (x - at[k]))


class Metric(NamedTuple):
    """What each feature of a row becomes; features beyond the last stay as they are."""

    scales: tuple[float, ...] = ()
    curves: tuple[PiecewiseLinear, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether rows stay as they are."""
        return not self.scales and not self.curves

    @property
    def width(self) -> int:
        """The number of features that it knows."""
        return max(len(self.scales), len(self.curves))

    def of(self, rows: object) -> Any:
        """Return rows, dense or sparse, as the metric sees them, in float64."""
        if issparse(rows):
            held = csr_array(rows, dtype=np.float64, copy=True)
            held.data = self._of(held.data, held.indices)
            return held
        held = np.asarray(rows, np.float64)
        if self.is_plain:
            return held
        return self._of(held, np.broadcast_to(np.arange(held.shape[-1]), held.shape))

    def _of(self, numbers: Floats, features: NDArray[Any]) -> Floats:
        """Numbers of these features."""
        result = np.array(numbers)
        for j, curve in enumerate(self.curves):
            if curve.at:
                own = features == j if numbers.ndim == 1 else (..., j)
                result[own] = curve(numbers[own])
        factors = np.ones(max(len(self.scales), int(features.max(initial=-1)) + 1))
        factors[: len(self.scales)] = self.scales
        return np.asarray(result * factors[features])

    def only(self, features: Sequence[int]) -> Metric:
        """Return the metric of rows of these features."""
        scales = tuple(self.scales[j] if j < len(self.scales) else 1.0 for j in features) if self.scales else ()
        curves = (
            tuple(self.curves[j] if j < len(self.curves) else PiecewiseLinear() for j in features)
            if self.curves
            else ()
        )
        return Metric(scales, curves)


@lru_cache(maxsize=2**14)
def curve_of(quantiles: Quantiles) -> PiecewiseLinear:
    """Return a number plus its rank among these, as a function of the number; where they have fewer than three values,
    the number alone. It is 0 at 0, so that what a sparse row does not hold stays 0.

    Examples
    --------
    >>> curve = curve_of((0.0, 1.0, 1.0, 1.0, 4.0))
    >>> curve([0.0, 1.0, 2.5, 4.0]).round(2).tolist()  # the three ones share the rank in the middle
    [0.0, 3.14, 5.72, 8.29]
    """
    q = np.array(quantiles)
    points, first, ties = np.unique(q, return_index=True, return_counts=True)
    if len(points) < 3:
        return PiecewiseLinear()
    ranks = first + (ties - 1) / 2
    n = len(q) - 1
    low, middle, high = q[round((1 - CENTRAL) / 2 * n)], q[round(n / 2)], q[round((1 + CENTRAL) / 2 * n)]
    reach = REACH * max(high - middle, middle - low)

    def number(x: Floats) -> Floats:
        near = np.clip(x, middle - reach, middle + reach) if reach > 0 else x
        return np.asarray(near + SLOWLY * (x - near))

    bends = [middle - reach, middle + reach] if reach > 0 else []
    at = np.unique([*points, 0.0, *bends])
    length = at[-1] - at[0]
    at = np.array([at[0] - length, *at, at[-1] + length])
    at = at[(at == 0) | (abs(at) > TINY * length)]
    at = at[np.diff(at, append=np.inf) > TINY * length]
    unit = np.std(number(q)) / np.std(np.repeat(ranks, ties))
    values = number(at) + unit * np.interp(at, points, ranks)
    values -= values[np.searchsorted(at, 0.0)]
    return PiecewiseLinear(tuple(at.tolist()), tuple(values.tolist()))


def quantiles_of(rows: Any) -> tuple[Quantiles, ...]:
    """Return the quantiles of each feature of some rows, dense or sparse; none of those with one or two values.

    Examples
    --------
    >>> quantiles_of([[0.0, 5.0], [1.0, 7.0], [0.0, 6.0]])
    ((), (5.0, 6.0, 7.0))
    """
    found: list[Quantiles] = []
    n, width = np.shape(rows)
    if n < 3:
        return ()
    places = np.round(np.linspace(0, n - 1, min(n, QUANTILES))).astype(np.intp)
    held: Any = csc_array(rows) if issparse(rows) else np.asarray(rows)
    step = max(1, AT_ONCE // n)
    for start in range(0, width, step):
        part = held[:, start : start + step]
        ordered = np.sort(part.toarray() if issparse(rows) else part, axis=0)
        several = (np.diff(ordered, axis=0) > 0).sum(axis=0) > 1
        found += [tuple(ordered[places, j].tolist()) if several[j] else () for j in range(ordered.shape[1])]
    return tuple(found) if any(found) else ()


def checked_ranks(ranks: object) -> tuple[Quantiles, ...]:
    """Return the quantiles of each feature, or refuse them."""
    try:
        return _checked_ranks(ranks)  # a kernel of another width has the ranks that were checked before
    except TypeError:  # lists and arrays
        return _checked_ranks.__wrapped__(ranks)


@lru_cache(maxsize=256)
def _checked_ranks(ranks: Any) -> tuple[Quantiles, ...]:
    checked = []
    for j, given in enumerate(ranks):
        q = np.asarray([] if given is None else given, np.float64)
        if q.ndim != 1 or len(q) > MOST_QUANTILES or not np.isfinite(q).all() or (np.diff(q) < 0).any():
            raise ValueError(
                f"ranks must be None or up to {MOST_QUANTILES} finite numbers in ascending order for each feature, the "
                f"knots at equal steps of its rank, and those of feature {j} are not"
            )
        checked.append(tuple(q.tolist()))
    if checked and max((abs(x) for q in checked for x in q), default=0) > 1e150:
        raise ValueError("ranks must be numbers of at most 1e150; scale the columns")
    return tuple(checked)
