"""The import vector machine: kernel logistic regression on few rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils import check_random_state, gen_batches

from onkel_papers.batch._base import BLOCK, BatchClassifier, Floats, KernelColumns, LossProblem, described
from onkel_papers.batch._checks import check_count, check_number


@described
@dataclass(kw_only=True, repr=False, eq=False)
class IVMClassifier(BatchClassifier):
    """The import vector machine: kernel logistic regression on few rows, which are chosen one at a time.

    Zhu and Hastie (2005), "Kernel Logistic Regression and the Import Vector Machine". The row is added that lowers the
    objective most, as estimated by one step of Newton's method, class by class; then all coefficients are optimised.

    Parameters
    ----------
    tol : float, default=0.001
        Stop when a new import vector lowers the objective by no more than this fraction of it (the paper's ε, with Δk =
        1).
    budget : int, default=None
        The largest number of import vectors (None: as many as `tol` allows).
    n_candidates : int, default=None
        Number of random rows considered for each import vector (None: all rows).
    random_state : int, RandomState or None, default=None
        Draws the candidates.
    %(common)sMemory for the kernel matrix. Where it does not fit, columns are computed anew for every import vector.

    Attributes
    ----------
    %(fitted)s

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from onkel_papers.batch import IVMClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = IVMClassifier(gamma=0.5).fit(X, y)
    >>> model.n_support_ < 20, model.score(X, y) > 0.97
    (True, True)
    """

    tol: float = 1e-3
    budget: int | None = None
    n_candidates: int | None = None
    random_state: Any = None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("tol", self.tol, at_least=0)
        for name in ("budget", "n_candidates"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))

    def _work(self, matrix: KernelColumns, codes: NDArray[np.intp]) -> Iterator[Self]:
        return self._grown(matrix, codes, check_random_state(self.random_state))

    def _grown(self, matrix: KernelColumns, codes: NDArray[np.intp], rng: Any) -> Iterator[Self]:
        problem = LossProblem(codes, len(self.classes_), hinge=False)
        chosen = np.zeros(0, np.intp)
        chosen_columns, weights = np.zeros((0, matrix.n)), np.zeros((0, len(problem.spread)))
        self.objective_ = problem.evaluate(np.zeros((matrix.n, len(problem.spread))), 1.0)[0]
        most = matrix.n if self.budget is None else min(self.budget, matrix.n)
        for round_ in range(1, most + 1):
            self.n_iter_ = round_
            others = np.setdiff1d(np.arange(matrix.n), chosen)
            if self.n_candidates is not None and self.n_candidates < len(others):
                others = np.sort(rng.choice(others, self.n_candidates, replace=False))
            best = self._best(matrix, problem, chosen, chosen_columns, weights, others)
            chosen = np.append(chosen, best)
            chosen_columns = np.vstack([chosen_columns, matrix[chosen[-1:]]])
            weights = np.vstack([weights, np.zeros((1, len(problem.spread)))])
            before = self.objective_
            weights, self.objective_ = self._optimum(problem, chosen_columns, chosen, weights)
            self._keep(matrix, chosen, weights)
            self._stopped_early = False
            yield self
            if before - self.objective_ <= self.tol * self.objective_:
                return

    def _best(
        self,
        matrix: KernelColumns,
        problem: LossProblem,
        chosen: NDArray[np.intp],
        chosen_columns: Floats,
        weights: Floats,
        others: NDArray[np.intp],
    ) -> int:
        """The row that lowers the objective most when it is added and all coefficients make one Newton step."""
        n = matrix.n
        _, slopes, shares = problem.evaluate(chosen_columns.T @ weights, 1.0)
        curvatures = [problem.curvature(shares, c, c) for c in range(len(problem.spread))]
        gains = np.zeros(len(others))
        gram = self.lam * chosen_columns[:, chosen]
        factors = [_cholesky((chosen_columns * v) @ chosen_columns.T / n + gram) for v in curvatures if len(chosen)]
        for cut in gen_batches(len(others), BLOCK):
            columns = matrix[others[cut]]
            across = self.lam * chosen_columns[:, others[cut]]
            d = columns @ slopes / n + across.T @ weights
            own = self.lam * columns[np.arange(len(columns)), others[cut]]
            for c, v in enumerate(curvatures):
                h = left = own + (columns * columns) @ v / n
                if len(chosen):
                    mixed = (chosen_columns * v) @ columns.T / n + across
                    left = h - (mixed * cho_solve(factors[c], mixed)).sum(axis=0)
                new = left > 1e-9 * h  # a row in the span of the chosen ones gains nothing
                gains[cut] += np.where(new, d[:, c] ** 2 / np.where(new, 2 * left, 1.0), 0.0)
        return int(others[gains.argmax()])

    def _optimum(
        self, problem: LossProblem, columns: Floats, chosen: NDArray[np.intp], weights: Floats
    ) -> tuple[Floats, float]:
        """The best coefficients of the chosen rows, by Newton's method with step halving."""
        (q, n), m = columns.shape, weights.shape[1]
        gram = self.lam * columns[:, chosen]

        def objective(W: Floats) -> float:
            return problem.evaluate(columns.T @ W, 1.0)[0] + 0.5 * float((W * (gram @ W)).sum())

        value = objective(weights)
        for _ in range(100):
            _, slopes, shares = problem.evaluate(columns.T @ weights, 1.0)
            gradient = columns @ slopes / n + gram @ weights
            hessian = np.kron(np.eye(m), gram)
            for a in range(m):
                for b in range(a + 1):
                    part = (columns * problem.curvature(shares, a, b)) @ columns.T / n
                    hessian[a * q : (a + 1) * q, b * q : (b + 1) * q] += part
                    if a != b:
                        hessian[b * q : (b + 1) * q, a * q : (a + 1) * q] += part
            step = cho_solve(_cholesky(hessian), gradient.T.ravel()).reshape(m, q).T
            decrease = float((step * gradient).sum())
            size = 1.0
            while size > 1e-6 and objective(weights - size * step) > value - 0.25 * size * decrease:
                size /= 2
            if size <= 1e-6 or decrease <= 1e-10 * (1 + value):
                break
            weights = weights - size * step
            value = objective(weights)
        return weights, value


def _cholesky(matrix: NDArray[Any]) -> Any:
    """A Cholesky factor of a matrix that may be numerically singular."""
    ridge = 1e-12 * max(float(matrix.diagonal().max(initial=0.0)), 1e-300)
    while True:
        try:
            return cho_factor(matrix + ridge * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            ridge *= 100
