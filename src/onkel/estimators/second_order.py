"""The second-order learners, as scikit-learn estimators (see ``docs/newton.md``)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from onkel import recipes
from onkel.estimators.base import estimator
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parts import GaussianPrior, SecondOrder


def _lam(model: NewtonClassifier | NewtonRegressor) -> float:
    """The λ in use."""
    recipe = model._fitted().recipe
    assert isinstance(recipe, SecondOrder)
    assert isinstance(recipe.prior, GaussianPrior)
    return recipe.prior.lam


@estimator
class NewtonClassifier(KernelClassifierBase):
    """Second-order learning on a budget: the learner to try first.

    A Gaussian process on the span of the support vectors, learned in one pass: rows that are predicted well cost their
    score alone, every other row is one Newton step on all coefficients at once.

    Parameters
    ----------
    lam : float or "stream", default="stream"
        The prior's λ: functions of norm ``1 / sqrt(lam)`` are as likely as not. "stream" chooses it, as the width,
        on the first 4096 rows of the stream (:mod:`onkel.choice.first_rows`).
    loss : {"log_loss", "squared_hinge"}, default="log_loss"
    spread : float, default=8.0
        There are at most ``sqrt(t * budget / spread)`` support vectors after t rows: the budget is full after
        ``spread * budget``. Rare classes want more.
    forget : float, default=1.0
        Below 1 the weight of what was learned falls by this factor ρ with every row, for streams that drift.
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    lam_ : float
        The λ in use.
    %(attributes)s

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

    budget: int | None = 800
    gamma: Any = "stream"
    fit_intercept: bool = True
    lam: Any = "stream"
    loss: str = "log_loss"
    spread: float = 8.0
    forget: float = 1.0

    _make_recipe = staticmethod(recipes.Newton)
    lam_ = property(_lam)


@estimator
class NewtonRegressor(KernelRegressorBase):
    """Recursive least squares on a budget: exact on the span of the support vectors.

    Parameters
    ----------
    lam : float or "stream", default="stream"
        The prior's λ: the variance of the noise over that of the function. "stream" chooses it, as the width, on the
        first 4096 rows of the stream (:mod:`onkel.choice.first_rows`).
    loss : {"squared_error"}, default="squared_error"
    spread : float, default=8.0
        There are at most ``sqrt(t * budget / spread)`` support vectors after t rows: the budget is full after
        ``spread * budget``. Rare classes want more.
    forget : float, default=1.0
        Below 1 the weight of what was learned falls by this factor ρ with every row, for streams that drift.
    %(parameters)s

    Attributes
    ----------
    lam_ : float
        The λ in use.
    %(attributes)s

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
    array([0.1, 1. ])
    """

    budget: int | None = 800
    gamma: Any = "stream"
    lam: Any = "stream"
    loss: str = "squared_error"
    spread: float = 8.0
    forget: float = 1.0

    _make_recipe = staticmethod(recipes.Newton)
    lam_ = property(_lam)

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
