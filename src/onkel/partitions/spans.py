"""The span of points that all partitions share, and sums over rows at a function in it (docs/scale.md).

A function is a matrix of coordinates, one row per output, in the orthonormal basis of the span that
:class:`onkel.function.Information` uses: the constant first, then the points in order.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onkel import _core
from onkel.learner import Learner, core_rows
from onkel.partitions.agreement import RowEncoding
from onkel.partitions.routes import ROOT, Routes, taken
from onkel.partitions.sources import Partition

Floats = NDArray[np.float64]

MAX_NUMBERS = 2**24  # of the factors of the spans that are kept
_kept: dict[str, tuple[int, _core.Span]] = {}  # the spans that this process used last with their sizes, by digest


@dataclass(frozen=True)
class Subspace:
    """Points with the kernel, loss and prior of a learner; small enough to be sent to every worker."""

    learner: Learner  # has the kernel, the loss and the prior; it has not learned from any row
    points: Any  # an array or a CSR matrix

    @cached_property
    def digest(self) -> str:
        """A digest that identifies the points, the kernel and the constant."""
        digest = hashlib.sha256(repr((self.learner.kernel, self.learner.fit_intercept, self.points.shape)).encode())
        for part in (
            (self.points.data, self.points.indices, self.points.indptr) if issparse(self.points) else [self.points]
        ):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    @property
    def core(self) -> _core.Span:
        """The object of the core, which a process keeps as long as it uses few others."""
        _, span = _kept.pop(self.digest, (0, None))
        if span is None:
            rows, width = self.as_rows(self.points), int(self.points.shape[1])
            span = _core.Span(self.learner.kernel.formula_spec, rows, width, self.learner.fit_intercept)
        _kept[self.digest] = self.size, span
        while len(_kept) > 2 and sum(size**2 for size, _ in list(_kept.values())) > MAX_NUMBERS:
            _kept.pop(next(iter(_kept)), None)
        return span

    def as_rows(self, X: object) -> Any:
        """Return rows in the form that the core takes."""
        return core_rows(X, self.learner.dtype, issparse(self.points))

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return int(self.points.shape[0]) + bool(self.learner.fit_intercept)

    def coefficients(self, coordinates: Floats) -> Floats:
        """Return the coefficients of the columns of a function with these coordinates."""
        solved: Floats = self.core.solve(np.ascontiguousarray(coordinates), True)
        return solved

    def gradient(self, slopes: Floats) -> Floats:
        """Return slopes in coordinates, from slopes that were summed in coefficients."""
        solved: Floats = self.core.solve(np.ascontiguousarray(slopes), False)
        return solved


@dataclass(frozen=True)
class Sums:
    """Sums over rows at one function."""

    loss: float
    squares: float  # the sum of the squared largest slope of each row
    rows: int
    slopes: Floats  # (n_outputs, n_coordinates)
    half: Floats  # the lower half of the information, row by row; empty where it was not asked for

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.loss + other.loss,
            self.squares + other.squares,
            self.rows + other.rows,
            self.slopes + other.slopes,
            self.half + other.half,
        )


@dataclass(frozen=True)
class Question:
    """What every partition is asked in a round.

    With ``informed`` the function is given by its coordinates and the information is summed; without, by its
    coefficients, at a small fraction of the cost.
    """

    subspace: Subspace
    function: Floats
    informed: bool
    region: int = ROOT  # whose rows are summed over

    def start(self) -> _core.RowSums:
        """Return empty sums."""
        learner = self.subspace.learner
        function = np.ascontiguousarray(self.function)
        return _core.RowSums(self.subspace.core, learner.recipe.loss.spec, learner.task, function, self.informed)

    def of_rows(self, X: object, y: Floats, weight: Floats | None) -> Sums:
        """Return the sums of some rows."""
        sums = self.start()
        sums.add(self.subspace.as_rows(X), y, weight)
        return Sums(*sums.result())


@dataclass(frozen=True)
class Questions:
    """The questions of all terms that have one, which one pass answers."""

    terms: dict[int, Question]
    encoding: RowEncoding
    routes: Routes


def row_sums(number: int, partition: Partition, questions: Questions) -> dict[int, Sums]:
    """Return the sums of a partition, read as a stream, for each term that asks."""
    sums = {term: question.start() for term, question in questions.terms.items()}
    for chunk in partition.chunks():
        X, y, weight = questions.encoding.encode(chunk)
        places = questions.routes.of(X)
        for term, question in questions.terms.items():
            own = places[question.region]
            sums[term].add(question.subspace.as_rows(taken(X, own)), taken(y, own), taken(weight, own))
    return {term: Sums(*each.result()) for term, each in sums.items()}


def sums_of_both(left: dict[int, Sums], right: dict[int, Sums]) -> dict[int, Sums]:
    """Return the sums of two partitions' rows for each term."""
    return {term: left[term] + right[term] for term in left}


def square(half: Floats, n: int) -> Floats:
    """Return the symmetric matrix with this lower half."""
    matrix = np.zeros((n, n))
    lower = np.tril_indices(n)
    matrix[lower] = half
    matrix[lower[::-1]] = half
    return matrix
