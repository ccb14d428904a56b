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
from onkel.parts import RBF
from onkel.parts.metric import Quantiles, quantiles_of

SEARCHED = 0.75  # of the rows, at most: the others judge
# Points with which kernels are compared: few want wide kernels. A logistic fit to many takes long.
MANY_POINTS = {"binary": 2 * POINTS, "multiclass": 4 * POINTS, "regression": 4 * POINTS}
LEAST_SEEN = 64  # rows of many features that the search for a width looks at
WORSE = {"binary": 0.15, "multiclass": 0.15, "regression": 0.1}  # of the loss: a kernel that is no term of a sum
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

    def answer(self, used: Sequence[Radial] = ()) -> Chosen:
        """Return the kernels that are best; the search for relevances starts from those in use, too."""
        ranked = quantiles_of(self.rows.rows) if "ranks" in self.chosen and not self.is_wide else ()
        sides = [self._side(ranks, used) for ranks in ([ranked, ()] if ranked else [()])]
        side = sides[-1] if sides[-1].gaussian.loss < sides[0].gaussian.loss - BEHIND else sides[0]
        problem, judge, isotropic, gaussian = side
        if gaussian is isotropic:
            gaussian = judge.loss(problem.go_on(gaussian, FEW // 2, one=True, points=2 * POINTS), self.n_points)
        terms, worse = [gaussian], WORSE[self.task]
        if self.learns and "kernel" in self.chosen:
            laplacian = judge.loss(problem.go_on(problem.as_laplacian(gaussian), ALL // 2), self.n_points)
            terms += [laplacian] if side.gaussian is isotropic else [laplacian, isotropic]
            half = judge.loss(gaussian, self.n_points // 2)
            if self.task == "regression" and half.loss - gaussian.loss > SCARCE:
                terms = [laplacian] if laplacian.loss < gaussian.loss - worse else [gaussian]
        least = min(each.loss for each in terms)
        kept = sorted([each for each in terms if each.loss <= least + worse][:2], key=lambda each: each.loss)
        return Chosen(tuple(map(problem.kernel_of, kept)), least, self.n_searched)

    def _side(self, ranks: tuple[Quantiles, ...], used: Sequence[Radial]) -> Side:
        """Search for gaussian kernels of features with these ranks."""
        searched, judging = self.rows[: self.n_searched], self.rows[-self.n_judging :]
        if self.is_wide and issparse(searched.rows):  # features that no row has change no distance
            there = np.union1d([0], searched.rows.indices)
            searched = judging = Rows(searched.rows[:, there], searched.y, searched.weight)
        problem, judge = self._problem(searched, ranks), self._problem(judging, ranks)
        first, *others = problem.isotropic("relevances" in self.chosen and not self.is_wide)
        isotropic = gaussian = judge.loss(first, self.n_points)
        if self.learns:
            like = [each for each in used if isinstance(each, RBF) and bool(each.ranks) == bool(ranks)]
            found = problem.relevant([isotropic, *others, *map(problem.point_of, like)])
            best = min((judge.loss(each, self.n_points) for each in found), key=lambda each: each.loss)
            gaussian = best if best.loss < isotropic.loss - BEHIND else isotropic
        return Side(problem, judge, isotropic, gaussian)

    def better_than(self, used: Sequence[Radial]) -> Chosen | None:
        """Return kernels that are better than those in use, if there are any."""
        losses = []
        for kernel in used:
            own = self._problem(self.rows[-self.n_judging :], kernel.ranks)
            losses.append(own.loss(own.with_lam(own.point_of(kernel)), self.n_points).loss)
        found = self.answer(used)
        return found if found.loss < min(losses) - BEHIND else None
