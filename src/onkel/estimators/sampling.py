"""Estimators of learners that admit rows at random: KLR, OSKL and SPA."""

from __future__ import annotations

from onkel import recipes
from onkel.estimators.making import estimator
from onkel.estimators.parameters import (
    LearnerParameters,
    LogLossParameters,
    LossParameters,
    RegressionLossParameters,
    TubeParameters,
)
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parameters import parameter_class
from onkel.parts import Recipe
from onkel.recipes import parameters

__all__ = ["KLRClassifier", "OSKLClassifier", "OSKLRegressor", "SPAClassifier", "SPARegressor"]


@parameter_class
class KLRParameters(LearnerParameters):
    """The parameters of sparse kernel logistic regression."""

    sampling: parameters.KLRSampling = "auxiliary"
    auxiliary: parameters.KLRAuxiliary = "shift"
    shape: parameters.KLRShape = 2.0
    cutoff: parameters.KLRCutoff = 1.0
    eta: parameters.KLRStepSize = None
    R: parameters.Radius = None
    horizon: parameters.KLRHorizon = None

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.KLR(
            sampling=self.sampling,
            auxiliary=self.auxiliary,
            shape=self.shape,
            cutoff=self.cutoff,
            eta=self.eta,
            R=self.R,
            horizon=horizon,
        )


@estimator
class KLRClassifier(KLRParameters, KernelClassifierBase):
    """Kernel logistic regression with few support vectors, and probabilities.

    Rows that are already well explained are likely to be skipped.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.KLRClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.sparsity_ > 0.5
    (True, True)
    """


@parameter_class
class OSKLParameters(LearnerParameters):
    """The parameters of online sparse kernel learning."""

    G: parameters.OSKLSlope = 1.0
    eta: parameters.OSKLStepSize = None
    R: parameters.Radius = None

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.OSKL(G=self.G, eta=self.eta, R=self.R, loss=self._loss())


@parameter_class
class OSKLRegressorParameters(OSKLParameters, RegressionLossParameters):
    """Online sparse kernel learning for regression."""

    eta: parameters.OSKLStepSize = 0.5
    delta: parameters.OSKLDelta = None

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.OSKL(G=self.G, eta=self.eta, R=self.R, loss=self._loss(), delta=self.delta)


@estimator
class OSKLClassifier(OSKLParameters, LogLossParameters, KernelClassifierBase):
    """Online sparse kernel learning: sampling by the gradient, with probabilities.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.OSKLClassifier(G=2.0, gamma=2.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.sparsity_ > 0.5
    (True, True)
    """


@estimator
class OSKLRegressor(OSKLRegressorParameters, KernelRegressorBase):
    """Online sparse kernel learning for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.OSKLRegressor(gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.8
    True
    """


@parameter_class
class SPAParameters(LearnerParameters):
    """The parameters of sparse passive-aggressive learning."""

    eta: parameters.SPAAggressiveness = None
    alpha: parameters.SPAAlpha = 1.0
    beta: parameters.SPABeta = None
    horizon: parameters.SPAHorizon = None

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.SPA(
            eta=self.eta,
            alpha=self.alpha,
            beta=self.beta,
            loss=self._loss(),
            horizon=horizon,
            budget=self.budget,
        )


@estimator
class SPAClassifier(SPAParameters, LossParameters, KernelClassifierBase):
    """Sparse passive-aggressive learning: bounded in expectation, with an average that is bounded too.

    Rows with a large loss are likely to be admitted; the less likely an admitted row was, the larger is its step.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.SPAClassifier(budget=100, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 100, model.score(X, y) > 0.95
    (True, True)
    """


@estimator
class SPARegressor(SPAParameters, TubeParameters, KernelRegressorBase):
    """Sparse passive-aggressive learning for regression, with the ε-insensitive loss.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.SPARegressor(budget=100, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 100, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """
