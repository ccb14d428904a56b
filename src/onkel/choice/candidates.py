"""The learners that a choice hands back: the one that is best for the first rows, and later a better one, if any."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from onkel.choice import stages
from onkel.choice.competition import WIDTHS, Competition, Metric, gaussian
from onkel.choice.relevances import first_searched, ranks_of
from onkel.choice.rows import Rows
from onkel.learner import Learner
from onkel.parts import RBF, GaussianPrior, Hedge, Kernel, Laplacian, SecondOrder


def first_learner(own: Learner, rows: Rows, chosen: Collection[str]) -> Learner:
    """Return a learner that has learned from all rows of a stream with the kernel and the λ that are best for them;
    the learner itself, if it has these."""
    competition = Competition(own, rows, _n_classes(own))
    kernel, lam = _first(own, competition, rows, chosen)
    fresh = _with(own, kernel, lam)
    alike = (fresh.kernel, fresh.recipe) == (own.kernel, own.recipe)
    return own if alike else competition.learned_by(fresh, lam)


def _first(own: Learner, competition: Competition, rows: Rows, chosen: Collection[str]) -> tuple[Kernel, float]:
    """The kernel, or the sum of several, and the λ."""
    n = len(rows)
    lam = GaussianPrior().lam if "lam" in chosen else competition.lam
    before, relevances = own.kernels[0], np.ones(rows.rows.shape[1])
    if "ranks" in chosen and n >= stages.COMPETE and isinstance(before, RBF | Laplacian):
        before = before.with_ranks(ranks_of(rows))
    ranks = before.ranks if isinstance(before, RBF | Laplacian) else ()
    if "relevances" in chosen and n >= stages.COMPETE:
        relevances = competition.start(ranks) if n < stages.KEPT else before.relevances_of(len(relevances))
    kernel: Kernel = before
    widths: Sequence[int] = WIDTHS
    if "gamma" in chosen and isinstance(before, RBF):
        kernel = gaussian(competition.middle(relevances, ranks), relevances, ranks)
    if n > stages.AGAIN and ("gamma" not in chosen or (before.relevances_of(len(relevances)) == relevances).all()):
        kernel, lam, widths = before, competition.lam, [0]
    if n >= stages.COMPETE:
        share = min(2, len(own.kernels))  # the terms of a sum share the budget
        kernel, lam = competition.chosen(kernel, lam, chosen, widths, share)
    if "relevances" not in chosen or not stages.learns_relevances(n):
        return kernel, lam
    assert isinstance(kernel, RBF | Laplacian)
    searched = first_searched(rows)
    if isinstance(kernel, RBF):
        learned = competition.learned(kernel, lam, None if "kernel" in chosen else RBF, searched)
    else:
        learned = [competition.better_relevances(kernel, lam, searched)]
    if not learned:
        return kernel, lam
    if _may_add(own, chosen):  # their weights are learned from the rows that follow
        return Hedge((kernel, *learned), "sum", start=n), lam
    return min((kernel, *learned), key=lambda kernel: competition.loss_of(kernel, lam, 2)), lam


def better_learner(
    own: Learner, rows: Rows, chosen: Collection[str], n: int, after_change: bool
) -> tuple[Learner | None, int]:
    """Return a learner that has learned from the rows kept with another kernel or λ that is better on the latest of
    them, if there is one, and the number of rows that competitors have learned from.

    `n` is the number of rows since the start of the stream, or since its last change.
    """
    latest = rows[-stages.LATEST :]
    competition = Competition(own, latest, _n_classes(own), has_all_rows=n <= len(latest))
    earlier = rows[: -stages.LATEST // 2][-stages.KEPT // 2 :] if stages.learns_relevances(n) else rows[:0]
    kernel, lam = _better(own, competition, earlier, len(rows), chosen, after_change)
    challenger = _with(own, kernel, lam)
    if (challenger.kernel, challenger.recipe) == (own.kernel, own.recipe):
        return None, competition.learned_from
    challenger.started_for(rows.rows).begin_after(own.t - len(rows))
    challenger.learn_rows(rows.rows, rows.y, rows.weight)
    return challenger, competition.learned_from


def _better(
    own: Learner, competition: Competition, earlier: Rows, start: int, chosen: Collection[str], after_change: bool
) -> tuple[Kernel, float]:
    """The kernel, or the sum of several, and the λ: those in use, or better ones; relevances are learned from the
    earlier rows, if there are any."""
    lam, share = competition.lam, len(own.kernels)
    kernels = list(own.kernels)
    if "gamma" in chosen:
        kernels = [
            competition.better_width(kernel, lam, share, after_change)
            for kernel in kernels
            if isinstance(kernel, RBF | Laplacian)  # all of them are, in this case
        ]
    if "lam" in chosen:
        lam = competition.better_lam(kernels[0], lam, share)
    if len(earlier) and "relevances" in chosen:
        isotropic, *others = kernels
        learned: list[Metric] = [kernel for kernel in others if isinstance(kernel, RBF | Laplacian)]
        if learned:
            kernels[1:] = [competition.better_relevances(kernel, lam, earlier) for kernel in learned]
        elif not _may_add(own, chosen) and isinstance(isotropic, RBF | Laplacian):
            kernels = [competition.better_relevances(isotropic, lam, earlier)]
        elif isinstance(isotropic, RBF):
            kernels += competition.learned(isotropic, lam, None if "kernel" in chosen else RBF, earlier)
    if kernels == list(own.kernels):
        return own.kernel, lam
    if len(kernels) == 1:
        return kernels[0], lam
    return Hedge(tuple(kernels), "sum", start=start), lam


def _may_add(own: Learner, chosen: Collection[str]) -> bool:
    """Whether kernels with learned relevances may become terms of a sum, each of which needs a point."""
    n_terms = 3 if own.task == "regression" and "kernel" in chosen else 2
    return isinstance(own.recipe, SecondOrder) and (own.budget is None or own.budget >= n_terms)


def _with(own: Learner, kernel: Kernel, lam: float) -> Learner:
    """An unfitted learner with this kernel and λ."""
    recipe = own.recipe
    if isinstance(recipe, SecondOrder):
        recipe = replace(recipe, prior=GaussianPrior(lam))
    return own.blank(recipe=recipe, kernel=kernel, n_classes=_n_classes(own))


def _n_classes(own: Learner) -> int:
    return own.n_outputs if own.task == "multiclass" else 1
