"""Kernel logistic regression by coordinate descent, in the primal and in the dual."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit
from sklearn.utils import check_random_state

from onkel_papers.batch._base import BatchClassifier, Floats, KernelColumns, described
from onkel_papers.batch._checks import check_count, check_number


@dataclass(kw_only=True, repr=False, eq=False)
class _CoordinateDescent(BatchClassifier):
    """Sweeps over the rows in random order, minimising over one coefficient at a time; two classes."""

    tol: float = 1e-4
    max_sweeps: int = 1000
    random_state: Any = None

    _binary_only: ClassVar[bool] = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("tol", self.tol, above=0)
        check_count("max_sweeps", self.max_sweeps)

    def _work(self, matrix: KernelColumns, codes: NDArray[np.intp]) -> Iterator[Self]:
        return self._swept(matrix, np.where(codes == 1, 1.0, -1.0), check_random_state(self.random_state))

    def _swept(self, matrix: KernelColumns, y: Floats, rng: Any) -> Iterator[Self]:
        coefficients, scores = np.zeros(matrix.n), np.zeros(matrix.n)
        everyone = np.arange(matrix.n)
        for sweep in range(1, self.max_sweeps + 1):
            self.n_iter_ = sweep
            slopes = np.zeros(matrix.n)
            for places, columns in matrix.blocks(rng.permutation(matrix.n)):
                self._descend(places, columns, y, coefficients, scores, slopes)
                self._keep(matrix, everyone, coefficients[:, None])
                yield self
            norm = float(coefficients @ scores)
            self.objective_ = 0.5 * self.lam * norm + float(np.logaddexp(0, -y * scores).mean())
            self.gap_ = self._gap(matrix, y, coefficients, scores, slopes)
            self._stopped_early = self.gap_ > self.tol
            if not self._stopped_early:
                return

    def _descend(
        self, places: NDArray[np.intp], columns: Floats, y: Floats, coefficients: Floats, scores: Floats, slopes: Floats
    ) -> None:
        """Move the coefficients of some rows, one after another, and with them the scores of all rows."""
        raise NotImplementedError

    def _gap(self, matrix: KernelColumns, y: Floats, coefficients: Floats, scores: Floats, slopes: Floats) -> float:
        raise NotImplementedError


@described
@dataclass(kw_only=True, repr=False, eq=False)
class PCDClassifier(_CoordinateDescent):
    """Kernel logistic regression by coordinate descent on the primal problem (PCD of the KLR paper). Two classes.

    With d and h the first and the second derivative of the objective with respect to the coefficient of row i, and k
    the largest kernel value in its column, the coefficient moves by ``-sign(d) log(1 + k |d|/h)/k``: nearly Newton's
    step where that is small, and never a step that increases the objective, since ``|l'''| ≤ l''`` for the logistic
    loss.

    Parameters
    ----------
    tol : float, default=0.0001
        Stop after a sweep when the duality gap is at most this.
    max_sweeps : int, default=1000
    random_state : int, RandomState or None, default=None
        Draws the order of rows in each sweep.
    %(common)sMemory for the kernel matrix. Where it does not fit, columns are computed anew in every sweep.

    Attributes
    ----------
    %(fitted)s%(gap)s

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel_papers.batch import PCDClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = PCDClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99, model.gap_ <= 1e-4
    (True, True)
    """

    def _descend(
        self, places: NDArray[np.intp], columns: Floats, y: Floats, coefficients: Floats, scores: Floats, slopes: Floats
    ) -> None:
        n = len(y)
        wrong = expit(-y * scores)  # 1 - P(y)
        for i, column in zip(places, columns, strict=True):
            slopes[i] = d = self.lam * scores[i] - float(column @ (y * wrong)) / n
            h = self.lam * column[i] + float((column * column) @ (wrong * (1 - wrong))) / n
            k = float(np.abs(column).max())
            if d == 0 or h <= 0:
                continue
            step = -np.sign(d) * np.log1p(k * abs(d) / h) / k
            coefficients[i] += step
            scores += step * column
            wrong = expit(-y * scores)

    def _gap(self, matrix: KernelColumns, y: Floats, coefficients: Floats, scores: Floats, slopes: Floats) -> float:
        """‖∇‖²/(2λ): a pass over the matrix, skipped while the slopes seen in the sweep show that it is too early."""
        gradient = self.lam * coefficients - y * expit(-y * scores) / len(y)
        met = abs(float(gradient @ slopes)) / (2 * self.lam)
        if met > self.tol and self.n_iter_ < self.max_sweeps:
            return met
        return float(gradient @ matrix.times(gradient)) / (2 * self.lam)


@described
@dataclass(kw_only=True, repr=False, eq=False)
class DCDClassifier(_CoordinateDescent):
    """Kernel logistic regression by coordinate descent on the dual problem (DCD of the KLR paper). Two classes.

    Keerthi, Duan, Shevade and Poo (2005), "A Fast Dual Algorithm for Kernel Logistic Regression"; without a constant
    term there is no constraint that ties two coefficients together, so they are moved one at a time. The coefficient
    of row i is ``y_i α_i/(λn)``, and the best α given all others solves ``log(α/(1-α)) + y_i f(x_i) = 0``.

    Parameters
    ----------
    tol : float, default=0.0001
        Stop after a sweep when the duality gap is at most this.
    max_sweeps : int, default=1000
    random_state : int, RandomState or None, default=None
        Draws the order of rows in each sweep.
    %(common)sMemory for the kernel matrix. Where it does not fit, columns are computed anew in every sweep.

    Attributes
    ----------
    %(fitted)s%(gap)s

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from onkel_papers.batch import DCDClassifier
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> model = DCDClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99, model.gap_ <= 1e-4
    (True, True)
    """

    def _descend(
        self, places: NDArray[np.intp], columns: Floats, y: Floats, coefficients: Floats, scores: Floats, slopes: Floats
    ) -> None:
        unit = 1 / (self.lam * len(y))  # the unit of the coefficients
        for i, column in zip(places, columns, strict=True):
            curvature = unit * column[i]
            alpha = y[i] * coefficients[i] / unit
            logit = _logit_root(float(y[i] * scores[i] - curvature * alpha), float(curvature))
            step = y[i] * unit * expit(logit) - coefficients[i]
            coefficients[i] += step
            scores += step * column

    def _gap(self, matrix: KernelColumns, y: Floats, coefficients: Floats, scores: Floats, slopes: Floats) -> float:
        alpha = self.lam * len(y) * y * coefficients
        entropy = entr(alpha) + entr(1 - alpha)
        return float(np.mean(np.logaddexp(0, -y * scores) + alpha * y * scores - entropy))


def _logit_root(shift: float, curvature: float) -> float:
    """Solve ``u + shift + curvature/(1 + exp(-u)) = 0`` by Newton's method, bisecting where it would leave the bracket.

    >>> u = _logit_root(-3.0, 10.0)
    >>> round(u, 3), abs(u - 3.0 + 10.0 / (1 + math.exp(-u))) < 1e-9
    (-0.583, True)
    """
    low, high = -shift - curvature, -shift
    u = 0.5 * (low + high)
    for _ in range(100):
        share = 1 / (1 + math.exp(-u)) if u > -700 else 0.0
        height = u + shift + curvature * share
        if abs(height) <= 1e-12 * (1 + abs(u) + curvature):
            break
        low, high = (u, high) if height < 0 else (low, u)
        u -= height / (1 + curvature * share * (1 - share))
        if not low < u < high:
            u = 0.5 * (low + high)
    return u
