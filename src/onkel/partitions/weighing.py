"""Weights of experts that were learned from all rows: what each counts at each leaf.

They minimise the loss of the sum over rows of the common sample, each of which is scored as if it had been held out: an
expert's function is the optimum of a sum over rows, and without one of them it would, by one step of Newton's, have the
score ``f + s g / (1 - s v)`` there. ``g`` and ``v`` are the slope and the curvature of the row's loss, and ``s`` is the
expert's variance at the row, without what lies outside the span of its points. For the squared error that is exact, the
leave-one-out residual of ridge regression. The loss is convex in the weights, which move by exponentiated gradients
from those of the sample.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.choice.judging import slopes_of_scores
from onkel.choice.rows import loss_of
from onkel.learner import Learner
from onkel.partitions.routes import Routes, taken
from onkel.partitions.spans import Subspace
from onkel.parts import GaussianPrior, SecondOrder
from onkel.regions import Region

Floats = NDArray[np.float64]

ROWS = 1024  # of a leaf
MOVES = 100  # of its weights
LEAST = 1e-3  # weight of an expert to begin with, so that it can grow
MOST_LEVERAGE = 0.9  # of a row on its own score


@dataclass(frozen=True)
class Sample:
    """The common sample as rows, class indices or targets, and weights; or those of its rows that lie in a region."""

    X: Any
    y: Floats
    weight: Floats | None
    routes: Routes
    n_rows: int = 0  # of the whole sample

    def of(self, region: int) -> Sample:
        """Return the rows of a region."""
        places = self.routes.of(self.X)[region]
        X, y, weight = (taken(values, places) for values in (self.X, self.y, self.weight))
        return Sample(X, y, weight, self.routes, self.n_rows)

    def first(self, n: int) -> Sample:
        """Return the first rows, at most `n`."""
        weight = None if self.weight is None else self.weight[:n]
        return Sample(self.X[:n], self.y[:n], weight, self.routes, self.n_rows)


def weighed(learner: Learner, spans: Mapping[int, Subspace], sample: Sample) -> Learner:
    """Return a learner of several experts, each of which has learned on a span of points of its own, with other weights
    at each leaf that holds rows of the sample."""
    for leaf in learner.regions:
        rows = sample.of(leaf.number).first(ROWS) if leaf.is_leaf else None
        if rows is not None and len(rows.y) and len(leaf.path) > 1:
            learner = learner.with_weights(leaf.number, weights_of(learner, leaf, spans, rows))
    return learner


def weights_of(learner: Learner, leaf: Region, spans: Mapping[int, Subspace], rows: Sample) -> Floats:
    """Return the weights with which the sum over the experts of a leaf's path has the least loss on rows of it."""
    counts = np.ones(len(rows.y)) if rows.weight is None else rows.weight
    each = np.stack([held_out(learner.expert(number), spans[number], rows.X, rows.y, counts) for number in leaf.path])
    loss = loss_of(learner.task, learner.recipe.loss)

    def judged(weights: Floats) -> float:
        return float((counts * loss((weights[:, None, None] * each).sum(axis=0), rows.y)).sum())

    weights = np.maximum(leaf.weights, LEAST)
    weights = weights / weights.sum()
    least, step = judged(weights), 1.0
    for _ in range(MOVES):
        scores = (weights[:, None, None] * each).sum(axis=0)
        g, _ = slopes_of_scores(learner.task, learner.recipe.loss, scores, rows.y)
        slope = ((counts * g) * each.transpose(0, 2, 1)).sum(axis=(1, 2))
        moved = weights * np.exp(-step * (slope - slope.min()) / (np.ptp(slope) or 1.0))
        moved = moved / moved.sum()
        reached = judged(moved)
        if reached < least:
            weights, least, step = moved, reached, 1.5 * step
        else:
            step = step / 4
    return np.asarray(weights)


def held_out(expert: Learner, span: Subspace, X: Any, y: Floats, counts: Floats) -> Floats:
    """Return the scores of rows that an expert has learned from, each as if it had not."""
    assert isinstance(expert.recipe, SecondOrder)
    assert isinstance(expert.recipe.prior, GaussianPrior)
    scores = expert.score_rows(X)
    outside = span.core.novelty(span.as_rows(X)) / expert.recipe.prior.lam
    variance = np.maximum(0.0, expert.variance_rows(X)[0] - outside)
    g, h = slopes_of_scores(expert.task, expert.recipe.loss, scores, y)
    leverage = np.minimum(variance * counts * h, MOST_LEVERAGE)
    return np.asarray(scores + (variance * counts * g / (1 - leverage)).T)
