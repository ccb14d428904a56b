"""Estimators of the second-order learner."""

from __future__ import annotations

from typing import Any, cast

from onkel import recipes
from onkel.estimators.making import estimator
from onkel.estimators.parameters import LearnerParameters, LogLossParameters, SquaredErrorParameters
from onkel.estimators.second_order import Predictive, SecondOrderEstimator
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parameters import is_stream, parameter_class
from onkel.parts import GaussianPrior, Recipe
from onkel.recipes import parameters
from onkel.utils.validation import check_choice

__all__ = ["NewtonClassifier", "NewtonRegressor"]


@parameter_class
class NewtonParameters(LearnerParameters):
    """The parameters of second-order learning on a budget."""

    lam: parameters.ChosenPriorStrength = "stream"
    spread: parameters.Spread = 8.0
    forget: parameters.Forget = "stream"
    kernel: Any = "stream"
    relevances: Any = "stream"
    ranks: Any = "stream"
    gamma: float | str = "stream"
    regions: parameters.Regions = "stream"
    budget: int | None = 16_000
    fit_intercept: bool = True

    def _recipe(self, horizon: int | None) -> Recipe:
        if self.regions is not None:
            check_choice("regions", self.regions, ("stream",))
        lam = GaussianPrior().lam if is_stream(self.lam) else cast(float, self.lam)  # other words are refused
        return recipes.Newton(lam=lam, loss=self._loss(), spread=self.spread, forget=self.forget)


@estimator
class NewtonClassifier(NewtonParameters, LogLossParameters, SecondOrderEstimator, KernelClassifierBase):
    """Second-order learning on a budget: the learner to try first.

    A Gaussian process on the span of the support vectors, learned in one pass: a row that is predicted well costs no
    more than its score, every other row takes one Newton step on all coefficients.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.NewtonClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.99
    (True, True)
    >>> model.predict_proba(X[:1]).round(1)
    array([[1., 0.]])
    """


@estimator
class NewtonRegressor(NewtonParameters, SquaredErrorParameters, Predictive, KernelRegressorBase):
    """Recursive least squares on a budget: exact on the span of the support vectors.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=1000)
    >>> model = onkel.NewtonRegressor(budget=50, gamma=1.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.99
    (True, True)
    >>> mean, std = model.predict([[3.0], [20.0]], return_std=True)
    >>> std.round(1)
    array([0.1, 0.7])
    """
