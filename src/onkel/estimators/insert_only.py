"""The learners as scikit-learn estimators: one short class each, no more than its own parameters and its docstring.

Here are those that keep every row they admit; those that make room at a full budget are in
:mod:`onkel.estimators.budgeted`.
"""

from __future__ import annotations

from dataclasses import field

from onkel import recipes
from onkel.estimators.base import estimator
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase
from onkel.parts import Recipe


@estimator
class KernelClassifier(KernelClassifierBase):
    """A classifier over any recipe.

    Parameters
    ----------
    recipe : Recipe
        What to learn with: a named one (`onkel.recipes`) or your own choice of `onkel.parts`.
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> onkel.KernelClassifier(onkel.recipes.OGD(eta=1), gamma=1.0, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    recipe: Recipe = field(kw_only=False)

    def _recipe(self, horizon: int | None) -> Recipe:
        return self.recipe


@estimator
class KernelRegressor(KernelRegressorBase):
    """A regressor over any recipe.

    Parameters
    ----------
    recipe : Recipe
        What to learn with: a named one (`onkel.recipes`) or your own choice of `onkel.parts`.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> recipe = onkel.recipes.OGD(eta=0.5, loss="squared_error")
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> model = onkel.KernelRegressor(recipe, gamma=2.0, n_epochs=50, random_state=0).fit(X, y)
    >>> model.predict([[1.0]]).round(2)
    array([1.])
    """

    recipe: Recipe = field(kw_only=False)

    def _recipe(self, horizon: int | None) -> Recipe:
        return self.recipe


@estimator
class PerceptronClassifier(KernelClassifierBase):
    """The kernel perceptron: every mistake becomes a support vector.

    The simplest learner, and a yardstick: no parameters, no margin, a support set that grows with its mistakes.

    Parameters
    ----------
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> onkel.PerceptronClassifier(gamma=1.0, random_state=0).fit(X, y).predict([[0.2]])
    array(['low'], dtype='<U4')
    """

    _make_recipe = staticmethod(recipes.Perceptron)


@estimator
class OGDClassifier(KernelClassifierBase):
    """Online gradient descent in the kernel's space.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.0
        Regularisation λ: every step first shrinks the function by 1 - ηλ.
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = onkel.OGDClassifier(eta=1.0, gamma=1.0, shuffle=False).fit(X, y)
    >>> model.support_
    array([0, 1, 2, 3])
    """

    eta: float = 0.5
    lam: float = 0.0
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.OGD)


@estimator
class OGDRegressor(KernelRegressorBase):
    """Online gradient descent in the kernel's space, for regression.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.0
        Regularisation λ: every step first shrinks the function by 1 - ηλ.
    loss : {"squared_error", "epsilon_insensitive", "huber"}, default="squared_error"
    epsilon : float, default=0.1
        Half the width of the tube of loss "epsilon_insensitive", or where "huber" becomes straight.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.OGDRegressor(gamma=2.0, n_epochs=50, random_state=0).fit(X, y).predict([[1.0]]).round(2)
    array([1.])
    """

    eta: float = 0.5
    lam: float = 0.0
    loss: str = "squared_error"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.OGD)


@estimator
class PAClassifier(KernelClassifierBase):
    """Passive-aggressive learning: the smallest change that repairs a row's loss.

    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006), "Online Passive-Aggressive Algorithms". The most accurate
    of the unbounded first-order learners on many streams, with a support set that grows with every margin error.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the longest step (PA-I), or its softness (PA-II).
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
    loss : {"hinge"}, default="hinge"
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> onkel.PAClassifier(gamma=1.0, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    C: float = 1.0
    variant: str = "PA-I"
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.PA)


@estimator
class PARegressor(KernelRegressorBase):
    """Passive-aggressive regression with the ε-insensitive loss.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the longest step (PA-I), or its softness (PA-II).
    variant : {"PA", "PA-I", "PA-II"}, default="PA-I"
    epsilon : float, default=0.1
        Half the width of the tube that costs nothing.
    loss : {"epsilon_insensitive"}, default="epsilon_insensitive"
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.PARegressor(gamma=2.0, epsilon=0.01, n_epochs=20, random_state=0).fit(X, y).predict([[1.0]]).round(1)
    array([1.])
    """

    C: float = 1.0
    variant: str = "PA-I"
    epsilon: float = 0.1
    loss: str = "epsilon_insensitive"

    _make_recipe = staticmethod(recipes.PA)


@estimator
class PegasosClassifier(KernelClassifierBase):
    """Pegasos: the support vector machine's objective by steps of 1/(λt).

    Shalev-Shwartz, Singer and Srebro (2007), "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM".

    Parameters
    ----------
    lam : float, default=0.01
        Regularisation λ.
    project : bool, default=False
        Keep the function in the ball of radius 1/√λ.
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> onkel.PegasosClassifier(gamma=1.0, n_epochs=5, random_state=0).fit(X, y).predict(X)
    array([0, 0, 1, 1])
    """

    lam: float = 0.01
    project: bool = False
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.Pegasos)


@estimator
class FSGDClassifier(KernelClassifierBase):
    """Functional stochastic gradient descent with a constant or a decaying step.

    Kivinen, Smola and Williamson (2004), "Online Learning with Kernels", without truncation.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.0001
        Regularisation λ.
    schedule : {"constant", "inverse"}, default="constant"
        η_t = η, or η/(1 + ηλt).
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> model = onkel.FSGDClassifier(loss="log_loss", gamma=1.0, n_epochs=20, random_state=0).fit(X, y)
    >>> model.predict_proba([[0.0]]).shape
    (1, 2)
    """

    eta: float = 0.5
    lam: float = 1e-4
    schedule: str = "constant"
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.FSGD)


@estimator
class FSGDRegressor(KernelRegressorBase):
    """Functional stochastic gradient descent for regression.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.0001
        Regularisation λ.
    schedule : {"constant", "inverse"}, default="constant"
        η_t = η, or η/(1 + ηλt).
    loss : {"squared_error", "epsilon_insensitive", "huber"}, default="squared_error"
    epsilon : float, default=0.1
        Half the width of the tube of loss "epsilon_insensitive", or where "huber" becomes straight.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0]
    >>> onkel.FSGDRegressor(gamma=2.0, n_epochs=50, random_state=0).fit(X, y).predict([[1.0]]).round(1)
    array([1.])
    """

    eta: float = 0.5
    lam: float = 1e-4
    schedule: str = "constant"
    loss: str = "squared_error"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.FSGD)


@estimator
class KLRClassifier(KernelClassifierBase):
    """Kernel logistic regression with few support vectors, and probabilities.

    Zhang, Jin, Chen, Bu and He, "Efficient Online Learning for Large-Scale Sparse Kernel Logistic Regression": rows
    that are already well explained are likely to be skipped.

    Parameters
    ----------
    sampling : {"auxiliary", "margin", "none"}, default="auxiliary"
        Algorithm 3 (auxiliary function), 2 (margin, needs η < 2) or 1 (NC: every row).
    auxiliary : {"shift", "scale", "cutoff"}, default="shift"
        ln(γ + e^-z), ln(1 + γ e^-z) or max(l(z), l(δ)).
    shape : float, default=2.0
        γ ≥ 1 of the first two: the larger, the fewer support vectors.
    cutoff : float, default=1.0
        δ of the third: rows with a larger margin are never admitted.
    eta : float, default=None
        Step size η; None is R/√T where `R` and the number of rows are known, else 1.
    R : float, default=None
        Radius of the ball that holds the function.
    horizon : int, default=None
        T: how many rows `partial_fit` will see in all, for ``eta=None``.
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.KLRClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.sparsity_ > 0.5
    (True, True)
    """

    sampling: str = "auxiliary"
    auxiliary: str = "shift"
    shape: float = 2.0
    cutoff: float = 1.0
    eta: float | None = None
    R: float | None = None
    horizon: int | None = None

    _make_recipe = staticmethod(recipes.KLR)
    _averages = True


@estimator
class OSKLClassifier(KernelClassifierBase):
    """Online sparse kernel learning: sampling by the gradient, with probabilities.

    Zhang, Yi, Jin, Lin and He (2013), "Online Kernel Learning with a Near Optimal Sparsity Bound".

    Parameters
    ----------
    G : float, default=1.0
        Bound on the loss's slope: the larger, the fewer support vectors.
    eta : float, default=None
        Step size η; None is 0.9/(LG) with L of the paper's Table 1.
    R : float, default=None
        Radius of the ball that holds the function.
    loss : {"log_loss", "exponential"}, default="log_loss"
        Others need `eta`.
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.OSKLClassifier(G=2.0, gamma=2.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.sparsity_ > 0.5
    (True, True)
    """

    G: float = 1.0
    eta: float | None = None
    R: float | None = None
    loss: str = "log_loss"

    _make_recipe = staticmethod(recipes.OSKL)
    _averages = True


@estimator
class OSKLRegressor(KernelRegressorBase):
    """Online sparse kernel learning for regression.

    Parameters
    ----------
    G : float, default=1.0
        Residuals above it are admitted for sure, smaller ones in proportion.
    eta : float, default=0.5
        Step size η; None is 0.9/(LG) with L = 2/δ.
    delta : float, default=None
        δ, for ``eta=None``: the residual below which the paper's bound does not count.
    R : float, default=None
        Radius of the ball that holds the function.
    loss : {"squared_error", "epsilon_insensitive", "huber"}, default="squared_error"
    epsilon : float, default=0.1
        Half the width of the tube of loss "epsilon_insensitive", or where "huber" becomes straight.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.OSKLRegressor(gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.score(X, np.sin(X[:, 0])) > 0.8
    True
    """

    G: float = 1.0
    eta: float | None = 0.5
    delta: float | None = None
    R: float | None = None
    loss: str = "squared_error"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.OSKL)
    _averages = True


@estimator
class SPAClassifier(KernelClassifierBase):
    """Sparse passive-aggressive learning: bounded in expectation, with an average that is bounded too.

    Lu, Sahoo, Zhao and Hoi (2018), "Sparse Passive-Aggressive Learning for Bounded Online Kernel Methods". A row with
    a large loss is likely to be admitted, and one that is joins with a larger step the less likely it was.

    Parameters
    ----------
    eta : float, default=None
        Aggressiveness η; None is α/β, which minimises the paper's mistake bound.
    alpha : float, default=1.0
        α: a loss above it makes a row no likelier.
    beta : float, default=None
        β ≥ α: a row is admitted with probability min(α, loss)/β. None is α max(1, T/B) with the `budget` B over T
        rows (of `fit`, or `horizon`), so that E[support vectors] ≤ B; without these it is α.
    horizon : int, default=None
        T: how many rows `partial_fit` will see in all, for ``beta=None``.
    loss : {"hinge"}, default="hinge"
    %(parameters)s

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    %(attributes)s

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.SPAClassifier(budget=100, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 100, model.score(X, y) > 0.95
    (True, True)
    """

    eta: float | None = None
    alpha: float = 1.0
    beta: float | None = None
    horizon: int | None = None
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.SPA)
    _averages = True


@estimator
class SPARegressor(KernelRegressorBase):
    """Sparse passive-aggressive learning for regression, with the ε-insensitive loss.

    Parameters
    ----------
    eta : float, default=None
        Aggressiveness η; None is α/β.
    alpha : float, default=1.0
        α: a loss above it makes a row no likelier.
    beta : float, default=None
        β ≥ α: a row is admitted with probability min(α, loss)/β. None is α max(1, T/B) with the `budget` B over T
        rows (of `fit`, or `horizon`), so that E[support vectors] ≤ B; without these it is α.
    horizon : int, default=None
        T: how many rows `partial_fit` will see in all, for ``beta=None``.
    loss : {"epsilon_insensitive"}, default="epsilon_insensitive"
    epsilon : float, default=0.1
        Half the width of the tube that costs nothing.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> model = onkel.SPARegressor(budget=100, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 100, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """

    eta: float | None = None
    alpha: float = 1.0
    beta: float | None = None
    horizon: int | None = None
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.SPA)
    _averages = True
