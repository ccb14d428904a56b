"""The learners that make room at a full budget, as scikit-learn estimators."""

from __future__ import annotations

from onkel import recipes
from onkel.estimators.base import estimator
from onkel.estimators.targets import KernelClassifierBase, KernelRegressorBase


@estimator
class RBPClassifier(KernelClassifierBase):
    """Randomized budget perceptron: at a full budget a random old point makes room.

    Cavallanti, Cesa-Bianchi and Gentile (2007), "Tracking the best hyperplane with a simple budget Perceptron".

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
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.RBPClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500

    _make_recipe = staticmethod(recipes.RBP)


@estimator
class ForgetronClassifier(KernelClassifierBase):
    """The self-tuned Forgetron: at a full budget all points fade, then the oldest leaves.

    Dekel, Shalev-Shwartz and Singer (2008), "The Forgetron: a kernel-based Perceptron on a budget".

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
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.ForgetronClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500

    _make_recipe = staticmethod(recipes.Forgetron)


@estimator
class NORMAClassifier(KernelClassifierBase):
    """Gradient descent on a window of the stream: coefficients fade and the oldest point leaves.

    Kivinen, Smola and Williamson (2004), "Online Learning with Kernels", with truncation.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.001
        Regularisation λ.
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
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
    >>> model = onkel.NORMAClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500
    eta: float = 0.5
    lam: float = 1e-3
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.NORMA)


@estimator
class NORMARegressor(KernelRegressorBase):
    """Gradient descent on a window of the stream, for regression.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.001
        Regularisation λ.
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
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.NORMARegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """

    budget: int | None = 500
    eta: float = 0.5
    lam: float = 1e-3
    loss: str = "squared_error"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.NORMA)


@estimator
class BPAClassifier(KernelClassifierBase):
    """Budgeted passive-aggressive learning: the old point that can best be spared is projected on the newcomer.

    Wang and Vucetic (2010), "Online Passive-Aggressive Algorithms on a Budget".

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the longest step.
    variant : {"simple", "nearest", "project"}, default="simple"
        What the leaving point is projected on: the newcomer, or the newcomer and its own nearest neighbour.
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
    >>> model = onkel.BPAClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500
    C: float = 1.0
    variant: str = "simple"
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.BPA)


@estimator
class BOGDClassifier(KernelClassifierBase):
    """Bounded online gradient descent: a point is drawn and leaves, the others make up for it in the mean.

    Zhao, Wang, Wu, Jin and Hoi (2012), "Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based
    Online Learning".

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.0001
        Regularisation λ.
    cap : float, default=1.0
        The paper's γ: at a full budget no weight exceeds γη.
    sampling : {"uniform", "weighted"}, default="uniform"
        Who leaves: any old point, or (BOGD++) the likelier the smaller its weight.
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
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
    >>> model = onkel.BOGDClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500
    eta: float = 0.5
    lam: float = 1e-4
    cap: float = 1.0
    sampling: str = "uniform"
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.BOGD)


@estimator
class BOGDRegressor(KernelRegressorBase):
    """Bounded online gradient descent, for regression.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η.
    lam : float, default=0.0001
        Regularisation λ.
    cap : float, default=1.0
        The paper's γ: at a full budget no weight exceeds γη.
    sampling : {"uniform", "weighted"}, default="uniform"
        Who leaves: any old point, or (BOGD++) the likelier the smaller its weight.
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
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.BOGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """

    budget: int | None = 500
    eta: float = 0.5
    lam: float = 1e-4
    cap: float = 1.0
    sampling: str = "uniform"
    loss: str = "squared_error"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.BOGD)


@estimator
class BSGDClassifier(KernelClassifierBase):
    """Budgeted stochastic gradient descent: the smallest point is removed, or merged with another.

    Wang, Crammer and Vucetic (2012), "Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for
    Large-Scale SVM Training".

    Parameters
    ----------
    lam : float, default=0.01
        Regularisation λ.
    eta : float, default=None
        Constant step size η; None is η_t = 1/(λt).
    maintenance : {"remove", "project", "merge"}, default="remove"
        The smallest point is removed, or merged with another (gaussian kernel only).
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
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
    >>> model = onkel.BSGDClassifier(maintenance="merge", budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500
    lam: float = 0.01
    eta: float | None = None
    maintenance: str = "remove"
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.BSGD)


@estimator
class BSGDRegressor(KernelRegressorBase):
    """Budgeted stochastic gradient descent, for regression.

    Parameters
    ----------
    lam : float, default=0.01
        Regularisation λ.
    eta : float, default=None
        Constant step size η; None is η_t = 1/(λt).
    maintenance : {"remove", "project", "merge"}, default="remove"
        The smallest point is removed, or merged with another (gaussian kernel only).
    loss : {"squared_error", "epsilon_insensitive", "huber"}, default="epsilon_insensitive"
    epsilon : float, default=0.1
        Half the width of the tube of loss "epsilon_insensitive", or where "huber" becomes straight.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.BSGDRegressor(maintenance="merge", budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """

    budget: int | None = 500
    lam: float = 0.01
    eta: float | None = None
    maintenance: str = "remove"
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.BSGD)


@estimator
class NPBSGDClassifier(KernelClassifierBase):
    """BSGD whose budget grows late in the stream: `n_support_` may exceed `budget`.

    Parameters
    ----------
    lam : float, default=0.01
        Regularisation λ.
    beta : float, default=0.5
        β as a fraction of the horizon: until then the budget is kept, from then on it grows, ever faster.
    maintenance : {"remove", "project"}, default="remove"
        Whether the smallest point just leaves a full set, or is projected on the five points nearest to it.
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
    horizon : int, default=None
        T: how many rows `partial_fit` will see in all; `fit` knows. Without it the budget never grows.
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
    >>> model = onkel.NPBSGDClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 1000, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500
    lam: float = 0.01
    beta: float = 0.5
    maintenance: str = "remove"
    loss: str = "hinge"
    horizon: int | None = None

    _make_recipe = staticmethod(recipes.NPBSGD)


@estimator
class NPBSGDRegressor(KernelRegressorBase):
    """BSGD for regression whose budget grows late in the stream: `n_support_` may exceed `budget`.

    Parameters
    ----------
    lam : float, default=0.01
        Regularisation λ.
    beta : float, default=0.5
        β as a fraction of the horizon: until then the budget is kept, from then on it grows, ever faster.
    maintenance : {"remove", "project"}, default="remove"
        Whether the smallest point just leaves a full set, or is projected on the five points nearest to it.
    loss : {"squared_error", "epsilon_insensitive", "huber"}, default="epsilon_insensitive"
    epsilon : float, default=0.1
        Half the width of the tube of loss "epsilon_insensitive", or where "huber" becomes straight.
    horizon : int, default=None
        T: how many rows `partial_fit` will see in all; `fit` knows. Without it the budget never grows.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.NPBSGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 1000, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """

    budget: int | None = 500
    lam: float = 0.01
    beta: float = 0.5
    maintenance: str = "remove"
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1
    horizon: int | None = None

    _make_recipe = staticmethod(recipes.NPBSGD)


@estimator
class DualSGDClassifier(KernelClassifierBase):
    """Dual space gradient descent: points too small to keep become random Fourier features.

    Le, Nguyen, Nguyen and Phung (2016), "Dual Space Gradient Descent for Online Learning". Gaussian kernel only.

    Parameters
    ----------
    lam : float, default=0.01
        Regularisation λ.
    n_components : int, default=200
        D: the number of random Fourier features.
    k : int, default=20
        How many points move at once.
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
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
    >>> model = onkel.DualSGDClassifier(budget=50, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.9
    (True, True)
    """

    budget: int | None = 500
    lam: float = 0.01
    n_components: int = 200
    k: int = 20
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.DualSGD)


@estimator
class DualSGDRegressor(KernelRegressorBase):
    """Dual space gradient descent, for regression. Gaussian kernel only.

    Parameters
    ----------
    lam : float, default=0.01
        Regularisation λ.
    n_components : int, default=200
        D: the number of random Fourier features.
    k : int, default=20
        How many points move at once.
    loss : {"squared_error", "epsilon_insensitive", "huber"}, default="epsilon_insensitive"
    epsilon : float, default=0.1
        Half the width of the tube of loss "epsilon_insensitive", or where "huber" becomes straight.
    %(parameters)s

    Attributes
    ----------
    %(attributes)s

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 1000)[:, None]
    >>> model = onkel.DualSGDRegressor(budget=50, gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ <= 50, model.score(X, np.sin(X[:, 0])) > 0.8
    (True, True)
    """

    budget: int | None = 500
    lam: float = 0.01
    n_components: int = 200
    k: int = 20
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.DualSGD)


@estimator
class ProjectronClassifier(KernelClassifierBase):
    """Projectron: mistakes are projected on the support vectors that are there, where that loses little.

    Orabona, Keshet and Caputo (2009), "Bounded Kernel-Based Online Learning". Each change costs the square of the
    number of support vectors.

    Parameters
    ----------
    eta : float, default=0.1
        A mistake no further than η from the span of the support vectors is projected on it; so is every mistake once
        the budget is full.
    aggressive : bool, default=False
        Projectron++: learn also from rows that are right by less than 1.
    rule : {"2009", "2008"}, default="2009"
        The rules of the journal paper, or those of the conference paper ("The Projectron"), which projects only when
        the budget is full.
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
    >>> model = onkel.ProjectronClassifier(budget=50, aggressive=True, gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ <= 50, model.score(X, y) > 0.95
    (True, True)
    """

    budget: int | None = 500
    eta: float = 0.1
    aggressive: bool = False
    rule: str = "2009"

    _make_recipe = staticmethod(recipes.Projectron)


@estimator
class POLKClassifier(KernelClassifierBase):
    """POLK: gradient steps, each followed by a projection that keeps few support vectors.

    Koppel, Warnell, Stump and Ribeiro (2019), "Parsimonious Online Learning with Kernels via Sparse Projections in
    Function Space". How many support vectors there are follows from how much error each step may add.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η, less than 1/λ.
    lam : float, default=0.001
        Regularisation λ.
    parsimony : float, default=0.1
        K: each step may move the function by ε = Kη^(3/2) to have fewer support vectors.
    eps : float, default=None
        ε itself, instead of `parsimony`.
    prune : {"komp", "random"}, default="komp"
        Who leaves: the one whose loss the others can best make up for (and they do), or anyone.
    batch_size : int, default=1
        Rows a step.
    loss : {"hinge", "squared_hinge", "log_loss", "exponential", "perceptron"}, default="hinge"
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
    >>> model = onkel.POLKClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> model.n_support_ < 50, model.score(X, y) > 0.95
    (True, True)
    """

    eta: float = 0.5
    lam: float = 1e-3
    parsimony: float = 0.1
    eps: float | None = None
    prune: str = "komp"
    batch_size: int = 1
    loss: str = "hinge"

    _make_recipe = staticmethod(recipes.POLK)


@estimator
class POLKRegressor(KernelRegressorBase):
    """POLK for regression: gradient steps, each followed by a projection that keeps few support vectors.

    Parameters
    ----------
    eta : float, default=0.5
        Step size η, less than 1/λ.
    lam : float, default=0.001
        Regularisation λ.
    parsimony : float, default=0.1
        K: each step may move the function by ε = Kη^(3/2) to have fewer support vectors.
    eps : float, default=None
        ε itself, instead of `parsimony`.
    prune : {"komp", "random"}, default="komp"
        Who leaves: the one whose loss the others can best make up for (and they do), or anyone.
    batch_size : int, default=1
        Rows a step.
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
    >>> model = onkel.POLKRegressor(gamma=1.0, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.n_support_ < 50, model.score(X, np.sin(X[:, 0])) > 0.9
    (True, True)
    """

    eta: float = 0.5
    lam: float = 1e-3
    parsimony: float = 0.1
    eps: float | None = None
    prune: str = "komp"
    batch_size: int = 1
    loss: str = "squared_error"
    epsilon: float = 0.1

    _make_recipe = staticmethod(recipes.POLK)
