"""The weights of a sum over kernels, each term of which has an optimum of its own.

They minimise the loss of ``sum_k w_k f_k`` over the simplex. The terms' scores are rows of a linear model with the
weights as its function, so that the sums over the rows are those of any span: the one of the unit vectors under the
linear kernel, whose coordinates are the scores themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onkel.partitions.agreement import Encoding
from onkel.partitions.descent import Progress
from onkel.partitions.sources import Partition
from onkel.partitions.spans import Question, Subspace, Sums, square
from onkel.parts import Linear

if TYPE_CHECKING:
    from onkel.partitions.newton import Team

Floats = NDArray[np.float64]

MAX_ROUNDS = 10
MAX_EXCHANGES = 1000


@dataclass(frozen=True)
class Optimum:
    """Where the rounds over all rows have ended, for a function of one kernel."""

    subspace: Subspace
    reached: Progress

    def __len__(self) -> int:
        return int(self.subspace.points.shape[0])

    @property
    def coefficients(self) -> Floats:
        """Of the columns of the span, an output a row."""
        return self.subspace.coefficients(self.reached.w)


@dataclass(frozen=True)
class Scoring:
    """What every partition needs to weigh the terms."""

    subspaces: tuple[Subspace, ...]
    coefficients: tuple[Floats, ...]
    question: Question  # of the linear model
    encoding: Encoding


def weigh(number: int, partition: Partition, scoring: Scoring) -> Sums:
    """Return what the rows of a partition sum to, as rows of scores."""
    sums = scoring.question.start()
    for chunk in partition.chunks():
        X, y, weight = scoring.encoding.encode(chunk)
        scores = [
            subspace.core.scores(subspace.as_rows(X), function).reshape(len(y), -1)
            for subspace, function in zip(scoring.subspaces, scoring.coefficients, strict=True)
        ]
        sums.add(scoring.question.subspace.as_rows(np.hstack(scores)), y, weight)
    return Sums(*sums.result())


def combined(optima: Sequence[Optimum], encoding: Encoding, team: Team, tolerance: float) -> tuple[Floats, float]:
    """Return the weights of the terms that fit all rows best, and the mean squared slope of the sum's loss."""
    n_terms, n_outputs = len(optima), len(optima[0].reached.w)
    linear = optima[0].subspace.learner.blank(kernel=Linear(), fit_intercept=False, sparse=False, dtype="float64")
    scores = Subspace(linear, np.eye(n_terms * n_outputs))
    subspaces = tuple(each.subspace for each in optima)
    coefficients = tuple(each.coefficients for each in optima)
    weights, trial, before = np.full(n_terms, 1 / n_terms), np.full(n_terms, 1 / n_terms), np.inf
    noise = 0.0
    for _ in range(MAX_ROUNDS):
        function = np.hstack([weight * np.eye(n_outputs) for weight in trial])
        scoring = Scoring(subspaces, coefficients, Question(scores, function, informed=True), encoding)
        sums: Sums = team.total("weights", weigh, scoring, Sums.__add__)
        if not sums.loss < before:
            break
        decrease, before = before - sums.loss, sums.loss
        weights, noise = trial, sums.squares / max(1, sums.rows)
        if decrease <= tolerance * abs(sums.loss):
            break
        trial = least_on_simplex(*by_weight(sums, n_terms, n_outputs), weights)
    return weights, noise


def by_weight(sums: Sums, n_terms: int, n_outputs: int) -> tuple[Floats, Floats]:
    """Return slope and curvature of the loss by the weights, which all outputs share."""
    slopes = sums.slopes.reshape(n_outputs, n_terms, n_outputs)
    half = square(sums.half, n_terms * n_outputs).reshape(n_terms, n_outputs, n_terms, n_outputs)
    slope, curvature = np.zeros(n_terms), np.zeros((n_terms, n_terms))
    for o in range(n_outputs):
        slope += slopes[o, :, o]
        curvature += half[:, o, :, o]
    return slope, curvature


def least_on_simplex(slope: Floats, curvature: Floats, start: Floats) -> Floats:
    """Minimise ``slope . (w - start) + (w - start) . curvature (w - start) / 2`` over weights that sum to 1.

    Weight moves from the term whose slope is the largest, of those that have some, to the one whose slope is the least.

    Examples
    --------
    >>> least_on_simplex(np.array([1.0, 0.0]), np.eye(2), np.array([0.5, 0.5])).tolist()
    [0.0, 1.0]
    """
    weights = start.copy()
    for _ in range(MAX_EXCHANGES):
        now = slope + np.array([np.add.accumulate(row * (weights - start))[-1] for row in curvature])
        giver = int(np.argmax(np.where(weights > 0, now, -np.inf)))
        taker = int(np.argmin(now))
        gain = now[giver] - now[taker]
        if gain <= 1e-12 * np.abs(now).max():
            break
        bend = curvature[giver, giver] + curvature[taker, taker] - 2 * curvature[giver, taker]
        moved = weights[giver] if bend * weights[giver] <= gain else gain / bend
        weights[giver] -= moved
        weights[taker] += moved
    return weights
