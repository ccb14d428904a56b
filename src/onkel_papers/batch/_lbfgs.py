"""Kernel logistic regression and the multi-class support vector machine, by L-BFGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf
from scipy.optimize import minimize

from onkel_papers.batch._base import BatchClassifier, Floats, KernelColumns, LossProblem, described
from onkel_papers.batch._checks import check_choice, check_count, check_number


@described
@dataclass(kw_only=True, repr=False, eq=False)
class LBFGSClassifier(BatchClassifier):
    """Kernel logistic regression, or the support vector machine of Crammer and Singer, by L-BFGS.

    It works in orthonormal coordinates of the span of the rows, obtained from a pivoted Cholesky factor of the kernel
    matrix; rows within 1e-5 of the span of others need no coordinate, and are not support vectors. The hinge loss
    ``max_c (1[c ≠ y] + f_c) - f_y`` is not smooth: the maximum is replaced by ``μ log Σ exp(·/μ)``, with a μ that
    decreases until the duality gap of the hinge itself is small enough.

    Parameters
    ----------
    loss : {"log_loss", "hinge"}, default="log_loss"
        With several classes, the softmax loss, or the hinge loss of the true class against the largest other score.
    tol : float, default=0.0001
        Stop when the duality gap is at most this.
    max_iter : int, default=10000
        The largest number of iterations of L-BFGS.
    %(common)sMemory for the kernel matrix. Rows whose kernel matrix does not fit are refused.

    Attributes
    ----------
    %(fitted)s%(gap)s

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from onkel_papers.batch import LBFGSClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LBFGSClassifier(gamma=0.5).fit(X, y)
    >>> model.score(X, y) > 0.97, model.gap_ <= 1e-4
    (True, True)
    >>> model.predict_proba(X[:1]).round(1)
    array([[1., 0., 0.]])
    """

    loss: str = "log_loss"
    tol: float = 1e-4
    max_iter: int = 10_000

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("loss", self.loss, ("log_loss", "hinge"))
        check_number("tol", self.tol, above=0)
        check_count("max_iter", self.max_iter)

    def _work(self, matrix: KernelColumns, codes: NDArray[np.intp]) -> Iterator[Self]:
        return self._minimised(matrix, matrix.whole(), codes)

    def _minimised(self, matrix: KernelColumns, whole: Floats, codes: NDArray[np.intp]) -> Iterator[Self]:
        factor, pivots = _pivoted_cholesky(whole)
        n, rank = factor.shape
        n_outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        problem = LossProblem(codes[pivots], len(self.classes_), self.loss == "hinge")
        final = 0.0 if self.loss == "hinge" else 1.0
        sharpness = 1.0
        weights = np.zeros(rank * n_outputs)
        gap = np.inf
        self.n_iter_ = 0

        def value(flat: Floats) -> tuple[float, Floats]:
            nonlocal gap
            W = flat.reshape(rank, n_outputs)
            scores = factor @ W
            loss, slopes, shares = problem.evaluate(scores, sharpness)
            gradient = factor.T @ slopes / n
            ridge = 0.5 * self.lam * float(flat @ flat)
            dual = problem.dual(shares, final) - float((gradient**2).sum()) / (2 * self.lam)
            primal = ridge + (loss if final == sharpness else problem.evaluate(scores, final)[0])
            gap = primal - dual
            return loss + ridge, (gradient + self.lam * W).ravel()

        def stop_when_close(intermediate_result: Any) -> None:
            # The last point that was evaluated is the present iterate. When half of the gap is due to the smoothing, a
            # smaller μ gains more than further iterations.
            own = sharpness * np.log(len(self.classes_)) if final == 0.0 else 0.0
            if gap <= max(self.tol, 2 * own):
                raise StopIteration

        while True:
            options = {"maxiter": self.max_iter - self.n_iter_, "maxfun": 2**31 - 1, "gtol": 0, "ftol": 0, "maxcor": 20}
            done = minimize(value, weights, jac=True, method="L-BFGS-B", callback=stop_when_close, options=options)
            weights = done.x
            self.n_iter_ += int(done.nit)
            value(weights)
            W = weights.reshape(rank, n_outputs)
            self.objective_ = problem.evaluate(factor @ W, final)[0] + 0.5 * self.lam * float(weights @ weights)
            self.gap_ = float(gap)
            self._keep(matrix, pivots[:rank], solve_triangular(factor[:rank], W, lower=True, trans="T"))
            self._stopped_early = self.gap_ > self.tol
            yield self
            if not self._stopped_early or self.n_iter_ >= self.max_iter or sharpness == final or sharpness < 1e-9:
                return
            sharpness /= 4


def _pivoted_cholesky(matrix: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Return L, with as many columns as the numerical rank, and the order of the rows that it belongs to."""
    factor, pivots, rank, _ = dpstrf(matrix.copy(order="F"), tol=1e-10 * matrix.diagonal().max(), lower=1)
    return np.tril(factor[:, : max(1, rank)]), pivots.astype(np.intp) - 1
