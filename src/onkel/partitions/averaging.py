"""First-order learning over partitions: each partition has a learner of its own, and the functions are averaged.

This is the divide-and-conquer of Zhang, Duchi and Wainwright (2015) with a budget: a merged function that would exceed
it is compressed, and the distance by which that moved the function is reported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from onkel.choice.growth import budget_of_one
from onkel.models.merge import merge
from onkel.partitions.agreement import RowEncoding
from onkel.partitions.newton import Report, Workers
from onkel.partitions.sources import Partition


@dataclass(frozen=True)
class Averaged:
    """The average of some partitions' functions; None where there was no row."""

    model: Any
    distances: tuple[float, ...] = ()  # how far each merge moved the function

    def with_others(self, other: Averaged) -> Averaged:
        """Return the average of both, each weighted by its number of rows."""
        distances = self.distances + other.distances
        if self.model is None or other.model is None:
            return Averaged(other.model if self.model is None else self.model, distances)
        merged = merge([self.model, other.model], budget=budget_of_one(self.model.budget))
        return Averaged(merged.model, (*distances, merged.distance))


@dataclass(frozen=True)
class Shared:
    """What the learners of all partitions have in common."""

    model: Any  # unfitted
    encoding: RowEncoding


def learn_partition(number: int, partition: Partition, shared: Shared) -> Averaged:
    """Learn from one partition, in one pass."""
    model, classes = clone(shared.model), shared.encoding.classes
    fitted = False
    for chunk in partition.chunks():
        X, y, weight = shared.encoding.encode(chunk)
        if not len(y) or (weight is not None and not weight.any()):
            continue
        if classes is None:
            model.partial_fit(X, y, sample_weight=weight)
        else:
            model.partial_fit(X, classes[y.astype(np.intp)], classes=classes, sample_weight=weight)
        fitted = True
    return Averaged(model if fitted else None)


def learn(sampled: Any, encoding: RowEncoding, workers: Workers, report: Report) -> Any:
    """Return the model of all rows; its kernel has the width that was chosen on the common sample."""
    model = clone(sampled).set_params(gamma=sampled.gamma_)
    averaged: Averaged = workers.total("learning", learn_partition, Shared(model, encoding), Averaged.with_others)
    report.merges = list(averaged.distances)
    report.converged = True
    report.n_points = int(averaged.model.n_support_)
    return averaged.model
