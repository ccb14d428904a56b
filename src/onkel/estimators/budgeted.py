"""Estimators of learners whose points leave, are merged or move elsewhere when the budget is full."""

from __future__ import annotations

from onkel import recipes
from onkel.estimators.making import estimator
from onkel.estimators.parameters import LearnerParameters, LossParameters, RegressionLossParameters, TubeParameters
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parameters import parameter_class
from onkel.parts import Recipe
from onkel.recipes import parameters

__all__ = [
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BSGDClassifier",
    "BSGDRegressor",
    "DualSGDClassifier",
    "DualSGDRegressor",
    "ForgetronClassifier",
    "NORMAClassifier",
    "NORMARegressor",
    "NPBSGDClassifier",
    "NPBSGDRegressor",
    "RBPClassifier",
]


@parameter_class
class RBPParameters(LearnerParameters):
    """The randomized budget perceptron has none of its own."""

    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.RBP()


@estimator
class RBPClassifier(RBPParameters, KernelClassifierBase):
    """Randomized budget perceptron: at a full budget a random old point makes room.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.RBPClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """


@parameter_class
class ForgetronParameters(LearnerParameters):
    """The Forgetron has none of its own."""

    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.Forgetron()


@estimator
class ForgetronClassifier(ForgetronParameters, KernelClassifierBase):
    """The self-tuned Forgetron: at a full budget all points fade, then the oldest leaves.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.ForgetronClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """


@parameter_class
class NORMAParameters(LearnerParameters):
    """The parameters of gradient descent on a window of the stream."""

    eta: parameters.StepSize = 0.5
    lam: parameters.Shrinking = 1e-3
    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.NORMA(eta=self.eta, lam=self.lam, loss=self._loss())


@estimator
class NORMAClassifier(NORMAParameters, LossParameters, KernelClassifierBase):
    """Gradient descent on a window of the stream: coefficients fade and the oldest point leaves.

    FSGD with a truncation.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.NORMAClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """


@estimator
class NORMARegressor(NORMAParameters, RegressionLossParameters, KernelRegressorBase):
    """Gradient descent on a window of the stream, for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.NORMARegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@parameter_class
class BPAParameters(LearnerParameters):
    """The parameters of budgeted passive-aggressive learning."""

    C: parameters.BPAAggressiveness = 1.0
    variant: parameters.BPAVariant = "simple"
    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.BPA(C=self.C, variant=self.variant, loss=self._loss())


@estimator
class BPAClassifier(BPAParameters, LossParameters, KernelClassifierBase):
    """Budgeted passive-aggressive learning: the old point whose replacement loses least is projected on the newcomer.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.BPAClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """


@parameter_class
class BOGDParameters(LearnerParameters):
    """The parameters of bounded online gradient descent."""

    eta: parameters.StepSize = 0.125
    lam: parameters.Shrinking = 1e-4
    cap: parameters.BOGDCap = 16.0
    sampling: parameters.BOGDSampling = "weighted"
    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.BOGD(eta=self.eta, lam=self.lam, cap=self.cap, sampling=self.sampling, loss=self._loss())


@estimator
class BOGDClassifier(BOGDParameters, LossParameters, KernelClassifierBase):
    """Bounded online gradient descent: a point is drawn and leaves, and the others make up for it in expectation.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.BOGDClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """


@estimator
class BOGDRegressor(BOGDParameters, RegressionLossParameters, KernelRegressorBase):
    """Bounded online gradient descent, for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.BOGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@parameter_class
class BSGDParameters(LearnerParameters):
    """The parameters of budgeted stochastic gradient descent."""

    lam: parameters.BSGDRegularisation = 0.01
    eta: parameters.BSGDStepSize = None
    maintenance: parameters.BSGDMaintenance = "remove"
    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.BSGD(lam=self.lam, eta=self.eta, maintenance=self.maintenance, loss=self._loss())


@estimator
class BSGDClassifier(BSGDParameters, LossParameters, KernelClassifierBase):
    """Budgeted stochastic gradient descent: the smallest point is removed, or merged with another.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.BSGDClassifier(maintenance="merge", budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """


@estimator
class BSGDRegressor(BSGDParameters, TubeParameters, KernelRegressorBase):
    """Budgeted stochastic gradient descent, for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.BSGDRegressor(maintenance="merge", budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@parameter_class
class NPBSGDParameters(LearnerParameters):
    """The parameters of BSGD with a budget that grows late in the stream."""

    lam: parameters.Regularisation = 0.01
    beta: parameters.NPBSGDBeta = 0.5
    maintenance: parameters.NPBSGDMaintenance = "remove"
    horizon: parameters.NPBSGDHorizon = None
    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.NPBSGD(
            lam=self.lam, beta=self.beta, maintenance=self.maintenance, loss=self._loss(), horizon=horizon
        )


@estimator
class NPBSGDClassifier(NPBSGDParameters, LossParameters, KernelClassifierBase):
    """BSGD whose budget grows late in the stream: `n_support_` may exceed `budget`.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.NPBSGDClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 1000, model.score(X, y) > 0.9
    (True, True)
    """


@estimator
class NPBSGDRegressor(NPBSGDParameters, TubeParameters, KernelRegressorBase):
    """BSGD for regression whose budget grows late in the stream: `n_support_` may exceed `budget`.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.NPBSGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 1000, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@parameter_class
class DualSGDParameters(LearnerParameters):
    """The parameters of dual space gradient descent."""

    lam: parameters.Regularisation = 0.01
    n_components: parameters.DualSGDComponents = 200
    k: parameters.DualSGDMoved = 20
    budget: int | None = 500

    def _recipe(self, horizon: int | None) -> Recipe:
        return recipes.DualSGD(lam=self.lam, n_components=self.n_components, k=self.k, loss=self._loss())


@estimator
class DualSGDClassifier(DualSGDParameters, LossParameters, KernelClassifierBase):
    """Dual space gradient descent: points too small to keep become random Fourier features.

    Gaussian kernel only.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.DualSGDClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """


@estimator
class DualSGDRegressor(DualSGDParameters, TubeParameters, KernelRegressorBase):
    """Dual space gradient descent, for regression. Gaussian kernel only.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.DualSGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """
