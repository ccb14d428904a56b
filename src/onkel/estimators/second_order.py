"""What the second-order learners' estimators have beside the others' (see ``docs/newton.md``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel.estimators.base import KernelEstimator
from onkel.estimators.targets import RegressorBase
from onkel.parts import GaussianPrior, SecondOrder


class ChosenPrior(KernelEstimator):
    """The λ of the prior, which may have been chosen on the stream."""

    @property
    def lam_(self) -> float:
        """The λ in use."""
        recipe = self._fitted().recipe
        assert isinstance(recipe, SecondOrder)
        assert isinstance(recipe.prior, GaussianPrior)
        return recipe.prior.lam


class Predictive(ChosenPrior, RegressorBase):
    """Predictions with their standard deviations."""

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Return the prediction for each row; with `return_std` also the standard deviation of its target.

        The latter is that of the last function and of the noise, whose variance is measured on the stream.
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        learner = self._fitted()
        variance, noise = learner.variance_rows(self._validated(X, reset=False, dtype=learner.dtype))
        return mean, np.sqrt(noise * (1 + variance))
