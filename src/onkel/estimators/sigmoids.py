"""Platt's sigmoids, learned online: P(class | score) = 1 / (1 + exp(-(a f + b))), one for each class.

J. Platt (1999), "Probabilistic Outputs for Support Vector Machines", with his targets: (N+ + 1) / (N+ + 2) for a row of
the class and 1 / (N- + 2) for another, N+ and N- the rows so far. With x = (f, 1) and H the information so far, a row
is one second-order step

    H <- rho H + (1 - rho) diag(f^2, 1),   theta' = argmin |theta' - theta|_H^2 / 2 + loss(theta' . x),
    H <- H + p' (1 - p') x x'

whose minimum lies on one line and is found by Newton's method. It never overshoots, whatever the scale of the scores,
which changes nothing but the factor of a. Earlier rows fade, since the scores of a learner drift as it learns: at row t
by rho = min(forget, 1 - 2 / (t + 4)), so that the first rows, often of another scale, fade fastest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.utils.validation import check_number

Floats = NDArray[np.float64]
FIELDS = ("a", "b", "h_aa", "h_ab", "h_bb", "n_others", "n_own")


class Sigmoids:
    """One sigmoid if there are two classes from the start, otherwise one for each class known so far."""

    def __init__(self, forget: float, binary: bool) -> None:
        check_number("forget", forget, above=0, at_most=1)
        self.forget = forget
        self.binary = binary
        self.table: list[list[float]] = []  # one row per sigmoid, with the columns FIELDS
        self.rows = 0.0  # the total weight of the rows so far

    def learn(self, scores: list[float], label: int, weight: float = 1.0) -> None:
        """Learn from one row: its margins (see `margins`) before anything was learned from it, and its class."""
        if self.binary or len(scores) > 1:  # with one class there is nothing to distinguish
            while len(self.table) < len(scores):
                self._begin()
            for index, score in enumerate(scores):
                _step(self.table[index], score, label == (1 if self.binary else index), weight, self.forget)
        self.rows += weight

    def copy(self) -> Sigmoids:
        """Return sigmoids that learn by themselves."""
        other = Sigmoids(self.forget, self.binary)
        other.table, other.rows = [row.copy() for row in self.table], self.rows
        return other

    def _begin(self) -> None:
        """Add a sigmoid with the counts of the rows so far: all of other classes, or all of the first class."""
        alone = not self.table
        n_others, n_own = (0.0, self.rows) if alone else (self.rows, 0.0)
        self.table.append([0.0, math.log((n_own + 1.0) / (n_others + 1.0)), 0.0, 0.0, 1.0, n_others, n_own])

    def log_odds(self, scores: list[float]) -> list[float]:
        """Return the log odds of the second of two classes, or the log probability of each class, from a row's margins.

        Only classes known so far have one; before anything was learned all are equal.
        """
        if not self.table:
            return [0.0] if self.binary else [-math.log(max(1, len(scores)))] * len(scores)
        each = [s[0] * score + s[1] for s, score in zip(self.table, scores, strict=False)]
        if self.binary:
            return each
        logs = [_log_logistic(z) for z in each]
        top = max(logs)
        total = top + math.log(math.fsum(math.exp(value - top) for value in logs))
        return [value - total for value in logs]

    def probabilities(self, scores: list[float]) -> list[float]:
        """Return the probabilities of the classes known so far: they add up to 1."""
        odds = self.log_odds(scores)
        return [_logistic(-odds[0]), _logistic(odds[0])] if self.binary else [math.exp(value) for value in odds]

    # -- state

    def array(self) -> Floats:
        """Return the sigmoids, one row each, with the columns `FIELDS`."""
        return np.array(self.table, np.float64).reshape(-1, len(FIELDS))

    @classmethod
    def from_array(cls, forget: float, binary: bool, table: Any, rows: Any, n_classes: int) -> Sigmoids:
        """Restore sigmoids from a file, or refuse them."""
        sigmoids, n_sigmoids = cls(forget, binary), 1 if binary else n_classes
        check_number("rows", rows, at_least=0)
        fits = isinstance(table, np.ndarray) and table.dtype == np.float64 and table.ndim == 2
        if not fits or table.shape[1] != len(FIELDS) or len(table) > n_sigmoids:
            raise ValueError(f"sigmoids must be at most {n_sigmoids} rows of {len(FIELDS)} numbers")
        if not np.isfinite(table).all() or (table[:, [2, 4, 5, 6]] < 0).any():
            raise ValueError("sigmoids must be finite numbers, their information and counts not negative")
        sigmoids.table, sigmoids.rows = table.tolist(), float(rows)
        return sigmoids


def margins(scores: list[float]) -> list[float]:
    """Return the margins of a row: a single score itself, or each score minus the largest other.

    Examples
    --------
    >>> margins([3.0, 1.0, 2.0])
    [1.0, -2.0, -1.0]
    """
    if len(scores) < 2:
        return scores
    second, first = sorted(scores)[-2:]
    differences = [score - first for score in scores]
    differences[scores.index(first)] = first - second
    return differences


def _logistic(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-z)) if z >= 0 else (e := math.exp(max(z, -745.0))) / (1.0 + e)


def _log_logistic(z: float) -> float:
    return -math.log1p(math.exp(-z)) if z >= 0 else z - math.log1p(math.exp(z))


def _step(sigmoid: list[float], f: float, own: bool, weight: float, forget: float) -> None:
    """The step of one sigmoid for one row, in place."""
    a, b, h_aa, h_ab, h_bb, n_others, n_own = sigmoid
    if own:
        n_own += weight
        target = (n_own + 1.0) / (n_own + 2.0)
    else:
        n_others += weight
        target = 1.0 / (n_others + 2.0)
    forget = min(forget, 1.0 - 2.0 / (n_own + n_others + 4.0))
    first = h_aa == 0.0  # the first score that is not 0 sets the scale of the prior
    h_aa = forget * h_aa + (f * f if first else (1.0 - forget) * f * f)
    h_ab *= forget
    h_bb = forget * h_bb + (1.0 - forget)
    det = h_aa * h_bb - h_ab * h_ab
    if det > 0.0:  # H^-1 x
        u, v = (h_bb * f - h_ab) / det, (h_aa - h_ab * f) / det
    else:
        u, v = 0.0, 1.0 / h_bb
    z = a * f + b
    length = weight * (f * u + v)  # x . H^-1 x
    p = _implicit(z, length, target)
    change = weight * (target - p)
    curvature = weight * p * (1.0 - p)
    sigmoid[:] = (
        a + change * u,
        b + change * v,
        h_aa + curvature * f * f,
        h_ab + curvature * f,
        h_bb + curvature,
        n_others,
        n_own,
    )


def _implicit(z: float, length: float, target: float) -> float:
    """Return p' = logistic(z') where ``z' = z + length (target - p')``, by Newton's method within a bracket."""
    low, high = z - length * (1.0 - target), z + length * target
    at = min(max(z, low), high)
    for _ in range(100):
        p = _logistic(at)
        excess = at - z - length * (target - p)
        if excess > 0:
            high = at
        else:
            low = at
        before, at = at, at - excess / (1.0 + length * p * (1.0 - p))
        if not low <= at <= high:
            at = 0.5 * (low + high)
        if abs(at - before) <= 1e-12 * (1.0 + abs(at)):
            break
    return _logistic(at)
