"""Which kernels are best for some rows: what the searches of :mod:`onkel.choice.search` find, judged on other rows.

The gaussian kernel is isotropic unless relevances that were learned have less loss on rows that no search has seen.
Beside it there is the Laplacian kernel or, if that is clearly worse, the isotropic one, unless that is clearly worse,
too: both become terms of a sum. In regression one kernel has all points where twice as many would do better. Ranks are
left out where features as they are do better.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from onkel.choice.rows import Rows
from onkel.choice.search import (
    ALL,
    BEHIND,
    FEW,
    LEAST_A_SCALE,
    LEAST_ROWS,
    MOST_NUMBERS,
    MOST_ROWS,
    POINTS,
    ROWS_A_SCALE,
    Found,
    Problem,
    Radial,
)
from onkel.choice.steps import Steps, each, looked_through
from onkel.parts import RBF
from onkel.parts.metric import Quantiles, quantiles_of

SEARCHED = 0.75  # of the rows, at most: the others judge
# Points with which kernels are compared: few want wide kernels. A logistic fit to many takes long.
MANY_POINTS = {"binary": 2 * POINTS, "multiclass": 4 * POINTS, "regression": 4 * POINTS}
LEAST_SEEN = 64  # rows of many features that the search for a width looks at
WORSE = {"binary": 0.15, "multiclass": 0.15, "regression": 0.1}  # of the loss: a kernel that is no term of a sum
RANKED = 2**15  # numbers at a time
SCARCE = 0.1  # of the loss, gained by twice the points


class Chosen(NamedTuple):
    """Kernels, the best one first, with the logarithm of its loss on the rows that judge, and the number of rows, the
    first, that the searches have seen."""

    kernels: tuple[Radial, ...]
    loss: float
    n_searched: int


class Side(NamedTuple):
    """The rows that are searched, those that judge, with the same ranks, and the isotropic kernel and the best gaussian
    one, which may be the same."""

    problem: Problem
    judge: Problem
    isotropic: Found
    gaussian: Found


class KernelQuestion:
    """Some rows, and what is to be chosen for them: "gamma", "relevances", "ranks", "kernel"."""

    def __init__(self, rows: Rows, task: str, n_classes: int, chosen: Collection[str], n_threads: int) -> None:
        self.rows, self.n_classes, self.chosen, self.n_threads = rows, n_classes, chosen, n_threads
        self.task = task = "binary" if (task, n_classes) == ("multiclass", 2) else task  # there may be others later
        self.n_points = MANY_POINTS[task]
        wide = MOST_NUMBERS // max(1, int(rows.rows.shape[1]))  # rows that may be dense
        self.n_searched = min(len(rows), max(LEAST_SEEN, min(MOST_ROWS, wide)))
        self.n_judging, self.learns = self.n_searched, False
        self.is_wide = wide < LEAST_ROWS  # too many features for more than a width
        if "relevances" in chosen and not self.is_wide:
            n_scales = self._problem(rows[:wide]).n_scales
            most = min(wide, int(SEARCHED * len(rows)), max(MOST_ROWS, ROWS_A_SCALE * n_scales))
            self.learns = most >= max(LEAST_ROWS, LEAST_A_SCALE * n_scales)
        if self.learns:
            self.n_searched, self.n_judging = most, min(wide, len(rows) - most)

    def _problem(self, rows: Rows, ranks: tuple[Quantiles, ...] = ()) -> Problem:
        return Problem(rows, ranks, self.task, self.n_classes, self.n_threads)

    def answer(self, used: Sequence[Radial] = ()) -> Steps[Chosen]:
        """Return the kernels that are best; the search for relevances starts from those in use, too."""
        ranked = yield from self._quantiles()
        sides = yield from each([self._side(ranks, used) for ranks in ([ranked, ()] if ranked else [()])])
        side = sides[-1] if sides[-1].gaussian.loss < sides[0].gaussian.loss - BEHIND else sides[0]
        problem, judge, isotropic, gaussian = side
        if gaussian is isotropic:
            gaussian = yield from problem.go_on(gaussian, FEW // 2, one=True, points=2 * POINTS)
            gaussian = yield from judge.loss(gaussian, self.n_points)
        terms, worse = [gaussian], WORSE[self.task]
        if self.learns and "kernel" in self.chosen:
            laplacian = yield from problem.go_on(problem.as_laplacian(gaussian), ALL // 2)
            laplacian = yield from judge.loss(laplacian, self.n_points)
            terms += [laplacian] if side.gaussian is isotropic else [laplacian, isotropic]
            half = yield from judge.loss(gaussian, self.n_points // 2)
            if self.task == "regression" and half.loss - gaussian.loss > SCARCE:
                terms = [laplacian] if laplacian.loss < gaussian.loss - worse else [gaussian]
        least = min(term.loss for term in terms)
        kept = sorted([term for term in terms if term.loss <= least + worse][:2], key=lambda term: term.loss)
        return Chosen(tuple(map(problem.kernel_of, kept)), least, self.n_searched)

    def _quantiles(self) -> Steps[tuple[Quantiles, ...]]:
        """The quantiles among which features are ranked, if they may be."""
        found: tuple[Quantiles, ...] = ()
        n_rows, n_features = self.rows.rows.shape
        at_a_time = max(1, RANKED // n_rows)
        yield looked_through(min(n_rows * n_features, MOST_NUMBERS), 0)  # for the number of scales
        for first in range(0, n_features if "ranks" in self.chosen and not self.is_wide else 0, at_a_time):
            columns = self.rows.rows[:, first : first + at_a_time]
            found += quantiles_of(columns) or ((),) * int(columns.shape[1])
            yield looked_through(n_rows * at_a_time, at_a_time)
        return found if any(found) else ()

    def _side(self, ranks: tuple[Quantiles, ...], used: Sequence[Radial]) -> Steps[Side]:
        """Search for gaussian kernels of features with these ranks."""
        searched, judging = self.rows[: self.n_searched], self.rows[-self.n_judging :]
        if self.is_wide and issparse(searched.rows):  # features that no row has change no distance
            there = np.union1d([0], searched.rows.indices)
            searched = judging = Rows(searched.rows[:, there], searched.y, searched.weight)
        problem = self._problem(searched, ranks)
        yield looked_through(problem.X.size, problem.X.shape[1])
        judge = self._problem(judging, ranks)
        yield looked_through(judge.X.size, judge.X.shape[1])
        first, *others = yield from problem.isotropic("relevances" in self.chosen and not self.is_wide)
        isotropic = gaussian = yield from judge.loss(first, self.n_points)
        if self.learns:
            like = [kernel for kernel in used if isinstance(kernel, RBF) and bool(kernel.ranks) == bool(ranks)]
            found = yield from problem.relevant([isotropic, *others, *map(problem.point_of, like)])
            judged = yield from each([judge.loss(point, self.n_points) for point in found])
            best = min(judged, key=lambda point: point.loss)
            gaussian = best if best.loss < isotropic.loss - BEHIND else isotropic
        return Side(problem, judge, isotropic, gaussian)

    def better_than(self, used: Sequence[Radial]) -> Steps[Chosen | None]:
        """Return kernels that are better than those in use, if there are any."""
        losses = []
        for kernel in used:
            own = self._problem(self.rows[-self.n_judging :], kernel.ranks)
            yield looked_through(own.X.size, own.X.shape[1])
            found = yield from own.with_lam(own.point_of(kernel))
            losses.append((yield from own.loss(found, self.n_points)).loss)
        answer = yield from self.answer(used)
        return answer if answer.loss < min(losses) - BEHIND else None
