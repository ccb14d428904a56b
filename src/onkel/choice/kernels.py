"""Which kernels are best for some rows: what the searches of :mod:`onkel.choice.search` find, judged on other rows.

The gaussian kernel is isotropic unless relevances that were learned have less loss on rows that no search has seen.
Beside it there is the Laplacian kernel or, if that is clearly worse, the isotropic one, unless that is clearly worse,
too: both become terms of a sum. In regression one kernel has all points where twice as many would do better. Ranks are
left out where features as they are do better.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
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
    """Kernels, the best one first, and the number of rows, the first, that the searches have seen."""

    kernels: tuple[Radial, ...]
    n_searched: int


class Question:
    """Some rows, and what is to be chosen for them: "gamma", "relevances", "ranks", "kernel"."""

    def __init__(self, rows: Rows, task: str, n_classes: int, chosen: Collection[str], n_threads: int) -> None:
        self.rows, self.task, self.n_classes, self.chosen, self.n_threads = rows, task, n_classes, chosen, n_threads
        self.n_points = MANY_POINTS[task]
        wide = MOST_NUMBERS // max(1, int(rows.rows.shape[1]))  # rows that may be dense
        self.n_searched = min(len(rows), max(LEAST_SEEN, min(MOST_ROWS, wide)))
        self.n_judging, self.learns = self.n_searched, False
        if "relevances" in chosen and wide >= LEAST_ROWS:
            n_scales = self._problem(rows[:wide]).n_scales
            most = min(wide, int(SEARCHED * len(rows)), max(MOST_ROWS, ROWS_A_SCALE * n_scales))
            self.learns = most >= max(LEAST_ROWS, LEAST_A_SCALE * n_scales)
        if self.learns:
            self.n_searched, self.n_judging = most, min(wide, len(rows) - most)

    def _problem(self, rows: Rows, ranks: tuple[Quantiles, ...] = ()) -> Problem:
        return Problem(rows, ranks, self.task, self.n_classes, self.n_threads)

    @cached_property
    def _sides(self) -> tuple[Problem, Problem, Found]:
        """The rows that are searched, those that judge, and the isotropic kernel, with ranks or without them."""
        searched, judging = self.rows[: self.n_searched], self.rows[-self.n_judging :]
        if issparse(self.rows.rows) and not self.learns:  # features that no row has change no distance
            there = np.unique(searched.rows.indices)
            searched = judging = Rows(searched.rows[:, there], searched.y, searched.weight)
        ranked = quantiles_of(self.rows.rows) if "ranks" in self.chosen and searched.rows.shape[1] else ()
        if ranked and searched.rows.shape[1] != self.rows.rows.shape[1]:
            ranked = ()
        tried = []
        for ranks in [ranked, ()] if ranked else [()]:
            problem = self._problem(searched, ranks)
            found = problem.isotropic("relevances" in self.chosen)
            tried.append((problem, found, problem.loss(found, self.n_points).loss if ranked else 0.0))
        problem, found, _ = tried[-1] if tried[-1][2] < tried[0][2] - BEHIND else tried[0]
        found = problem.go_on(found, FEW // 2, one=True, points=2 * POINTS)
        return problem, self._problem(judging, problem.ranks), found

    def answer(self, starts: Sequence[Found] = ()) -> Chosen:
        """Return the kernels that are best; relevances are searched for from these points, too."""
        problem, judge, gaussian = self._sides
        if not self.learns:
            return Chosen((problem.kernel_of(gaussian),), len(self.rows))
        isotropic = gaussian = judge.loss(gaussian, self.n_points)
        learned = [judge.loss(each, self.n_points) for each in problem.relevant([gaussian, *starts])]
        best = min(learned, key=lambda each: each.loss)
        if best.loss < isotropic.loss - BEHIND:
            gaussian = best
        worse = WORSE[self.task]
        terms = [gaussian, isotropic] if gaussian is best else [gaussian]
        if "kernel" in self.chosen:
            laplacian = judge.loss(problem.go_on(problem.as_laplacian(gaussian), ALL // 2), self.n_points)
            terms.insert(1, laplacian)
            half = judge.loss(gaussian, self.n_points // 2)
            if self.task == "regression" and half.loss - gaussian.loss > SCARCE:
                terms = [laplacian] if laplacian.loss < gaussian.loss - worse else [gaussian]
        least = min(each.loss for each in terms)
        kept = [each for each in terms if each.loss <= least + worse][:2]
        return Chosen(tuple(map(problem.kernel_of, sorted(kept, key=lambda each: each.loss))), self.n_searched)

    def better_than(self, used: Sequence[Radial]) -> Chosen | None:
        """Return kernels that are better than those in use, if there are any."""
        problem, judge, _ = self._sides
        points = []
        for kernel in used:
            own = self._problem(self.rows[-self.n_judging :], kernel.ranks)
            points.append(own.loss(own.with_lam(own.point_of(kernel)), self.n_points))
        starts = [each for kernel, each in zip(used, points, strict=True) if kernel.ranks == problem.ranks]
        found = self.answer([each for each in starts if each.kernel is RBF])
        best = judge.loss(judge.with_lam(judge.point_of(found.kernels[0])), self.n_points)
        return found if best.loss < min(each.loss for each in points) - BEHIND else None
