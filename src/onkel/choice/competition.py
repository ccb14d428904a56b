"""How kernels and λ compete on the first rows: as second-order learners over them, by the loss on the later half."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from onkel.choice.first_rows import BUDGETS, SLACK, FirstRows, loss_of, median_distance
from onkel.choice.relevances import WILD, learned_kernel, spreads
from onkel.learner import Learner
from onkel.parts import RBF, GaussianPrior, GrowingDictionary, Kernel, LogLoss, SecondOrder, SquaredError

Floats = NDArray[np.float64]


class Competition:
    """The rows, and the learner whose kernel and λ are in question."""

    def __init__(self, own: Learner, first: FirstRows, n_classes: int) -> None:
        self.own, self.first, self.n_classes = own, first, n_classes
        self.recipe = _competitor(own)
        self.most = BUDGETS[isinstance(own.recipe, SecondOrder)]

    @property
    def lam(self) -> float:
        """The λ of those that compete, where it is not in question."""
        assert isinstance(self.recipe.prior, GaussianPrior)
        return self.recipe.prior.lam

    def losses_of(self, kernel: Kernel, lam: float, share: int = 1) -> Floats:
        """Return the losses, row by row, of a learner with this kernel and λ, each predicted before it is learned
        from; its budget is the learner's own over ``share``."""
        own, first = self.own, self.first
        competitor = Learner(
            replace(self.recipe, prior=GaussianPrior(lam)),
            task=own.task,
            kernel=kernel,
            budget=self.most if own.budget is None else max(1, min(self.most, own.budget) // share),
            fit_intercept=True,
            n_classes=self.n_classes,
            dtype=own.dtype,
            seed=own.seed,
        )
        competitor.in_order = own.in_order
        scores = competitor.learn_rows(first.rows, first.y, first.weight, scores=True)
        assert scores is not None
        return loss_of(own.task)(scores, first.y)

    def loss_of(self, kernel: Kernel, lam: float) -> float:
        """Return the loss on the later rows, with half the budget."""
        return self.first.total(self.losses_of(kernel, lam, share=2))

    def middle(self, relevances: Floats) -> float:
        """Return the width that widths compete around: one over the median squared distance."""
        rows, scales = self.first.rows, np.sqrt(relevances)
        if (scales != 1).any():
            rows = csr_array(rows.multiply(scales)) if issparse(rows) else rows * scales
        return 1.0 / median_distance(rows)

    @cached_property
    def over_spread(self) -> Floats:
        """One over each feature's squared spread; their mean is 1."""
        made = spreads(self.first.rows) ** -2.0
        return np.asarray(made / made.mean())

    def start(self, relevances: Floats) -> Floats:
        """Return relevances to start from: those given, or one over each feature's squared spread if that is better.

        Features in units of their own want the latter, columns that are rarely anything but 0 the former.
        """
        spread = self.over_spread
        as_they_came, over_spread = (
            self.loss_of(RBF(self.middle(each), tuple(each.tolist())), GaussianPrior().lam)
            for each in (relevances, spread)
        )
        return spread if over_spread < (1 - SLACK) * as_they_came else relevances

    def learned(self, isotropic: RBF, lam: float, kernel: type[Kernel] | None) -> Kernel | None:
        """Return the kernel with the relevances that the rows ask for, if they have not too many features."""
        relevances = isotropic.relevances_of(self.first.rows.shape[1])
        narrow = max(isotropic.gamma, 0.5 * self.middle(relevances))  # the search widens it more easily
        starts = [np.sqrt(narrow * relevances)]
        wild = spreads(self.first.rows).max() > WILD * spreads(self.first.rows).min()
        if wild and (relevances == 1).all():
            starts.append(np.sqrt(self.middle(self.over_spread) * self.over_spread))
        return learned_kernel(
            self.first, self.own.task, self.n_classes, kernel, starts, lambda kernel: self.loss_of(kernel, lam)
        )


def _competitor(own: Learner) -> SecondOrder:
    """The learner that competes for a width or a λ: of second order, and like the learner's own where that is."""
    regression = own.task == "regression"
    loss = SquaredError() if regression else LogLoss()
    if isinstance(own.recipe, SecondOrder):
        return replace(own.recipe, loss=loss)
    return SecondOrder(loss, dictionary=GrowingDictionary(min_slope=0.0 if regression else 0.1))
