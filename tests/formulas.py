"""Functions of kernels by their formulas, in long double: what certificates and exports are held against."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

import onkel
from onkel.parts import CallableKernel, Kernel

CONSTANT = np.longdouble(5) / 16  # the constant column: the kernel becomes k + CONSTANT**2
FORMULAS = {
    "rbf": lambda A, B, gamma, relevances=1: np.exp(-gamma * (relevances * (A[:, None] - B[None]) ** 2).sum(-1)),
    "laplacian": lambda A, B, gamma, relevances=1: np.exp(-gamma * (relevances * abs(A[:, None] - B[None])).sum(-1)),
    "linear": lambda A, B: A @ B.T,
    "poly": lambda A, B, gamma, coef0, degree: (gamma * A @ B.T + coef0) ** int(degree),
    "sigmoid": lambda A, B, gamma, coef0: np.tanh(gamma * A @ B.T + coef0),
}


def long(values: Any) -> Any:
    return np.asarray(values.toarray() if issparse(values) else values, np.longdouble)


def gram(terms: Any, A: Any, B: Any) -> Any:
    """The values of a weighted sum of products of kernels, each its name and numbers, between rows."""
    total = np.zeros((len(A), len(B)), np.longdouble)
    for weight, factors in terms:
        values = (_factor(name, A, B, **numbers) for name, numbers, *_ in factors)
        total += weight * math.prod(values)
    return total


def _factor(name: str, A: Any, B: Any, ranks: Any = (), **numbers: Any) -> Any:
    curves = [() if curve is None else (curve["at"], curve["values"]) for curve in ranks]
    return FORMULAS[name](ranked(A, curves), ranked(B, curves), **{k: long(v) for k, v in numbers.items()})


def ranked(rows: Any, curves: Any) -> Any:
    """Rows whose features are mapped by piecewise linear functions, each its knots and values, or nothing."""
    columns = [*rows.T]
    for j, curve in enumerate(curves):
        if len(curve) and len(curve[0]):
            at, values = map(long, curve)
            k = np.clip(np.searchsorted(at, rows[:, j], side="right") - 1, 0, len(at) - 2)
            columns[j] = values[k] + (values[k + 1] - values[k]) * (rows[:, j] - at[k]) / (at[k + 1] - at[k])
    return np.column_stack(columns) if columns else rows


@dataclass(frozen=True)
class Expansion:
    """A function: points and their coefficients, and what stands beside them."""

    kernel: Kernel
    points: Any
    coefficients: Any  # (n_outputs, n_points)
    constants: Any  # (n_outputs,), the constant terms
    frequencies: Any
    phases: Any
    waves: Any  # (n_outputs, D), coefficients of sqrt(2 / D) cos(frequency . x + phase)

    @classmethod
    def of(cls, learner: onkel.Learner) -> Expansion:
        """What a learner of one kernel predicts with."""
        function = learner.expansion()
        term, features = function.only, function.features
        frequencies, phases = (features.frequencies, features.phases) if features else (np.empty((0, 0)), np.empty(0))
        used = term.average
        parts = (term.points, used.points, used.constants, frequencies, phases, used.features)
        return cls(learner.kernel, *map(long, parts))

    def values(self, A: Any, B: Any) -> Any:
        if isinstance(self.kernel, CallableKernel):
            return long(self.kernel.function(A, B))
        terms, (scales, curves) = self.kernel.formula_spec
        A, B = ranked(A, curves), ranked(B, curves)
        return gram(terms, A * long(scales), B * long(scales)) if scales else gram(terms, A, B)

    def scores(self, X: Any) -> Any:
        X = long(X)
        made = self.values(X, self.points) @ self.coefficients.T + self.constants
        if len(self.phases):
            seen = ranked(X, self.kernel.metric.curves)
            made += np.sqrt(long(2) / len(self.phases)) * np.cos(seen @ self.frequencies.T + self.phases) @ self.waves.T
        return made

    def combined(self, factor: float, other: Expansion, other_factor: float) -> Expansion:
        """The weighted sum of two functions, whose random features, if both have some, are the same."""
        mine, theirs = (self, factor), (other, other_factor)
        with_waves = [(f, w) for f, w in (mine, theirs) if len(f.phases)]
        lead = with_waves[0][0] if with_waves else self
        for f, _ in with_waves:
            np.testing.assert_array_equal(f.frequencies, lead.frequencies)
        return Expansion(
            self.kernel,
            np.concatenate([f.points for f, _ in (mine, theirs)]),
            np.hstack([w * f.coefficients for f, w in (mine, theirs)]),
            factor * self.constants + other_factor * other.constants,
            lead.frequencies,
            lead.phases,
            sum((w * f.waves for f, w in with_waves), 0 * lead.waves),
        )

    def squared_norm(self) -> Any:
        """In the space of the kernel, the constant column and the random features."""
        inner = np.einsum("oi,ij,oj", self.coefficients, self.values(self.points, self.points), self.coefficients)
        return inner + ((self.constants / CONSTANT) ** 2).sum() + (self.waves**2).sum()


def distance(one: Expansion, other: Expansion) -> float:
    """The distance between two functions, by the formula; negative where the square of it is (no such space)."""
    squared = one.combined(1.0, other, -1.0).squared_norm()
    return float(np.sign(squared) * np.sqrt(abs(squared)))
