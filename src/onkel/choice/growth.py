"""regions="stream": a learner that grows regions, each with an expert of its own (``docs/experts.md``).

Of each leaf the latest rows are kept, with the scores from before each was learned from. When a leaf has enough of
them, of its own and of its parent, it is divided (:mod:`onkel.choice.division`); where that is not better, it is tried
again when it has twice as many rows. That is looked at every so many rows of the stream, so that it is a function of
the rows alone.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onkel.choice.division import Division, divided, nearest_kernels
from onkel.choice.job import Job
from onkel.choice.kept import Kept, Scored
from onkel.choice.rows import Rows
from onkel.choice.steps import Steps
from onkel.learner import Learner
from onkel.parts import RBF, Laplacian, SecondOrder
from onkel.regions import Region
from onkel.utils.validation import check_number

Floats = NDArray[np.float64]

MOST_POINTS = 16_000  # of all experts by default
LARGEST = 800  # points of an expert, where there may be several
LEFT = 560  # to the experts of all rows together, when these are divided for the first time: what they weigh falls
POINTS = 266  # of the expert of a region
ROWS = 4096  # kept of a leaf
PERIOD = 1024  # rows of the stream after which leaves may be divided
RIPE = 3072  # rows with which a leaf is divided, those of its parent that it was given among them
SOONEST = 512  # rows of its own
MOST_NUMBERS = 2**20  # of the rows of a leaf


def budget_of_one(budget: Any) -> Any:
    """Return how many points a learner has that is to be one expert for ever: so many, if that is not the default."""
    return LARGEST if budget == MOST_POINTS else budget


def budget_of_first(budget: int) -> int:
    """Return how many points the expert has that sees all rows, where there may be others."""
    return LARGEST if budget >= least_budget() else budget


def least_budget() -> int:
    """Return the least number of points with which there may be regions: the root may be a sum of two kernels."""
    return 2 * LARGEST + 2 * POINTS


class Growth:
    """The rows kept of each leaf, and when these are divided. Nothing changes in place.

    Parameters
    ----------
    budget : int
        The largest number of points of all experts.
    kinds : collection of {"rbf", "laplacian"}
        The kernels of new experts.
    """

    def __init__(self, budget: int, kinds: Collection[str]) -> None:
        self.budget, self.kinds = budget, tuple(kinds)
        self.leaves = {0: Kept([], 0, ROWS)}

    @classmethod
    def of(cls, learner: Learner, chosen: Collection[str], budget: int | None) -> Self | None:
        """Return what lets a learner grow regions that has learned nothing yet; None if there is no room for them."""
        if "regions" not in chosen or not isinstance(learner.recipe, SecondOrder) or budget is None:
            return None
        if budget < least_budget():
            return None
        return cls(budget, ["rbf", "laplacian"] if "kernel" in chosen else ["rbf"])

    @property
    def kernels(self) -> list[type[RBF | Laplacian]]:
        """The kernels of new experts."""
        return [kind for kind in (RBF, Laplacian) if kind.name in self.kinds]

    def next_due(self, t: int) -> int:
        """Return the next number of rows of the stream after which leaves may be divided."""
        return max(ROWS, (t // PERIOD + 1) * PERIOD)

    def has_room(self, learner: Learner) -> bool:
        """Whether there are points for two more experts, whatever those of the root share."""
        n_root = len(learner.kernels) if len(learner.experts) == 1 else len(learner.regions[0].experts)
        root = n_root * LARGEST if len(learner.regions) == 1 else max(n_root, LEFT)
        points = root + (max(0, len(learner.experts) - n_root) + 2) * POINTS
        return points <= self.budget

    @staticmethod
    def takes(rows: Any) -> bool:
        """Whether there may be regions of such rows."""
        return not issparse(rows) and int(rows.shape[1]) * ROWS // 2 <= MOST_NUMBERS

    def most(self, n_features: int) -> int:
        """Return how many rows of a leaf are kept."""
        return min(ROWS, MOST_NUMBERS // n_features)

    def extended_by(self, learner: Learner, rows: Rows, scores: Floats, position: int, busy: int | None) -> Self:
        """Return this with further rows, the first of which has this position in the stream; a leaf that is being
        divided loses none."""
        after = copy.copy(self)
        after.leaves = dict(self.leaves)
        taken = Scored(rows, scores, np.arange(position, position + len(rows)))
        leaves = learner.leaf_of(rows.rows)
        for leaf in np.unique(leaves).tolist():
            piece = taken if len(self.leaves) == 1 else taken.of(leaves == leaf)
            most = math.inf if leaf == busy else self.most(rows.rows.shape[1])
            after.leaves[leaf] = self.leaves[leaf].extended_by(piece, most)
        return after

    def latest(self, n_features: int) -> Self:
        """Return this with no more rows than are kept of a leaf that is not being divided."""
        after = copy.copy(self)
        after.leaves = {leaf: kept.latest(self.most(n_features)) for leaf, kept in self.leaves.items()}
        return after

    def begun_again(self, t: int) -> Self:
        """Return what knows no rows, about another learner that has seen so many."""
        after = copy.copy(self)
        after.leaves = {0: Kept([], 0, t + ROWS)}
        return after

    def due_leaf(self, learner: Learner) -> int | None:
        """Return the number of a leaf that is to be divided now, if there is one."""
        due = [leaf.number for leaf in learner.regions if leaf.is_leaf and leaf.rows >= self.leaves[leaf.number].due]
        return min(due, default=None)

    def n_kept(self, leaf: int) -> int:
        """Return how many rows of a leaf are kept."""
        return len(self.leaves[leaf].all.positions)

    def steps(self, learner: Learner, own: Learner, job: Job) -> Steps[Division | None]:
        """Return the work of dividing a leaf; `own` is what experts are made like."""
        kept = self.leaves[job.about].all.before(job.begun, job.n_rows, job.n_outputs)
        whole = as_experts(learner)
        return divided(own, nearest_kernels(whole, region_of(whole, job.about)), kept, POINTS, self.kernels)

    def answered(self, learner: Learner, number: int, found: Division | None) -> tuple[Learner, Self]:
        """Divide a leaf as was found; return the learner that goes on, and this without rows that are no longer kept.
        Where nothing better was found, it is tried again when the leaf has twice as many rows."""
        after = copy.copy(self)
        after.leaves = dict(self.leaves)
        whole = as_experts(learner)
        leaf = region_of(whole, number)
        if found is None:
            after.leaves[number] = self.leaves[number].due_at(2 * leaf.rows)
            return learner, after
        learner = found.of(whole, leaf)
        if leaf.parent is None:
            learner = with_fewer_points(learner, region_of(learner, number))
        learner.settings = replace(learner.settings, budget=self.budget)
        del after.leaves[number]
        for child, side in zip(region_of(learner, number).children, found.sides, strict=True):
            n = min(len(side.kept.positions), self.most(learner.n_features or 1))
            after.leaves[child] = Kept([], 0, max(SOONEST, RIPE - n)).extended_by(side.kept, n)
        return learner, after

    # -- state ---------------------------------------------------------------------------------------------------------

    def saved(self) -> dict[str, Any]:
        """Return the state as values that a file can contain."""
        leaves = {str(leaf): kept.arrays() for leaf, kept in self.leaves.items()}
        return {"budget": self.budget, "kinds": list(self.kinds), "leaves": leaves}

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what is kept as named arrays."""
        named = {leaf: kept.arrays() for leaf, kept in self.leaves.items()}
        return {f"{leaf}.{name}": values for leaf, arrays in named.items() for name, values in arrays.items()}

    @classmethod
    def from_saved(cls, learner: Learner, values: Any, job: Job | None) -> Self:
        """Restore what is kept about a learner from `saved`; refuse values that it cannot have returned."""
        if not isinstance(values, dict) or set(values) != {"budget", "kinds", "leaves"}:
            raise ValueError("regions have a budget, kinds and leaves")
        check_number("the points of all experts", values["budget"], at_least=1, integer=True)
        kinds, leaves = values["kinds"], values["leaves"]
        if not isinstance(kinds, list) or not kinds or not set(kinds) <= {"rbf", "laplacian"}:
            raise ValueError(f"the kernels of regions must be rbf or laplacian, got {kinds!r}")
        growth = cls(int(values["budget"]), kinds)
        there = {str(region.number): region for region in learner.regions if region.is_leaf}
        if not isinstance(leaves, dict) or set(leaves) != set(there):
            raise ValueError("rows must be kept of each leaf")
        if learner.n_features is not None:
            most = growth.most(learner.n_features) + (0 if job is None else learner.t - job.begun)
            growth.leaves = {
                there[leaf].number: Kept.from_arrays(arrays, learner.n_features, learner.dtype, most, learner.t)
                for leaf, arrays in leaves.items()
            }
        return growth


def as_experts(learner: Learner) -> Learner:
    """Return a learner whose sum over kernels, if it is one, is that of several experts."""
    if not learner.is_second_order_sum:
        return learner
    sum_as_experts = Learner.of_experts(learner.split(), learner.kernel_weights)
    sum_as_experts.settings = replace(sum_as_experts.settings, budget=learner.budget)
    return sum_as_experts


def with_fewer_points(learner: Learner, region: Region) -> Learner:
    """Return a learner of which the experts of a region have given points away."""
    most = max(1, LEFT // len(region.experts))
    experts = [learner.expert(number) for number in learner.experts]
    smaller = [
        expert.with_budget(most) if number in region.experts else expert
        for number, expert in zip(learner.experts, experts, strict=True)
    ]
    return learner.with_experts(smaller)


def region_of(learner: Learner, number: int) -> Region:
    """Return the region with this number."""
    return next(region for region in learner.regions if region.number == number)


def as_one(learner: Learner) -> Learner:
    """Return a learner as what another one that is to take over is made like: with the budget of one expert."""
    return learner if len(learner.experts) == 1 else learner.blank(budget=LARGEST)
