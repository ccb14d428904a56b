"""Estimators of learners that project onto the span of their points: the Projectron and POLK."""

from __future__ import annotations

from onkel import recipes
from onkel.estimators.making import estimator
from onkel.estimators.parameters import LearnerParameters, LossParameters, RegressionLossParameters
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parameters import parameter_class
from onkel.parts import Recipe
from onkel.recipes import parameters

__all__ = ["POLKClassifier", "POLKRegressor", "ProjectronClassifier"]


@parameter_class
class ProjectronParameters(LearnerParameters):
    """The parameters of the Projectron."""

    eta: parameters.ProjectronEta = 0.1
    aggressive: parameters.ProjectronAggressive = False
    rule: parameters.ProjectronRule = "2009"
    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.Projectron(eta=self.eta, aggressive=self.aggressive, rule=self.rule)


@estimator
class ProjectronClassifier(ProjectronParameters, KernelClassifierBase):
    """Projectron: mistakes are projected on the existing support vectors where that loses little.

    Each change costs the square of the number of support vectors.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.ProjectronClassifier(budget=50, aggressive=True, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.95
    (True, True)
    """


@parameter_class
class POLKParameters(LearnerParameters):
    """The parameters of parsimonious online learning with kernels."""

    eta: parameters.POLKStepSize = 0.5
    lam: parameters.Shrinking = 1e-3
    parsimony: parameters.POLKParsimony = 0.1
    eps: parameters.POLKEps = None
    prune: parameters.POLKPrune = "komp"
    schedule: parameters.POLKSchedule = "constant"
    batch_size: parameters.POLKBatchSize = 1

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.POLK(
            eta=self.eta,
            lam=self.lam,
            parsimony=self.parsimony,
            eps=self.eps,
            prune=self.prune,
            schedule=self.schedule,
            batch_size=self.batch_size,
            loss=self._loss(),
        )


@estimator
class POLKClassifier(POLKParameters, LossParameters, KernelClassifierBase):
    """POLK: gradient steps, each followed by a projection that keeps few support vectors.

    How many support vectors there are follows from how much error each step may add.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.POLKClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ < 50, model.score(X, y) > 0.95
    (True, True)
    """


@estimator
class POLKRegressor(POLKParameters, RegressionLossParameters, KernelRegressorBase):
    """POLK for regression: gradient steps, each followed by a projection that keeps few support vectors.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.POLKRegressor(gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ < 50, model.score(X, np.sin(X[:, 0])) > 0.9
    (True, True)
    """
