"""Points: which rows of all partitions become the shared dictionary.

The first half are points of a function fitted to the common sample: they cover the rows. The others are rows that this
function predicts badly. A partition proposes the best of its own rows by the key ``log(u) / q``, ``q = weight g^2
sqrt(novelty)``, with ``g`` the slope under that function and novelty the squared distance from the span of the first
half: the reservoir of a single pass, with hindsight. Proposals are merged in the tree, the best are kept, and points
are chosen among them one by one, each by its novelty relative to all those chosen before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel import _core
from onkel.partitions.agreement import POINTS, RowEncoding, draws, stacked
from onkel.partitions.routes import Routes, taken
from onkel.partitions.sources import Partition
from onkel.partitions.spans import Subspace

Floats = NDArray[np.float64]
SPARE = 2  # proposals for each free place in the dictionary


@dataclass(frozen=True)
class Proposals:
    """Rows proposed as points, the best first."""

    limit: int  # of rows
    ranks: Floats  # keys with the novelty relative to the points of the sample
    keys: Floats  # keys without the novelty
    X: Any

    def with_others(self, other: Proposals) -> Proposals:
        """Return the best of both."""
        return Proposals(
            self.limit,
            np.concatenate([self.ranks, other.ranks]),
            np.concatenate([self.keys, other.keys]),
            stacked([self.X, other.X]),
        ).best()

    def best(self) -> Proposals:
        """Return the best of them, at most `limit`."""
        order = np.argsort(-self.ranks, kind="stable")[: self.limit]
        return Proposals(self.limit, self.ranks[order], self.keys[order], self.X[order])


@dataclass(frozen=True)
class Wanted:
    """What every partition needs to propose points."""

    region: int  # whose rows may be proposed
    sampled: Subspace  # that of all points of the function fitted to the sample
    coefficients: Floats  # of that function
    first: Subspace  # that of its first points
    limit: int  # of rows
    easy_slope: float

    def among(self, X: Any, y: Floats, weight: Floats, u: Floats) -> Proposals:
        """Return the best of these rows, each with a random number of its own."""
        learner = self.first.learner
        scores = self.sampled.core.scores(self.sampled.as_rows(X), self.coefficients)
        keys = _core.slope_keys(learner.recipe.loss.spec, learner.task, scores, y, weight, u, self.easy_slope)
        informative = np.flatnonzero(np.isfinite(keys))
        novelty = self.first.core.novelty(self.first.as_rows(X[informative]))
        new = novelty > 0
        informative, novelty = informative[new], novelty[new]
        ranks = keys[informative] / np.sqrt(novelty)
        return Proposals(self.limit, ranks, keys[informative], X[informative])


@dataclass(frozen=True)
class AllWanted:
    """What every partition needs to propose points for all terms."""

    terms: dict[int, Wanted]
    seed: int
    encoding: RowEncoding
    routes: Routes


def propose(number: int, partition: Partition, wanted: AllWanted) -> dict[int, Proposals]:
    """Return the best rows of a partition for each term."""
    rng = draws(wanted.seed, number, POINTS)
    best = {
        term: Proposals(own.limit, np.empty(0), np.empty(0), own.first.points[:0]) for term, own in wanted.terms.items()
    }
    for chunk in partition.chunks():
        X, y, weight = wanted.encoding.encode(chunk)
        u = rng.random(len(y))
        weight = np.ones(len(y)) if weight is None else weight
        places = wanted.routes.of(X)
        for term, own in wanted.terms.items():
            found = own.among(*(taken(each, places[own.region]) for each in (X, y, weight, u)))
            best[term] = best[term].with_others(found)
    return best


def best_of_both(left: dict[int, Proposals], right: dict[int, Proposals]) -> dict[int, Proposals]:
    """Return the best of two partitions' proposals for each term."""
    return {term: left[term].with_others(right[term]) for term in left}


def chosen(first: Subspace, proposals: Proposals, others: Any, budget: int) -> Any:
    """Return the points: the first ones, the best of the proposals, and others where those do not fill the budget.

    None lies in the span of those before it.
    """
    candidates = stacked([first.points, proposals.X, others])
    n_first = first.points.shape[0]
    keys = np.concatenate([np.zeros(n_first), proposals.keys, np.full(others.shape[0], -np.inf)])
    rows = first.as_rows(candidates)
    kernel = first.learner.kernel.formula_spec
    places = _core.choose_points(kernel, rows, candidates.shape[1], keys, n_first, budget)
    return candidates[places]
