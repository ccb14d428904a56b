"""The competition over λ on some rows: second-order learners, compared by their loss on the later half."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onkel.choice.judging import competing
from onkel.choice.rows import Rows, loss_of
from onkel.learner import Learner
from onkel.parts import GaussianPrior, Kernel, LogLoss, SecondOrder

Floats = NDArray[np.float64]

FARTHEST = 2  # half decades on either side of the default λ
BUDGET = 2000  # of a competitor, at most
SLACK = 0.01  # differences of less than this fraction of the loss decide nothing


class Competition:
    """The rows, all of a stream or its latest ones, and the learner whose λ is in question."""

    def __init__(self, own: Learner, rows: Rows, n_classes: int) -> None:
        self.own, self.rows, self.n_classes = own, rows, n_classes

    def best_lam(self, kernel: Kernel, lam: float) -> float:
        """Return the λ that is best for the rows, looking from the one given upwards, or else downwards, as long as
        the loss falls. Among those whose loss is within 1 % of the smallest, the one nearest to that given wins."""
        start = step_of(lam)
        losses = {start: self.loss_of(kernel, lam)}
        for step in (1, -1):
            last = start
            while abs(last + step) <= max(FARTHEST, abs(last)):
                losses[last + step] = self.loss_of(kernel, lam_at(last + step))
                if losses[last + step] >= losses[last]:
                    break
                last += step
            if last != start:
                break
        near = [each for each in losses if losses[each] <= (1 + SLACK) * min(losses.values())]
        nearest = min(near, key=lambda each: abs(each - start))
        return lam if nearest == start else lam_at(nearest)

    def loss_of(self, kernel: Kernel, lam: float) -> float:
        """Return the sum of the losses on the later half of the rows, each predicted before it is learned from."""
        own, half = self.own, len(self.rows) // 2
        assert isinstance(own.recipe, SecondOrder)  # others have no λ
        recipe = replace(own.recipe, loss=competing(own.recipe.loss) if own.task == "regression" else LogLoss())
        competitor = own.blank(
            recipe=replace(recipe, prior=GaussianPrior(lam)),
            kernel=kernel,
            budget=BUDGET if own.budget is None else min(BUDGET, own.budget),
            average=recipe.average,
            fit_intercept=True,
            n_classes=self.n_classes,
        )
        scores = competitor.learn_rows(self.rows.rows, self.rows.y, self.rows.weight, scores=True)
        assert scores is not None
        later = self.rows[half:]
        return float((later.weight * loss_of(own.task, own.recipe.loss)(scores[half:], later.y)).sum())


def lam_at(step: int) -> float:
    """Return the λ that is this many half decades from the default."""
    return GaussianPrior().lam * math.pow(10.0, step / 2)


def step_of(lam: float) -> int:
    """Return by how many half decades a chosen λ differs from the default."""
    return round(2 * math.log10(lam / GaussianPrior().lam))
