"""The competition over kernels and λ on some rows: second-order learners, compared by their loss on the later half."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onkel.choice.judging import competing
from onkel.choice.rows import Rows, loss_of
from onkel.choice.steps import Steps, learned
from onkel.learner import Learner
from onkel.parts import RBF, GaussianPrior, Hedge, Kernel, Laplacian, Linear, LogLoss, SecondOrder

Floats = NDArray[np.float64]

FARTHEST = 2  # half decades on either side of the default λ
BUDGET = 2000  # of a competitor, at most
CLEAR = 0.1  # of the loss, by which a learner tells more about a kernel than the search that found it
WIDER = 4.0  # ratio of the γ of kernels that compete
SLACK = 0.01  # differences of less than this fraction of the loss decide nothing


class Competition:
    """The rows, all of a stream or its latest ones, and the learner whose λ is in question."""

    def __init__(self, own: Learner, rows: Rows, n_classes: int) -> None:
        self.own, self.rows, self.n_classes = own, rows, n_classes
        self._losses: dict[tuple[Kernel, float], float] = {}

    def best_lam(self, kernel: Kernel, lam: float) -> Steps[float]:
        """Return the λ that is best for the rows, looking from the one given upwards, or else downwards, as long as
        the loss falls. Among those whose loss is within 1 % of the smallest, the one nearest to that given wins."""
        start = step_of(lam)
        losses = {start: (yield from self.loss_of(kernel, lam))}
        for step in (1, -1):
            last = start
            while abs(last + step) <= max(FARTHEST, abs(last)):
                losses[last + step] = yield from self.loss_of(kernel, lam_at(last + step))
                if losses[last + step] >= losses[last]:
                    break
                last += step
            if last != start:
                break
        near = [each for each in losses if losses[each] <= (1 + SLACK) * min(losses.values())]
        nearest = min(near, key=lambda each: abs(each - start))
        return lam if nearest == start else lam_at(nearest)

    def best_kernel(self, found: Kernel, used: Kernel, lam: float) -> Steps[Kernel]:
        """Return the kernel that a search has found or, where a learner with it is clearly better, that in use, or one
        wider or narrower than that.

        A search takes all its rows for draws of one function. Where that moves, they contradict each other, and what it
        finds may be useless to a learner that forgets.
        """
        least = yield from self.loss_of(found, lam)
        if used == found or not (yield from self.loss_of(used, lam)) < (1 - CLEAR) * least:
            return found
        for factor in (WIDER, 1 / WIDER):
            best = used
            while (yield from self.loss_of(scaled(best, factor), lam)) < (1 - SLACK) * self._losses[best, lam]:
                best = scaled(best, factor)
            if best != used:
                return best
        return used

    def or_linear(self, kernel: Kernel, lam: float) -> Steps[tuple[Kernel, float]]:
        """Return the linear kernel and the λ that is best for it if they are clearly better than those given; else
        these. Among thousands of sparse features no two rows are near, and what a row is like is a sum over words."""
        linear = Linear()
        own = yield from self.best_lam(linear, GaussianPrior().lam)
        least = yield from self.loss_of(kernel, lam)
        is_better = (yield from self.loss_of(linear, own)) < (1 - SLACK) * least
        return (linear, own) if is_better else (kernel, lam)

    def loss_of(self, kernel: Kernel, lam: float) -> Steps[float]:
        """Return the sum of the losses on the later half of the rows, each predicted before it is learned from."""
        if (kernel, lam) not in self._losses:
            self._losses[kernel, lam] = yield from self._measured(kernel, lam)
        return self._losses[kernel, lam]

    def _measured(self, kernel: Kernel, lam: float) -> Steps[float]:
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
        scores = yield from learned(competitor, self.rows, scores=True)
        later = self.rows[half:]
        return float((later.weight * loss_of(own.task, own.recipe.loss)(scores[half:], later.y)).sum())


def lam_at(step: int) -> float:
    """Return the λ that is this many half decades from the default."""
    return GaussianPrior().lam * math.pow(10.0, step / 2)


def step_of(lam: float) -> int:
    """Return by how many half decades a chosen λ differs from the default."""
    return round(2 * math.log10(lam / GaussianPrior().lam))


def scaled(kernel: Kernel, factor: float) -> Kernel:
    """Return a kernel, or a sum of them, with γ times a factor."""
    if isinstance(kernel, Hedge):
        return replace(kernel, kernels=tuple(scaled(each, factor) for each in kernel.kernels))
    assert isinstance(kernel, RBF | Laplacian)
    return replace(kernel, gamma=kernel.gamma * factor)
