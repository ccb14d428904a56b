"""What the batch learners share: parameters, labels, the kernel matrix, the function that predicts, the loss."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr, expit, logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel.parts import KERNELS, Hedge, Kernel, kernel_named
from onkel_papers.batch._checks import check_choice, check_number

Floats = NDArray[np.float64]
BLOCK = 256  # the number of columns of the kernel matrix that are computed at a time

_PARAMETERS = """\
lam : float, default=0.001
        Regularisation λ.
    kernel : {%(kernels)s} or Kernel or callable, default="rbf"
        A `Kernel` is a part, or a sum or product of parts, with its own parameters. A callable returns the matrix of
        kernel values between the rows of its two arguments.
    gamma : {"scale", "auto"} or float, default="scale"
        The kernel's width, as in :class:`sklearn.svm.SVC`.
    degree : int, default=3
        Degree of kernel "poly".
    coef0 : float, default=0.0
        Constant term of kernels "poly" and "sigmoid".
    memory_mb : float, default=2000
        """
_ATTRIBUTES = """\
classes_ : ndarray of shape (n_classes,)
    support_ : ndarray of shape (n_support,)
        Indices of the support vectors among the rows of `fit`.
    support_vectors_ : ndarray of shape (n_support, n_features)
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
    n_support_ : int
    n_iter_ : int
    objective_ : float
        The final value of the objective.
    gamma_ : float
    n_features_in_ : int"""
_GAP = """
    gap_ : float
        The duality gap: an upper bound on the difference of `objective_` and the minimum."""


def described(cls: Any) -> Any:
    """Write the common parameters and attributes into the docstring."""
    cls.__doc__ = cls.__doc__ % {
        "common": _PARAMETERS % {"kernels": ", ".join(f'"{name}"' for name in KERNELS)},
        "fitted": _ATTRIBUTES,
        "gap": _GAP,
    }
    return cls


def _has_probabilities(model: Any) -> bool:
    return bool(getattr(model, "loss", "log_loss") == "log_loss")


@dataclass(kw_only=True, repr=False, eq=False)
class BatchClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the batch learners share: the kernel, labels, and the function that predicts."""

    lam: float = 1e-3
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: int = 3
    coef0: float = 0.0
    memory_mb: float = 2000.0

    _binary_only: ClassVar[bool] = False

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        for _ in self.steps(X, y):
            pass
        if self._stopped_early:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} iterations: raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def steps(self, X: ArrayLike, y: ArrayLike) -> Iterator[Self]:
        """Do what `fit` does, step by step: yield the estimator, ready to predict, after each step.

        Parameters are those of `fit`.
        """
        before = dict(vars(self))
        try:
            self._check_parameters()
            rows, labels = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr")
            check_classification_targets(labels)
            self.classes_, codes = np.unique(labels, return_inverse=True)
            if len(self.classes_) < 2:
                raise ValueError(f"y must have at least 2 classes, got 1 class: {self.classes_.tolist()!r}")
            if self._binary_only and len(self.classes_) > 2:
                raise ValueError(
                    f"Only binary classification is supported. The type of the target is multiclass: "
                    f"{type(self).__name__} got {len(self.classes_)} classes"
                )
            self.gamma_ = self._gamma_of(rows)
            self._kernel_object()  # refuses what is not a kernel
            matrix = KernelColumns(rows, self._kernel_values, self.memory_mb)
            work = self._work(matrix, codes)
            self._stopped_early = True
        except Exception:
            self.__dict__ = before  # a refused call changes nothing
            raise
        yield from work

    def _work(self, matrix: KernelColumns, codes: NDArray[np.intp]) -> Iterator[Self]:
        """Check what depends on the rows; return an iterator over the steps."""
        raise NotImplementedError

    def _check_parameters(self) -> None:
        check_number("lam", self.lam, above=0)
        check_number("memory_mb", self.memory_mb, above=0)
        if isinstance(self.kernel, Hedge):
            raise ValueError(f"kernel must be a single kernel, got several: {self.kernel!r}")

    def _gamma_of(self, rows: Any) -> float:
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto"))
            mean_square = rows.multiply(rows).mean() if hasattr(rows, "multiply") else (rows**2).mean()
            variance = float(mean_square - rows.mean() ** 2) if self.gamma == "scale" else 1.0
            return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0
        check_number("gamma", self.gamma, above=0)
        return float(self.gamma)

    def _kernel_values(self, A: Any, B: Any) -> Floats:
        return self._kernel_object().matrix(A, B)

    def _kernel_object(self) -> Kernel:
        return kernel_named(self.kernel, gamma=self.gamma_, degree=self.degree, coef0=self.coef0)

    def _keep(self, matrix: KernelColumns, support: NDArray[np.intp], coefficients: Floats) -> None:
        """Set the function that predicts; coefficients have a row for each support vector."""
        there = np.abs(coefficients).max(axis=1, initial=0) > 0
        self.support_ = support[there]
        self.support_vectors_ = matrix.rows[self.support_]
        self.dual_coef_ = np.ascontiguousarray(coefficients[there].T)

    @property
    def n_support_(self) -> int:
        """Number of support vectors."""
        check_is_fitted(self)
        return len(self.support_)

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the score of each row: positive for the second of two classes, or one column per class."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64, accept_sparse="csr")
        scores = np.zeros((rows.shape[0], len(self.dual_coef_)))
        for cut in gen_batches(rows.shape[0], max(1, 2**22 // max(1, self.n_support_))):
            if self.n_support_:
                scores[cut] = self._kernel_values(rows[cut], self.support_vectors_) @ self.dual_coef_.T
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely class of each row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, for the log loss; the hinge has none."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(scores, axis=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_class = not self._binary_only
        return tags


class KernelColumns:
    """The kernel matrix of some rows: stored where memory allows, otherwise computed anew for each pass."""

    def __init__(self, rows: Any, values: Callable[[Any, Any], Floats], memory_mb: float) -> None:
        self.rows = rows
        self.values = values
        self.n: int = rows.shape[0]
        self.megabytes = 8 * self.n**2 / 1e6
        self.memory_mb = memory_mb
        self.fits = self.megabytes <= memory_mb
        self._whole: Floats | None = None

    def whole(self) -> Floats:
        """The matrix; it is exactly symmetric."""
        if not self.fits:
            raise ValueError(
                f"X has {self.n} rows, whose kernel matrix takes {self.megabytes:,.1f} MB: "
                f"expected at most memory_mb={self.memory_mb:g}"
            )
        if self._whole is None:
            matrix = self.values(self.rows, self.rows)
            self._whole = (matrix + matrix.T) / 2
        return self._whole

    def __getitem__(self, places: NDArray[np.intp]) -> Floats:
        """Some columns, as the rows of an array."""
        return self.whole()[places] if self.fits else self.values(self.rows[places], self.rows)

    def blocks(self, order: NDArray[np.intp]) -> Iterator[tuple[NDArray[np.intp], Floats]]:
        """All columns in this order, a few at a time."""
        for cut in gen_batches(len(order), BLOCK):
            yield order[cut], self[order[cut]]

    def times(self, coefficients: Floats) -> Floats:
        """The matrix times a vector."""
        products = np.empty(self.n)
        for places, columns in self.blocks(np.arange(self.n)):
            products[places] = columns @ coefficients
        return products


class LossProblem:
    """The mean loss of labelled rows, and its dual.

    Both losses are ``μ log Σ_c exp((Δ_c + F_c)/μ) - F_y``: softmax has Δ = 0 and μ = 1, the hinge Δ = 1[c ≠ y] and
    μ → 0. Two classes have one score f, and F = (-f/2, f/2).
    """

    def __init__(self, codes: NDArray[np.intp], n_classes: int, hinge: bool) -> None:
        self.true = np.eye(n_classes, dtype=bool)[codes]
        self.margins = np.where(self.true, 0.0, 1.0) if hinge else np.zeros(self.true.shape)
        self.spread = np.array([[-0.5, 0.5]]) if n_classes == 2 else np.eye(n_classes)

    def evaluate(self, scores: Floats, sharpness: float) -> tuple[float, Floats, Floats]:
        """The mean loss, its derivative by every score (times the number of rows), and the softmax probabilities."""
        heights = self.margins + scores @ self.spread
        if sharpness == 0:
            top = heights.max(axis=1)
            shares = (heights == top[:, None]).astype(np.float64)
            shares /= shares.sum(axis=1, keepdims=True)
        else:
            top = sharpness * logsumexp(heights / sharpness, axis=1)
            shares = np.exp((heights - top[:, None]) / sharpness)
        loss = float(np.mean(top - heights[self.true]))
        return loss, (shares - self.true) @ self.spread.T, shares

    def curvature(self, shares: Floats, a: int, b: int) -> Floats:
        """The second derivative of each row's loss by scores a and b: diag(p) - pp' in terms of these scores."""
        one, other = self.spread[a], self.spread[b]
        return np.asarray(shares @ (one * other) - (shares @ one) * (shares @ other))

    def dual(self, shares: Floats, sharpness: float) -> float:
        """The part of the dual objective that comes from the losses."""
        return float(np.mean((shares * self.margins + sharpness * entr(shares)).sum(axis=1)))
