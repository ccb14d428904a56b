"""The named learners as scikit-learn estimators: a class for each, with its summary and its example.

All else comes from the learner's row in :data:`onkel.catalogue.LEARNERS` and its recipe's signature. Type checkers read
the fields in ``named.pyi``, which ``scripts/facts`` writes.
"""

from __future__ import annotations

from onkel import recipes  # noqa: F401 (this fills the table of learners)
from onkel.catalogue import LEARNERS
from onkel.estimators.making import named_estimator
from onkel.estimators.second_order import Predictive, SecondOrderEstimator
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase

__all__ = [name for row in LEARNERS.values() for name in row.estimators.values()]


@named_estimator
class NewtonClassifier(SecondOrderEstimator, KernelClassifierBase):
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


@named_estimator
class NewtonRegressor(Predictive, KernelRegressorBase):
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
    array([0.1, 1. ])
    """


@named_estimator
class PerceptronClassifier(KernelClassifierBase):
    """The kernel perceptron: every mistake becomes a support vector.

    The simplest learner, and a yardstick: no parameters, no margin, a support set that grows with its mistakes.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> onkel.PerceptronClassifier(gamma=1.0, random_state=0).fit(X, y).predict([[0.2]])
    array(['low'], dtype='<U4')
    """


@named_estimator
class OGDClassifier(KernelClassifierBase):
    """Online gradient descent in the kernel's space.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = onkel.OGDClassifier(eta=1.0, gamma=1.0, shuffle=False).fit(X, y)
    >>> model.support_
    array([0, 1, 2, 3])
    """


@named_estimator
class OGDRegressor(KernelRegressorBase):
    """Online gradient descent in the kernel's space, for regression.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.OGDRegressor(gamma=2.0, n_epochs=50, random_state=0).fit(X, y).predict([[1.0]]).round(2)
    array([1.])
    """


@named_estimator
class PAClassifier(KernelClassifierBase):
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


@named_estimator
class PARegressor(KernelRegressorBase):
    """Passive-aggressive regression with the ε-insensitive loss.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.PARegressor(gamma=2.0, epsilon=0.01, n_epochs=20, random_state=0).fit(X, y).predict([[1.0]]).round(1)
    array([1.])
    """


@named_estimator
class PegasosClassifier(KernelClassifierBase):
    """Pegasos: the support vector machine's objective by steps of 1/(λt).

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> onkel.PegasosClassifier(gamma=1.0, n_epochs=5, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """


@named_estimator
class FSGDClassifier(KernelClassifierBase):
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


@named_estimator
class FSGDRegressor(KernelRegressorBase):
    """Functional stochastic gradient descent for regression.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.FSGDRegressor(gamma=2.0, n_epochs=50, random_state=0).fit(X, y).predict([[1.0]]).round(1)
    array([1.])
    """


@named_estimator
class KLRClassifier(KernelClassifierBase):
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


@named_estimator
class OSKLClassifier(KernelClassifierBase):
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


@named_estimator
class OSKLRegressor(KernelRegressorBase):
    """Online sparse kernel learning for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.OSKLRegressor(gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.8
    True
    """


@named_estimator
class SPAClassifier(KernelClassifierBase):
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


@named_estimator
class SPARegressor(KernelRegressorBase):
    """Sparse passive-aggressive learning for regression, with the ε-insensitive loss.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.SPARegressor(budget=100, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 100, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@named_estimator
class RBPClassifier(KernelClassifierBase):
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


@named_estimator
class ForgetronClassifier(KernelClassifierBase):
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


@named_estimator
class NORMAClassifier(KernelClassifierBase):
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


@named_estimator
class NORMARegressor(KernelRegressorBase):
    """Gradient descent on a window of the stream, for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.NORMARegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@named_estimator
class BPAClassifier(KernelClassifierBase):
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


@named_estimator
class BOGDClassifier(KernelClassifierBase):
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


@named_estimator
class BOGDRegressor(KernelRegressorBase):
    """Bounded online gradient descent, for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.BOGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@named_estimator
class BSGDClassifier(KernelClassifierBase):
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


@named_estimator
class BSGDRegressor(KernelRegressorBase):
    """Budgeted stochastic gradient descent, for regression.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.BSGDRegressor(maintenance="merge", budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@named_estimator
class NPBSGDClassifier(KernelClassifierBase):
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


@named_estimator
class NPBSGDRegressor(KernelRegressorBase):
    """BSGD for regression whose budget grows late in the stream: `n_support_` may exceed `budget`.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.NPBSGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 1000, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@named_estimator
class DualSGDClassifier(KernelClassifierBase):
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


@named_estimator
class DualSGDRegressor(KernelRegressorBase):
    """Dual space gradient descent, for regression. Gaussian kernel only.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.DualSGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """


@named_estimator
class ProjectronClassifier(KernelClassifierBase):
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


@named_estimator
class POLKClassifier(KernelClassifierBase):
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


@named_estimator
class POLKRegressor(KernelRegressorBase):
    """POLK for regression: gradient steps, each followed by a projection that keeps few support vectors.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.POLKRegressor(gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ < 50, model.score(X, np.sin(X[:, 0])) > 0.9
    (True, True)
    """
