"""Several kernels at once, with a function for each, weighted by their mistakes (OMKC and bounded OMKC).

J. Lu, D. Sahoo, P. Zhao and S. C. H. Hoi, "Sparse Passive-Aggressive Learning for Bounded Online Kernel Methods", ACM
TIST 2018, sections 4 and 6.2. The update for a row is in the core (``native/experts/hedge.hpp``); the kernels share
their points, distances and dot products.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel.estimators.base import Floats, KernelEstimator
from onkel.estimators.generic import RecipeParameter
from onkel.estimators.making import estimator
from onkel.estimators.targets import ClassifierBase, RegressorBase
from onkel.parameters import Note
from onkel.parts import AT_ZERO, COMBINATIONS, POOL, Hedge, Kernel, kernel_named
from onkel.utils.validation import check_number

_ATTRIBUTES = """\
kernels_ : tuple of Kernel
kernel_weights_ : ndarray of shape (n_kernels,)
    Weights θ of the kernels.
kernel_weights_history_ : tuple of ndarrays of shapes (n,) and (n, n_kernels)
    Fewer than 256 evenly spaced row counts, and the weights after each of them.
n_support_ : int
    Number of different support vectors.
n_support_per_kernel_ : ndarray of shape (n_kernels,)
n_support_total_ : int
    The sum over the kernels, as the papers count.
dual_coef_ : ndarray of shape (n_kernels, 1 or n_classes, n_support)
intercept_ : ndarray of shape (n_kernels, 1 or n_classes)
norm_ : float
    Of the weighted sum of the functions, in the direct sum of the kernels' spaces."""


@estimator
class SeveralKernels(RecipeParameter, KernelEstimator):
    """The kernels, their weights and their functions."""

    kernels: Annotated[
        Sequence[Any] | None,
        Note(
            "The kernels.",
            "None is the papers' pool of 16: polynomials (x . x')^p, p = 1 .. 3, and gaussians of width "
            "σ = 2^-6 .. 2^6. Kernels given by name take `gamma`, `degree` and `coef0`.",
            kind="sequence of str, Kernel or callable",
        ),
    ] = None
    combination: Annotated[
        str,
        Note(
            "Which kernels learn from a row, and how they are weighted.",
            '"uniform" (U): all learn, with equal weights. "deterministic" (DD): all learn. "stochastic" (SD): kernel '
            "i is visited with probability p_i = (1 - δ) θ_i/max θ + δ, and its weight and its function change only "
            'then. "spa" (BOMKC): weights change with every mistake, and kernel i admits a row with p_i times the '
            'probability of the recipe. "sum": all learn, and the prediction is Σ θ_i f_i; θ moves along the gradient '
            "of the loss of that sum.",
            choices=COMBINATIONS,
        ),
    ] = "spa"
    discount: Annotated[
        float, Note("γ: the factor by which a mistake multiplies a kernel's weight.", limits={"above": 0, "at_most": 1})
    ] = 0.99
    smoothing: Annotated[float, Note("δ: the smallest p_i.", limits={"above": 0, "at_most": 1})] = 0.001
    at_zero: Annotated[
        str,
        Note(
            "With two classes, how a score of exactly 0 counts: that of a kernel too narrow to reach any point.",
            '"mistake": it counts as a mistake, and costs weight. "vote": it is a vote for the first class, and never '
            "costs weight, as in the paper's text.",
            choices=AT_ZERO,
        ),
    ] = "mistake"

    share: Annotated[
        float | None,
        Note(
            "α of the fixed share: how much of all weight is divided evenly after each row.",
            "A kernel that has long been bad can then soon become the best, as in a stream that changes: 0.001 lets "
            'the best kernel change about every thousand rows. None is 0, and 1e-4 with "sum".',
            limits={"at_least": 0, "at_most": 1},
        ),
    ] = None

    _function_attributes: ClassVar[str] = _ATTRIBUTES

    def _chosen_kernel(self) -> Hedge:
        kernels: tuple[Kernel, ...] = POOL
        if self.kernels is not None:
            if isinstance(self.kernels, str) or not isinstance(self.kernels, Sequence):
                raise ValueError(f"kernels must be a sequence of kernels, got {self.kernels!r}")
            numbers = {"gamma": self._gamma, "degree": self.degree, "coef0": self.coef0}
            kernels = tuple(kernel_named(kernel, **numbers) for kernel in self.kernels)
        return Hedge(kernels, self.combination, self.discount, self.smoothing, share=self.share, at_zero=self.at_zero)

    @property
    def kernels_(self) -> tuple[Kernel, ...]:
        """The kernels."""
        return self._fitted().kernels

    @property
    def kernel_weights_(self) -> Floats:
        """Weights θ of the kernels' votes; their sum is 1."""
        return self._fitted().kernel_weights

    @property
    def kernel_weights_history_(self) -> tuple[NDArray[np.int64], Floats]:
        """Fewer than 256 evenly spaced row counts, and the weights after each of them."""
        return self._fitted().kernel_weights_history

    @property
    def n_support_per_kernel_(self) -> NDArray[np.int64]:
        """Number of support vectors of each kernel."""
        return self._fitted().n_support_per_kernel

    @property
    def n_support_total_(self) -> int:
        """Number of support vectors summed over the kernels, as the papers count them."""
        return int(self._fitted().n_support_per_kernel.sum())

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of each kernel's function, 0 at the support vectors of other kernels."""
        return np.stack([term.average.points for term in self._fitted().expansion().terms])

    @property
    def intercept_(self) -> Floats:
        """Constant terms of each kernel's function."""
        return np.stack([term.average.constants for term in self._fitted().expansion().terms])

    def scores_per_kernel(self, X: ArrayLike) -> Floats:
        """Return each kernel's own scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_kernels) or (n_samples, n_kernels, n_classes)
        """
        scores = self._scores(X, each=True)
        shaped = scores.reshape(len(scores), len(self.kernels_), -1)
        return np.stack([self._shaped(shaped[:, i]) for i in range(shaped.shape[1])], axis=1)

    def weighted_score(self, X: ArrayLike) -> Floats:
        """Return the weighted mean of the kernels' scores, where `decision_function` has the mean of their votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        return np.asarray(np.tensordot(self.scores_per_kernel(X), self.kernel_weights_, axes=([1], [0])))

    def drop_kernels(self, below: float = 1e-3) -> float:
        """Drop the kernels whose weights have vanished, with the support vectors that only they use.

        The weights of the others are scaled to add up to 1 again. With w the weight that is dropped, each vote moves
        by at most 2w/(1 - w), so that no label changes whose vote is farther than that from the next one's.

        Parameters
        ----------
        below : float, default=1e-3
            Drop kernels of less weight than this; the heaviest always stays.

        Returns
        -------
        float
            The bound 2w/(1 - w) on the change of a vote.
        """
        check_number("below", below, at_least=0, at_most=1)
        weights = self.kernel_weights_
        stays = (weights >= below) | (weights == weights.max())
        if not stays.all():
            self._fitted().keep_kernels(np.flatnonzero(stays).tolist())
        dropped = float(weights[~stays].sum())
        return 2 * dropped / (1 - dropped)


@estimator
class MultiKernelClassifier(ClassifierBase, SeveralKernels):
    """Several kernels at once, each with a function, in a weighted vote: OMKC, and with a budget bounded OMKC.

    `decision_function` is the weighted vote, ``sum_i θ_i sign f_i(x)`` (with several classes: the weight of the votes
    for each), and so is `predict_then_learn`; `weighted_score` is ``sum_i θ_i f_i(x)``. The functions that vote are the
    last ones, unless `average` asks for the averages. A `budget` is divided equally among the kernels with combinations
    "uniform", "deterministic" and "sum" (of first-order learners), and shared by all with the others, where the kernel
    that has inserted a point removes one of its own. A "sum" of second-order learners counts a point that several of
    them hold once.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> model = onkel.MultiKernelClassifier(onkel.recipes.SPA(eta=0.1, beta=3), random_state=0).fit(X, y)
    >>> model.kernels_[model.kernel_weights_.argmax()]
    RBF(gamma=8.0)
    >>> model.score(X, y) > 0.95
    True
    """

    @property
    def _votes(self) -> bool:  # type: ignore[override]
        return self.combination != "sum"


@estimator
class MultiKernelRegressor(RegressorBase, SeveralKernels):
    """Several kernels at once for regression: the weighted mean of their predictions.

    A kernel's weight is multiplied by ``γ^l``, ``l`` its squared error over the squared range of the targets so far, at
    most 1. Such losses are small, so that γ is not 0.99 as for the classifiers but about e^-½, the smallest value for
    which the cumulative loss of the weighted mean exceeds that of the best kernel by no more than a constant. One
    kernel that diverges stops all of them: gradient steps with polynomials of large numbers diverge, while the steps of
    PA and SPA, which divide by ``k(x, x)``, do not.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.linspace(0, 6, 500)[:, None]
    >>> recipe = onkel.recipes.OGD(eta=0.2, loss="squared_error")
    >>> kernels = [onkel.parts.RBF(gamma) for gamma in (0.01, 1.0, 100.0)]
    >>> model = onkel.MultiKernelRegressor(recipe, kernels=kernels, combination="deterministic", random_state=0)
    >>> model.fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    >>> model.kernel_weights_.argmax()
    np.int64(1)
    """

    discount: float = 0.6
