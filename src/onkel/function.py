"""Expansion: a fitted function as one value, whatever learner made it.

``f_o(x) = sum over terms: weight * (sum_i coefficients[o, i] k(points[i], x) + constants[o] + random features)``, or a
vote or a mean of the terms where several kernels are combined. Everything that takes a function takes this value:
setting a learner, compressing, merging, importing, exporting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from onkel import _core
from onkel.parts import Kernel
from onkel.parts.metric import Metric
from onkel.regions import Region, regions_of

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Coefficients:
    """What one function multiplies its columns by, one row per output."""

    points: Floats  # (n_outputs, n_points)
    constants: Floats  # (n_outputs,)
    features: Floats  # (n_outputs, n_random_features)

    def __rmul__(self, factor: float) -> Coefficients:
        return Coefficients(factor * self.points, factor * self.constants, factor * self.features)

    def with_features(self, n: int) -> Coefficients:
        """Return these with so many random features, whose coefficients are 0 where there were none."""
        return self if self.features.shape[1] == n else replace(self, features=np.zeros((len(self.constants), n)))

    def placed(self, places: NDArray[np.intp], n: int) -> Coefficients:
        """Return those of n points, of which these are at these places, and the others have 0."""
        points = np.zeros((len(self.constants), n))
        points[:, places] = self.points
        return replace(self, points=points)

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
    points: Any  # (n_points, n_features): an array, or CSR
    births: NDArray[np.int64]  # (n_points,): positions in the stream
    ghosts: NDArray[np.bool_]  # (n_points,): points that left the last function, and that the average still has
    last: Coefficients  # of the last function
    average: Coefficients  # of the average of all functions so far; the last again where none is kept
    weight: float = 1.0
    region: int = 0  # the number of the region whose rows it is a term of
    expert: int = 0  # its own number among the experts

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

    @property
    def importances(self) -> Floats:
        """How much each feature counts, without its unit: its relevance times the spread of the points in it, with
        their ranks where it has some, to the power that the kernel's distance has; the largest is 1."""
        seen = Metric(curves=self.kernel.metric.curves).of(self.dense_points())
        spread = seen.std(axis=0) if len(self) else np.zeros(self.n_features)
        counts = self.relevances * spread ** self.kernel.bases[0].power
        return np.asarray(counts / counts.max()) if counts.any() else counts

    def chosen(self, index: NDArray[np.intp]) -> Term:
        """Return the term of some of its points, in this order."""
        return replace(
            self,
            points=self.points[index],
            births=self.births[index],
            ghosts=self.ghosts[index],
            last=replace(self.last, points=self.last.points[:, index]),
            average=replace(self.average, points=self.average.points[:, index]),
        )

    def dense_points(self) -> Floats:
        """Return the points as an array of float64."""
        return np.asarray(self.points.toarray() if self.is_sparse else self.points, np.float64)


@dataclass(frozen=True)
class Information:
    """What a second-order learner knows beside its function: the precision of the function is ``lam I + matrix``.

    In the orthonormal coordinates of the span of points, in the order in which they joined, the constant term (where
    there is one) first. It is additive: learners on the same points add theirs, the prior counts once.
    """

    births: NDArray[np.int64]  # of the points, in the order of joining
    matrix: Floats  # (n, n), the sum of v z z' over the rows
    lam: float
    noise: float  # sum of the squared residuals, each over its own variance
    steps: int  # rows that it is the sum over
    # What is expected of the residuals of a regression, as the core has it; empty where nothing is but their noise.
    deviation: Floats = field(default_factory=lambda: np.empty(0))

    def __rmul__(self, factor: float) -> Information:
        scaled = factor * self.matrix, factor * self.noise, round(factor * self.steps)
        return replace(self, matrix=scaled[0], noise=scaled[1], steps=scaled[2], deviation=np.empty(0))


@dataclass(frozen=True)
class Expansion:
    """A fitted function: its terms, how they are combined, and what is known of its uncertainty."""

    terms: tuple[Term, ...]
    t: int  # rows that led to it
    combination: str = "sum"  # or the "vote" or "mean" of several kernels, or by "regions"
    features: RandomFeatures | None = field(default=None)
    information: Information | None = field(default=None)
    regions: tuple[Region, ...] = (Region(0),)

    @property
    def leaves(self) -> list[tuple[Region, list[tuple[float, Term]]]]:
        """The leaves, each with the terms of its path and their weights."""
        by_number = {term.expert: term for term in self.terms}
        return [
            (leaf, [(w, by_number[e]) for w, e in zip(leaf.weights.tolist(), leaf.path, strict=True)])
            for leaf in self.regions
            if leaf.is_leaf
        ]

    @property
    def only(self) -> Term:
        """The only term of a function of one kernel."""
        if len(self.terms) != 1:
            raise ValueError(f"expected a function of one kernel, and this one has {len(self.terms)}")
        return self.terms[0]

    @property
    def n_outputs(self) -> int:
        """Number of scores: 1, or one per class."""
        return len(self.terms[0].last.constants)

    @property
    def on_common_points(self) -> Expansion:
        """The same function with all terms on the points of all, in the order of the stream."""
        first = self.terms[0]
        if all(term.points is first.points for term in self.terms):
            return self
        births, index = np.unique(np.concatenate([term.births for term in self.terms]), return_index=True)
        stack: Any = vstack if first.is_sparse else np.concatenate
        points, terms = stack([term.points for term in self.terms])[index], []
        for term in self.terms:
            place = np.searchsorted(births, term.births)
            ghosts = np.ones(len(births), bool)
            ghosts[place] = term.ghosts
            last, average = (own.placed(place, len(births)) for own in (term.last, term.average))
            terms.append(replace(term, points=points, births=births, ghosts=ghosts, last=last, average=average))
        return replace(self, terms=tuple(terms), information=None)

    @property
    def in_order_of_joining(self) -> Expansion:
        """The points that information is about, as it has them; the others, whose coefficients are 0, are left out."""
        if self.information is None:
            return self
        place = {int(birth): i for i, birth in enumerate(self.only.births)}
        index = np.array([place[int(birth)] for birth in self.information.births], np.intp)
        return replace(self, terms=(self.only.chosen(index),))

    @property
    def predicting(self) -> Expansion:
        """The function that predicts, as last function and as average; ghosts are points of it like all others."""
        terms = (replace(term, last=term.average, ghosts=np.zeros_like(term.ghosts)) for term in self.terms)
        return replace(self, terms=tuple(terms))


def total(functions: Sequence[Expansion], weights: Sequence[float]) -> Expansion:
    """Return the weighted sum of functions of one kernel, as if their rows had come one function after the other."""
    terms = [function.only for function in functions]
    starts = np.cumsum([0] + [function.t for function in functions])
    stack: Any = vstack if terms[0].is_sparse else np.concatenate
    term = Term(
        kernel=terms[0].kernel,
        relevances=terms[0].relevances,
        points=stack([term.points for term in terms]),
        births=np.concatenate([term.births + start for term, start in zip(terms, starts, strict=False)]),
        ghosts=np.concatenate([term.ghosts for term in terms]),
        last=_sum([weight * term.last for weight, term in zip(weights, terms, strict=True)]),
        average=_sum([weight * term.average for weight, term in zip(weights, terms, strict=True)]),
    )
    return replace(functions[0], terms=(term,), t=int(starts[-1]), information=None)


def _sum(parts: Sequence[Coefficients]) -> Coefficients:
    return Coefficients(
        np.hstack([part.points for part in parts]),
        np.sum([part.constants for part in parts], axis=0),
        np.sum([part.features for part in parts], axis=0),
    )


def expansion_of_experts(core: _core.Learner, kernels: dict[int, Kernel], n_features: int, informed: bool) -> Expansion:
    """Return the function of several experts, by whose numbers the kernels are."""
    regions = regions_of(core.regions())
    of_expert = {expert: region.number for region in regions for expert in region.experts}
    terms = []
    for (number, kernel), learned in zip(kernels.items(), core.learned(informed), strict=True):
        own = _expansion(learned, [kernel], "sum", n_features)
        terms.append(replace(own.only, region=of_expert[number], expert=number))
    if len(regions) == 1:
        terms = [replace(term, weight=w) for term, w in zip(terms, regions[0].weights.tolist(), strict=True)]
    return Expansion(tuple(terms), core.t, "mean" if len(regions) == 1 else "regions", regions=regions)


def expansion_of(
    core: _core.Learner, kernels: Sequence[Kernel], combination: str, n_features: int, informed: bool
) -> Expansion:
    """Return the function that a core has learned; ``n_features`` is the width of its rows."""
    function = _expansion(core.learned(informed)[0], kernels, combination, n_features)
    frequencies, phases = core.random_features()
    return replace(function, features=RandomFeatures(frequencies, phases)) if len(phases) else function


def _expansion(learned: Any, kernels: Sequence[Kernel], combination: str, n_features: int) -> Expansion:
    points, last, average, weights, t, known = learned
    rows, births, ghosts = points_of(points, n_features)
    functions = zip(_coefficients(last), _coefficients(average), strict=True)
    terms = tuple(
        Term(
            kernel,
            kernel.relevances_of(n_features),
            rows,
            births,
            ghosts,
            *function,
            1.0 if combination == "sum" else weight,
        )
        for kernel, function, weight in zip(kernels, functions, weights.tolist() or [1.0], strict=True)
    )
    return Expansion(terms, t, combination, None, None if known is None else Information(*known))


def _coefficients(arrays: tuple[Floats, Floats, Floats]) -> list[Coefficients]:
    """Those of each function, whose random features they share."""
    points, constants, features = arrays
    if not constants.size:
        constants = np.zeros(points.shape[:2])
    return [Coefficients(*function, features) for function in zip(points, constants, strict=True)]


def points_of(points: Any, n_features: int) -> tuple[Any, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the points that a core has shown, as an array or CSR, their births, and which of them are ghosts."""
    rows, births, ghosts = points
    if isinstance(rows, tuple):
        rows = csr_array(rows, shape=(len(births), n_features))
    return rows, births.astype(np.int64), ghosts != 0  # of NumPy's own type, which is shown without its name
