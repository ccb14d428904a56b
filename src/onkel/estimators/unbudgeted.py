"""Estimators of learners that keep every row they admit."""

from __future__ import annotations

from onkel import recipes
from onkel.estimators.making import estimator
from onkel.estimators.parameters import LearnerParameters, LossParameters, RegressionLossParameters, TubeParameters
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parameters import parameter_class
from onkel.parts import Recipe
from onkel.recipes import parameters

__all__ = [
    "FSGDClassifier",
    "FSGDRegressor",
    "OGDClassifier",
    "OGDRegressor",
    "PAClassifier",
    "PARegressor",
    "PegasosClassifier",
    "PerceptronClassifier",
]


@parameter_class
class PerceptronParameters(LearnerParameters):
    """The kernel perceptron has none of its own."""

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.Perceptron()


@estimator
class PerceptronClassifier(PerceptronParameters, KernelClassifierBase):
    """The kernel perceptron: every mistake becomes a support vector.

    The simplest learner, and a yardstick: no parameters, no margin, a support set that grows with its mistakes.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> onkel.PerceptronClassifier(gamma=1.0, random_state=0).fit(X, y).predict([[0.2]])
    array(['low'], dtype='<U4')
    """


@parameter_class
class OGDParameters(LearnerParameters):
    """The parameters of online gradient descent."""

    eta: parameters.StepSize = 0.5
    lam: parameters.Shrinking = 0.0

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.OGD(eta=self.eta, lam=self.lam, loss=self._loss())


@estimator
class OGDClassifier(OGDParameters, LossParameters, KernelClassifierBase):
    """Online gradient descent in the kernel's space.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = onkel.OGDClassifier(eta=1.0, gamma=1.0, shuffle=False).fit(X, y)
    >>> model.support_
    array([0, 1, 2, 3])
    """


@estimator
class OGDRegressor(OGDParameters, RegressionLossParameters, KernelRegressorBase):
    """Online gradient descent in the kernel's space, for regression.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.OGDRegressor(gamma=2.0, n_epochs=50, random_state=0).fit(X, y).predict([[1.0]]).round(2)
    array([1.])
    """


@parameter_class
class PAParameters(LearnerParameters):
    """The parameters of passive-aggressive learning."""

    C: parameters.PAAggressiveness = 1.0
    variant: parameters.PAVariant = "PA-I"

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.PA(C=self.C, variant=self.variant, loss=self._loss())


@estimator
class PAClassifier(PAParameters, LossParameters, KernelClassifierBase):
    """Passive-aggressive learning: the smallest change that repairs a row's loss.

    The most accurate of the unbounded first-order learners on many streams, with a support set that grows with every
    margin error.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> onkel.PAClassifier(gamma=1.0, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """


@estimator
class PARegressor(PAParameters, TubeParameters, KernelRegressorBase):
    """Passive-aggressive regression with the ε-insensitive loss.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.PARegressor(gamma=2.0, epsilon=0.01, n_epochs=20, random_state=0).fit(X, y).predict([[1.0]]).round(1)
    array([1.])
    """


@parameter_class
class PegasosParameters(LearnerParameters):
    """The parameters of Pegasos."""

    lam: parameters.Regularisation = 0.01
    project: parameters.PegasosProject = False

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.Pegasos(lam=self.lam, project=self.project, loss=self._loss())


@estimator
class PegasosClassifier(PegasosParameters, LossParameters, KernelClassifierBase):
    """Pegasos: the support vector machine's objective by steps of 1/(λt).

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> onkel.PegasosClassifier(gamma=1.0, n_epochs=5, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """


@parameter_class
class FSGDParameters(LearnerParameters):
    """The parameters of functional stochastic gradient descent."""

    eta: parameters.StepSize = 0.5
    lam: parameters.Shrinking = 1e-4
    schedule: parameters.FSGDSchedule = "constant"

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.FSGD(eta=self.eta, lam=self.lam, schedule=self.schedule, loss=self._loss())


@estimator
class FSGDClassifier(FSGDParameters, LossParameters, KernelClassifierBase):
    """Functional stochastic gradient descent with a constant or a decaying step.

    NORMA without its truncation.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = onkel.FSGDClassifier(loss="log_loss", gamma=1.0, n_epochs=20, random_state=0).fit(X, y)
    >>> model.predict_proba([[0.0]]).shape
    (1, 2)
    """


@estimator
class FSGDRegressor(FSGDParameters, RegressionLossParameters, KernelRegressorBase):
    """Functional stochastic gradient descent for regression.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.FSGDRegressor(gamma=2.0, n_epochs=50, random_state=0).fit(X, y).predict([[1.0]]).round(1)
    array([1.])
    """
