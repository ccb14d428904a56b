"""Expansion: a fitted function as one value, whatever learner made it.

``f_o(x) = sum over terms: weight * (sum_i coefficients[o, i] k(points[i], x) + constants[o] + random features)``, or a
vote or a mean of the terms where several kernels are combined. Whoever takes a function takes this: setting a learner,
compressing, merging, importing, exporting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from onkel import _core
from onkel.parts import Kernel

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Coefficients:
    """What one function multiplies its columns by, a row an output."""

    points: Floats  # (n_outputs, n_points)
    constants: Floats  # (n_outputs,)
    features: Floats  # (n_outputs, n_random_features)

    def __rmul__(self, factor: float) -> Coefficients:
        return Coefficients(factor * self.points, factor * self.constants, factor * self.features)

    def with_features(self, n: int) -> Coefficients:
        """Return these with so many random features, whose coefficients are 0 where there were none."""
        return self if self.features.shape[1] == n else replace(self, features=np.zeros((len(self.constants), n)))

    @property
    def core(self) -> tuple[Floats, Floats, Floats]:
        """The arrays as the core takes them."""
        points, constants, features = map(np.ascontiguousarray, (self.points, self.constants, self.features))
        return points, constants, features


@dataclass(frozen=True)
class RandomFeatures:
    """The fixed columns ``sqrt(2 / D) cos(frequencies[i] . x + phases[i])``, i = 1 .. D, which DualSGD keeps."""

    frequencies: Floats  # (D, n_features)
    phases: Floats  # (D,)

    def __len__(self) -> int:
        return len(self.phases)


@dataclass(frozen=True)
class Term:
    """What one kernel has learned."""

    kernel: Kernel
    relevances: Floats  # (n_features,): what the kernel multiplies each feature's share of the distance by
    points: NDArray[Any] | csr_array  # (n_points, n_features)
    births: NDArray[np.int64]  # (n_points,): positions in the stream
    ghosts: NDArray[np.bool_]  # (n_points,): points that left the last function, and that the average still has
    last: Coefficients  # of the last function
    average: Coefficients  # of the average of all functions so far; the last again where none is kept
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.births)

    @property
    def n_features(self) -> int:
        """Number of columns of a row."""
        return int(self.points.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the points are held as CSR."""
        return bool(issparse(self.points))

    def dense_points(self) -> Floats:
        """Return the points as an array of float64."""
        return np.asarray(self.points.toarray() if self.is_sparse else self.points, np.float64)


@dataclass(frozen=True)
class Information:
    """What a second-order learner knows beside its function: the precision of the function is ``lam I + matrix``.

    In the orthonormal coordinates of the span of the term's points, in the order of the points, the constant term
    (where there is one) first. It is additive: learners on the same points add theirs, the prior counts once.
    """

    matrix: Floats  # (n, n), the sum of v z z' over the rows
    lam: float
    noise: float  # sum of the squared residuals, each over its own variance
    steps: int  # rows that it is the sum over


@dataclass(frozen=True)
class Expansion:
    """A fitted function: its terms, how they are combined, and what is known of its uncertainty."""

    terms: tuple[Term, ...]
    t: int  # rows that led to it
    combination: str = "sum"  # or the "vote" or "mean" of several kernels
    features: RandomFeatures | None = field(default=None)
    information: Information | None = field(default=None)

    @property
    def only(self) -> Term:
        """The only term of a function of one kernel."""
        if len(self.terms) != 1:
            raise ValueError(f"expected a function of one kernel, and this one has {len(self.terms)}")
        return self.terms[0]

    @property
    def n_outputs(self) -> int:
        """Number of scores: 1, or one a class."""
        return len(self.terms[0].last.constants)

    @property
    def predicting(self) -> Expansion:
        """The function that predicts, as last function and as average; ghosts are points of it like all others."""
        return replace(
            self,
            terms=tuple(replace(term, last=term.average, ghosts=np.zeros_like(term.ghosts)) for term in self.terms),
        )


def expansion_of(core: _core.Learner, kernels: Sequence[Kernel], combination: str, n_features: int) -> Expansion:
    """Return the function that a core has learned; ``n_features`` is the width of its rows."""
    points, births, ghosts = _points(core.save(), n_features)
    frequencies, phases, _ = core.random_features()
    last, average = (_coefficients(core, len(kernels), len(births), which) for which in (True, False))
    weights = core.weights if combination != "sum" else np.ones(1)
    terms = (
        Term(kernel, np.ones(n_features), points, births, ghosts, last[i], average[i], float(weights[i]))
        for i, kernel in enumerate(kernels)
    )
    features = RandomFeatures(frequencies, phases) if len(phases) else None
    return Expansion(tuple(terms), core.t, combination, features)


def _coefficients(core: _core.Learner, n_kernels: int, n_points: int, last: bool) -> list[Coefficients]:
    shape = n_kernels, core.n_outputs
    points = core.coefficients(last).reshape(*shape, n_points)
    constants = core.constants(last)
    constants = constants.reshape(shape) if len(constants) else np.zeros(shape)
    features = core.random_features(last)[2].reshape(core.n_outputs, -1)
    return [Coefficients(points[i], constants[i], features) for i in range(n_kernels)]


def _points(state: dict[str, NDArray[Any]], n_features: int) -> tuple[Any, NDArray[np.int64], NDArray[np.bool_]]:
    births = state["basis.births"]
    ghosts = state["basis.ghosts"] != 0 if "basis.ghosts" in state else np.zeros(len(births), bool)
    shape = len(births), n_features
    if "basis.values" in state:
        points = csr_array((state["basis.values"], state["basis.features"], state["basis.offsets"]), shape=shape)
    else:
        points = state["basis.points"].reshape(shape)
    there = births >= 0
    return points[there], births[there], ghosts[there]
