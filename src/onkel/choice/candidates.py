"""The learners that a choice hands back: with the kernel and the λ that are best for some rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import issparse

from onkel.choice import stages
from onkel.choice.competition import Competition
from onkel.choice.kernels import Chosen, KernelQuestion
from onkel.choice.rows import Rows, median_distance
from onkel.choice.search import MOST_ROWS
from onkel.choice.steps import Steps
from onkel.choice.targets import targets_of
from onkel.learner import Learner
from onkel.parts import RBF, GaussianPrior, Hedge, Kernel, Laplacian, Linear, SecondOrder


def chosen_learner(own: Learner, rows: Rows, chosen: Collection[str]) -> Steps[Learner]:
    """Return a learner that has learned nothing, with the kernel and the λ that are best for the rows."""
    kernel, lam, may_be_linear = own.kernel, lam_of(own), False
    if "gamma" in chosen and len(rows) >= stages.FIRST[0]:
        if len(rows) < stages.COMPETE:
            kernel = RBF(1.0 / median_distance(rows.rows))
        else:
            question = yield from _question(own, rows, chosen)
            kernel = _together(own, (yield from question.answer()))
            may_be_linear = "kernel" in chosen and question.is_wide and issparse(rows.rows)
    if len(rows) >= stages.COMPETE and isinstance(own.recipe, SecondOrder):
        competition = Competition(own, rows[-MOST_ROWS:], n_classes_in(own, rows))
        lam = GaussianPrior().lam if "lam" in chosen else lam
        if "gamma" in chosen and own.in_order and not isinstance(own.kernel, Linear):
            kernel = yield from competition.best_kernel(kernel, own.kernel, lam)
        if "lam" in chosen:
            lam = yield from competition.best_lam(kernel, lam)
            if may_be_linear:
                kernel, lam = yield from Competition(own, rows, n_classes_in(own, rows)).or_linear(kernel, lam)
    return _with(own, rows, kernel, lam)


def better_learner(own: Learner, kernels: Sequence[Kernel], rows: Rows, chosen: Collection[str]) -> Steps[Learner]:
    """Return the same where the kernel and the λ are those of the learner, unless others are better than its own."""
    kernel, lam = own.kernel, lam_of(own)
    if "gamma" in chosen and not isinstance(kernel, Linear):  # which is chosen among the first rows, or never
        used = [each for each in kernels if isinstance(each, RBF | Laplacian)]
        question = yield from _question(own, rows, chosen)
        found = yield from question.better_than(used)
        kernel = kernel if found is None else _together(own, found)
    competition = Competition(own, rows[-stages.LATEST :], n_classes_in(own, rows))
    if "gamma" in chosen:
        kernel = yield from competition.best_kernel(kernel, own.kernel, lam)
    if "lam" in chosen:
        lam = yield from competition.best_lam(kernel, lam)
    return _with(own, rows, kernel, lam)


def _question(own: Learner, rows: Rows, chosen: Collection[str]) -> Steps[KernelQuestion]:
    rows = yield from targets_of(own, rows)
    return KernelQuestion(rows, own.task, n_classes_in(own, rows), chosen, own.n_jobs)


def _together(own: Learner, found: Chosen) -> Kernel:
    """The kernel that is best, or a sum of several; a term needs a point, and knows how sure it is."""
    room = len(found.kernels) if own.budget is None else own.budget
    if len(found.kernels) == 1 or room < len(found.kernels) or not isinstance(own.recipe, SecondOrder):
        return found.kernels[0]
    return Hedge(found.kernels, "sum", start=found.n_searched)


def _with(own: Learner, rows: Rows, kernel: Kernel, lam: float) -> Learner:
    """An unfitted learner with this kernel and λ."""
    recipe = own.recipe
    if isinstance(recipe, SecondOrder):
        recipe = replace(recipe, prior=GaussianPrior(lam))
    return own.blank(recipe=recipe, kernel=kernel, n_classes=n_classes_in(own, rows))


def lam_of(own: Learner) -> float:
    """Return the λ of a second-order learner; the default for others."""
    prior = own.recipe.prior if isinstance(own.recipe, SecondOrder) else GaussianPrior()
    assert isinstance(prior, GaussianPrior)
    return prior.lam


def n_classes_in(own: Learner, rows: Rows) -> int:
    """Return the number of classes that the learner or these rows know; 1 for other tasks."""
    if own.task != "multiclass":
        return 1
    return max(own.n_classes, own.n_outputs, int(np.max(rows.y, initial=0)) + 1)
