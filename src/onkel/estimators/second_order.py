"""What the estimators of second-order learners have in addition (see ``docs/newton.md``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel.estimators.base import KernelEstimator
from onkel.estimators.targets import RegressorBase
from onkel.parts import GaussianPrior, Poisson, Quantile, SecondOrder


class SecondOrderEstimator(KernelEstimator):
    """The λ of the prior and the memory, which may have been chosen from the stream."""

    @property
    def lam_(self) -> float:
        """The λ in use."""
        recipe = self._fitted().recipe
        assert isinstance(recipe, SecondOrder)
        assert isinstance(recipe.prior, GaussianPrior)
        return recipe.prior.lam

    @property
    def memory_(self) -> float:
        """The memory with the largest weight, in rows; infinity means all rows."""
        return self._fitted().memory

    @property
    def memory_weights_(self) -> dict[float, float]:
        """The weight of each memory, by its length in rows; only one unless `forget` is "stream"."""
        return self._fitted().memory_weights

    @property
    def memory_weights_history_(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """At most 256 row counts, and the weights of the memories after each of them (one line each).

        A learner that has taken over from another (`changes_`) has its own, from its first row on.
        """
        return self._fitted().memory_weights_history

    @property
    def changes_(self) -> list[int]:
        """The rows after which another kernel or λ took over, from row 4,096 on; at most the last 256."""
        self._fitted()
        return [] if self._choice is None else list(self._choice.changes)


class Predictive(SecondOrderEstimator, RegressorBase):
    """Predictions with their standard deviations."""

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return the prediction for each row; with `return_std` also the standard deviation of its target.

        It is what the residuals of the stream were like where the row is, and how little is known there, so that about
        90 % of the targets lie within 1.645 deviations (docs/uncertainty.md). Of a count it is that of
        Poisson's law, times what the counts have over it; a quantile has none.
        """
        loss = self._loss_of_recipe
        if return_std and isinstance(loss, Quantile):
            raise ValueError(
                "return_std asks for the deviation of a target from its mean, and loss='quantile' learns a quantile: "
                "learn two of them for an interval"
            )
        mean = super().predict(X)
        if not return_std:
            return mean
        learner = self._fitted()
        return mean, self._deviations(self._validated(X, reset=False, dtype=learner.dtype))

    def _deviations(self, rows: Any) -> NDArray[np.float64] | None:
        learner, loss = self._learner, self._loss_of_recipe
        if isinstance(loss, Quantile):
            return None
        if not isinstance(loss, Poisson):
            return learner.deviation_rows(rows)
        mean = loss.prediction(learner.score_rows(rows)[:, 0])
        variance, noise = learner.variance_rows(rows)
        return np.sqrt(noise * mean * (1 + mean * variance))  # the noise: a count's variance over its mean
