"""Kernels: how similar are two rows?

A plain kernel is a formula of one base quantity of two rows; every kernel but a callable is a weighted sum of products
of plain ones. A plain kernel is described here once: its formula, its names elsewhere, its slope, whether it is
positive semidefinite. Exporters, importers, batch learners and the documents read it; the core has the formula once
more, and the tests hold the two against each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel.parts._part import Part, Spec, number
from onkel.parts.metric import Metric, Quantiles, checked_ranks, curve_of
from onkel.utils.validation import check_choice, check_number

__all__ = [
    "AT_ZERO",
    "COMBINATIONS",
    "KERNELS",
    "LIBSVM_KERNELS",
    "POOL",
    "RBF",
    "CallableKernel",
    "Hedge",
    "Kernel",
    "KernelProduct",
    "KernelSum",
    "Laplacian",
    "Linear",
    "PlainKernel",
    "Polynomial",
    "Sigmoid",
    "kernel_named",
]

Array = NDArray[Any]  # of any floating type
Value = TypeVar("Value")


class Base(Enum):
    """What a pair of rows is reduced to before a kernel's formula: a sum over the features."""

    SQUARED_DISTANCE = "|x - x'|^2"
    DOT = "x . x'"
    MANHATTAN = "|x - x'|_1"

    def between(self, X: Any, S: Any) -> NDArray[np.float64]:
        """Return the quantity of each row of ``X`` (dense or sparse) with each of ``S``."""
        from sklearn.metrics import pairwise

        if self is Base.SQUARED_DISTANCE:
            return np.asarray(pairwise.euclidean_distances(X, S, squared=True))
        return np.asarray((pairwise.linear_kernel if self is Base.DOT else pairwise.manhattan_distances)(X, S))

    def share(self, x: Any, s: Any) -> Any:
        """Return what one feature adds to the quantity, where it is x in one row and s in the other."""
        if self is Base.SQUARED_DISTANCE:
            return (x - s) ** 2
        return x * s if self is Base.DOT else abs(x - s)

    @property
    def power(self) -> int:
        """The p of a feature's share where both rows' feature is multiplied by a factor: it grows by factor^p."""
        return 1 if self is Base.MANHATTAN else 2


class Mathematics(Protocol[Value]):
    """What formulas are written in, so that arrays, C and ONNX take them from one place.

    A value is an array, an expression, the name of a node.
    """

    def affine(self, factor: float, value: Value, offset: float = 0.0) -> Value:
        """``factor * value + offset``."""

    def exp(self, value: Value) -> Value:
        """The exponential function."""

    def tanh(self, value: Value) -> Value:
        """The hyperbolic tangent."""

    def power(self, value: Value, exponent: int) -> Value:
        """``value^exponent``."""

    def times(self, value: Value, other: Value) -> Value:
        """``value * other``."""

    def total(self, values: Sequence[Value]) -> Value:
        """The sum of one or more values."""


class Arrays:
    """Formulas on NumPy's arrays, of any floating type."""

    def affine(self, factor: float, value: Array, offset: float = 0.0) -> Array:
        """``factor * value + offset``."""
        return factor * value + offset if offset else factor * value

    def exp(self, value: Array) -> Array:
        """The exponential function."""
        return np.exp(value)

    def tanh(self, value: Array) -> Array:
        """The hyperbolic tangent."""
        return np.tanh(value)

    def power(self, value: Array, exponent: int) -> Array:
        """``value^exponent``."""
        return value**exponent

    def times(self, value: Array, other: Array) -> Array:
        """``value * other``."""
        return value * other

    def total(self, values: Sequence[Array]) -> Array:
        """The sum of one or more values."""
        return sum(values[1:], start=values[0])


ARRAYS = Arrays()


@dataclass(frozen=True)
class Kernel(Part):
    """How similar two rows are. Kernels can be added, multiplied and weighted: ``RBF(0.1) + 0.5 * RBF(1) * Linear()``.

    Examples
    --------
    >>> from onkel.parts import RBF, Laplacian, Linear, Sigmoid
    >>> kernel = 0.5 * RBF(1.0) * Linear() + Laplacian(2.0)
    >>> kernel.matrix([[1.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]]).round(4)
    array([[1.5   , 0.5032]])
    >>> kernel.psd, Sigmoid().psd
    (True, False)
    """

    name: ClassVar[str]

    @property
    def spec(self) -> Spec:
        """The kernel as the core takes it."""
        return self.name, *super().spec[1:]

    @property
    def terms(self) -> tuple[Term, ...]:
        """The kernel as a weighted sum of products: a weight and plain factors each."""
        raise ValueError(f"expected plain kernels, their sums and products, got {self!r}")

    @property
    def formula_spec(self) -> Any:
        """One kernel as the core takes it: its terms, and the metric of its rows."""
        return [(weight, [factor.spec for factor in factors]) for weight, factors in self.terms], self.metric

    @property
    def metric(self) -> Metric:
        """What becomes of each feature of a row before anything is computed from it."""
        return Metric()

    def relevances_of(self, n_features: int) -> NDArray[np.float64]:
        """Return what each feature's share of the base quantity is multiplied by."""
        return np.ones(n_features)

    def with_relevances(self, relevances: Sequence[float], known: ArrayLike | None = None) -> Kernel:
        """Return the kernel with these relevances of the features, whose mean becomes part of its width."""
        raise ValueError(f"relevances belong to the kernels rbf and laplacian, and the kernel is {self!r}")

    def with_ranks(self, ranks: Sequence[ArrayLike | None]) -> Kernel:
        """Return the kernel whose features are their numbers plus their ranks among these quantiles."""
        raise ValueError(f"ranks belong to the kernels rbf and laplacian, and the kernel is {self!r}")

    @property
    def bases(self) -> tuple[Base, ...]:
        """The base quantities that it is a formula of."""
        used = {factor.base for _, factors in self.terms for factor in factors}
        return tuple(base for base in Base if base in used)

    @property
    def psd(self) -> bool:
        """Whether every matrix of its values between some rows is positive semidefinite, so that it has a space."""
        return all(factor.psd for _, factors in self.terms for factor in factors)

    def check_psd(self, needed_by: str) -> None:
        """Refuse a kernel that is not positive semidefinite, where something needs it to be."""
        if not self.psd:
            raise ValueError(f"{needed_by} needs a positive semidefinite kernel, and {self!r} is not one")

    def of(self, quantities: Mapping[Base, Value], m: Mathematics[Value]) -> Value:
        """Return the kernel's value, of the base quantities of two rows."""
        summands = []
        for weight, factors in self.terms:
            product = factors[0].value(quantities[factors[0].base], m)
            for factor in factors[1:]:
                product = m.times(product, factor.value(quantities[factor.base], m))
            summands.append(product if weight == 1 else m.affine(weight, product))
        return m.total(summands)

    def matrix(self, X: Any, S: Any) -> NDArray[np.float64]:
        """Return the kernel's values between the rows of ``X`` and those of ``S``, dense or sparse."""
        if not self.metric.is_plain:
            X, S = self.metric.of(X), self.metric.of(S)
        return np.asarray(self.of({base: base.between(X, S) for base in self.bases}, ARRAYS), np.float64)

    def derivative(self, X: Any, S: Any, feature: int) -> NDArray[np.float64]:
        """Return the derivatives of `matrix` by the logarithm of a factor that multiplies a feature of all rows.

        With the factors already applied to dense ``X`` and ``S``, this is ``dk / d log s_j``; for the gaussian kernel
        ``-2 gamma s_j^2 (x_j - x'_j)^2 k``.
        """
        X, S = self.metric.of(X), self.metric.of(S)
        quantities = {base: base.between(X, S) for base in self.bases}
        x, s = np.asarray(X, np.float64)[:, feature, None], np.asarray(S, np.float64)[None, :, feature]
        derivative = np.zeros(next(iter(quantities.values())).shape)
        for weight, factors in self.terms:
            values = [factor.value(quantities[factor.base], ARRAYS) for factor in factors]
            for i, factor in enumerate(factors):
                others = math.prod(values[:i] + values[i + 1 :])
                slope = factor.slope(quantities[factor.base])
                derivative += weight * others * slope * factor.base.power * factor.base.share(x, s)
        return derivative

    def __add__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        return _sum(self.terms + other.terms)

    def __mul__(self, other: Kernel | float) -> Kernel:
        if isinstance(other, Kernel):
            return _sum(tuple((v * w, f + g) for v, f in self.terms for w, g in other.terms))
        return _sum(tuple((weight * other, factors) for weight, factors in self.terms))

    __rmul__ = __mul__


class Elsewhere(NamedTuple):
    """What other programs call a kernel."""

    libsvm: str  # in model files
    libsvm_number: int  # svm-train's -t
    onnx: str  # kernel_type of SVMClassifier and SVMRegressor


@dataclass(frozen=True)
class PlainKernel(Kernel):
    """A formula of one base quantity."""

    base: ClassVar[Base]
    formula: ClassVar[str]
    elsewhere: ClassVar[Elsewhere | None] = None

    @property
    def terms(self) -> tuple[Term, ...]:
        """Itself."""
        return ((1.0, (self,)),)

    @property
    def psd(self) -> bool:
        """Whether every matrix of its values between some rows is positive semidefinite."""
        raise NotImplementedError

    def value(self, q: Value, m: Mathematics[Value]) -> Value:
        """The formula, of the base quantity."""
        raise NotImplementedError

    def slope(self, q: Array) -> Array:
        """The derivative of the formula by the base quantity, on arrays."""
        raise NotImplementedError


Term = tuple[float, tuple[PlainKernel, ...]]


@dataclass(frozen=True, repr=False)
class ExponentialKernel(PlainKernel):
    """``exp(-gamma q)``, of a distance ``q`` to which each feature adds its share times its relevance."""

    psd = True
    gamma: float = number(1.0, above=0)
    relevances: tuple[float, ...] = ()  # one a feature; those beyond the last have 1
    ranks: tuple[Quantiles, ...] = ()  # of each feature; without some, and beyond the last, it is its number alone

    def __post_init__(self) -> None:
        check_number("gamma", self.gamma, above=0)
        object.__setattr__(self, "relevances", tuple(self.relevances))
        for relevance in self.relevances:
            check_number("a relevance", relevance, at_least=0)
        object.__setattr__(self, "ranks", checked_ranks(self.ranks))

    def __repr__(self) -> str:
        shown = [f"{relevance:.4g}" for relevance in self.relevances[:8]] + ["..."] * (len(self.relevances) > 8)
        relevances = f", relevances=({', '.join(shown)})" if shown else ""
        ranked = sum(map(bool, self.ranks))
        ranks = f", ranks=<of {ranked} features>" if ranked else ""
        return f"{type(self).__name__}(gamma={self.gamma!r}{relevances}{ranks})"

    @property
    def spec(self) -> Spec:
        """The kernel as the core takes it."""
        return self.name, {"gamma": float(self.gamma)}, {}

    @property
    def metric(self) -> Metric:
        """Ranks, and scales: a feature's share grows by the power of the base quantity."""
        root = 1 / self.base.power
        scales = tuple(float(relevance**root) for relevance in self.relevances)
        return Metric(scales, tuple(curve_of(quantiles) for quantiles in self.ranks))

    def relevances_of(self, n_features: int) -> NDArray[np.float64]:
        """Return what each feature's share of the distance is multiplied by."""
        factors = np.ones(n_features)
        factors[: len(self.relevances)] = self.relevances[:n_features]
        return factors

    def with_relevances(self, relevances: Sequence[float], known: ArrayLike | None = None) -> Kernel:
        """Return the kernel with these relevances of the features, whose mean becomes part of its width.

        Features of which nothing is known, since no row had them, have 1, like those beyond the last.

        Examples
        --------
        >>> from onkel.parts import RBF
        >>> RBF(0.5).with_relevances([1.0, 3.0])
        RBF(gamma=1.0, relevances=(0.5, 1.5))
        >>> RBF(0.5).with_relevances([1.0, 3.0, 9.0], known=[True, True, False])
        RBF(gamma=1.0, relevances=(0.5, 1.5, 1))
        """
        given = np.asarray(relevances, np.float64)
        if given.ndim != 1 or not len(given) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
            raise ValueError("relevances must be numbers of at least 0, one per feature, and not all of them 0")
        there = np.ones(len(given), bool) if known is None else np.asarray(known, bool)
        there = there if given[there].any() else given > 0
        mean = float(given[there].mean())
        result = np.where(there, given / mean, 1.0)
        return replace(self, gamma=self.gamma * mean, relevances=tuple(result.tolist()))

    def with_ranks(self, ranks: Sequence[ArrayLike | None]) -> Kernel:
        """Return the kernel whose features are their numbers plus their ranks among these quantiles.

        Examples
        --------
        >>> from onkel.parts import RBF
        >>> kernel = RBF(1.0).with_ranks([[0.0, 1.0, 2.0]])
        >>> kernel
        RBF(gamma=1.0, ranks=<of 1 features>)
        >>> kernel.metric.curves[0]([0.0, 1.0, 2.0, 100.0]).round(1).tolist()
        [0.0, 2.0, 4.0, 6.0]
        """
        return replace(self, ranks=checked_ranks(ranks))

    def value(self, q: Value, m: Mathematics[Value]) -> Value:
        """The formula, of the base quantity."""
        return m.exp(m.affine(-self.gamma, q))

    def slope(self, q: Array) -> Array:
        """The derivative of the formula by the base quantity."""
        return -self.gamma * self.value(q, ARRAYS)


@dataclass(frozen=True, repr=False)
class RBF(ExponentialKernel):
    """``exp(-gamma |x - x'|^2)``, the gaussian kernel; with relevances r ``exp(-gamma sum_j r_j (x_j - x'_j)^2)``."""

    name = "rbf"
    base = Base.SQUARED_DISTANCE
    formula = "exp(-gamma |x - x'|^2)"
    elsewhere = Elsewhere("rbf", 2, "RBF")


@dataclass(frozen=True, repr=False)
class Laplacian(ExponentialKernel):
    """``exp(-gamma |x - x'|_1)``; with relevances r ``exp(-gamma sum_j r_j |x_j - x'_j|)``."""

    name = "laplacian"
    base = Base.MANHATTAN
    formula = "exp(-gamma |x - x'|_1)"


@dataclass(frozen=True)
class Linear(PlainKernel):
    """The dot product, ``x·x'``."""

    name = "linear"
    base = Base.DOT
    formula = "x·x'"
    elsewhere = Elsewhere("linear", 0, "LINEAR")
    psd = True

    def value(self, q: Value, m: Mathematics[Value]) -> Value:
        """The formula, of the base quantity."""
        return q

    def slope(self, q: Array) -> Array:
        """The derivative of the formula by the base quantity."""
        return np.ones_like(q)


@dataclass(frozen=True)
class Polynomial(PlainKernel):
    """``(gamma x·x' + coef0)^degree``."""

    name = "poly"
    base = Base.DOT
    formula = "(gamma x·x' + coef0)^degree"
    elsewhere = Elsewhere("polynomial", 1, "POLY")
    gamma: float = number(1.0, above=0)
    coef0: float = number(0.0)
    degree: int = number(3, at_least=1, at_most=100, integer=True)

    @property
    def psd(self) -> bool:
        """Whether no coefficient of the polynomial is negative."""
        return self.coef0 >= 0

    def value(self, q: Value, m: Mathematics[Value]) -> Value:
        """The formula, of the base quantity."""
        return m.power(m.affine(self.gamma, q, self.coef0), self.degree)

    def slope(self, q: Array) -> Array:
        """The derivative of the formula by the base quantity."""
        return self.gamma * self.degree * (self.gamma * q + self.coef0) ** (self.degree - 1)


@dataclass(frozen=True)
class Sigmoid(PlainKernel):
    """``tanh(gamma x·x' + coef0)``, which is not positive semidefinite."""

    name = "sigmoid"
    base = Base.DOT
    formula = "tanh(gamma x·x' + coef0)"
    elsewhere = Elsewhere("sigmoid", 3, "SIGMOID")
    psd = False
    gamma: float = number(1.0, above=0)
    coef0: float = number(0.0)

    def value(self, q: Value, m: Mathematics[Value]) -> Value:
        """The formula, of the base quantity."""
        return m.tanh(m.affine(self.gamma, q, self.coef0))

    def slope(self, q: Array) -> Array:
        """The derivative of the formula by the base quantity."""
        return self.gamma * (1 - self.value(q, ARRAYS) ** 2)


@dataclass(frozen=True)
class KernelProduct(Kernel):
    """A product of plain kernels, as ``*`` makes it.

    Examples
    --------
    >>> from onkel.parts import RBF, Polynomial
    >>> RBF(0.1) * Polynomial(degree=2)
    KernelProduct(factors=(RBF(gamma=0.1), Polynomial(gamma=1.0, coef0=0.0, degree=2)))
    """

    name = "product"
    factors: tuple[PlainKernel, ...]

    def __post_init__(self) -> None:
        for factor in self.factors:
            if not isinstance(factor, PlainKernel):
                raise ValueError(f"a product of kernels must be made of plain kernels, got {factor!r}")
            _check_isotropic("a product of kernels", factor)
        if len(self.factors) < 2:
            raise ValueError(f"a product of kernels must have at least two factors, got {len(self.factors)}")

    @property
    def terms(self) -> tuple[Term, ...]:
        """The product."""
        return ((1.0, self.factors),)


@dataclass(frozen=True)
class KernelSum(Kernel):
    """A weighted sum of plain kernels and of products: each base quantity is computed once a pair, whatever the terms.

    Examples
    --------
    >>> from onkel.parts import RBF, Polynomial
    >>> (RBF(0.5) + 0.1 * Polynomial(degree=2)).summands
    ((1.0, RBF(gamma=0.5)), (0.1, Polynomial(gamma=1.0, coef0=0.0, degree=2)))
    """

    name = "sum"
    summands: tuple[tuple[float, Kernel], ...]

    def __post_init__(self) -> None:
        for weight, kernel in self.summands:
            check_number("the weight of a kernel", weight, above=0)
            if not isinstance(kernel, PlainKernel | KernelProduct):
                raise ValueError(f"a sum of kernels must be made of plain kernels and their products, got {kernel!r}")
            _check_isotropic("a sum of kernels", kernel)
        if not self.summands:
            raise ValueError("a sum of kernels must have at least one term")

    @property
    def terms(self) -> tuple[Term, ...]:
        """The weighted products."""
        return tuple((weight, kernel.terms[0][1]) for weight, kernel in self.summands)


def _check_isotropic(what: str, kernel: Kernel) -> None:
    if not kernel.metric.is_plain:
        raise ValueError(f"{what} has no relevances of its own and no ranks, and it holds {kernel!r}")


def _sum(terms: Sequence[Term]) -> Kernel:
    """The kernel of these terms, in its simplest form."""
    summands = tuple((weight, f[0] if len(f) == 1 else KernelProduct(f)) for weight, f in terms)
    return summands[0][1] if len(summands) == 1 and summands[0][0] == 1 else KernelSum(summands)


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A kernel of your own, called as ``function(x[None], S)`` for each row with the support vectors ``S``.

    Examples
    --------
    >>> import onkel
    >>> model = onkel.OGDClassifier(kernel=lambda x, S: (x @ S.T + 1) ** 2, shuffle=False)
    >>> model.fit([[0.0], [2.0]], [0, 1]).n_support_
    2
    """

    name = "callable"
    function: Callable[[Any, Any], Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise ValueError(f"kernel must be callable, got {self.function!r}")

    @property
    def formula_spec(self) -> Any:
        """The function itself."""
        return self.function

    @property
    def psd(self) -> bool:
        """Assumed to be: it cannot be checked."""
        return True

    def matrix(self, X: Any, S: Any) -> NDArray[np.float64]:
        """Return what the function makes of the rows."""
        return np.asarray(self.function(X, S), np.float64)


# The multi-kernel papers' pool: homogeneous polynomials, and gaussians exp(-|x - x'|^2 / (2 sigma^2)) with
# sigma = 2^-6 .. 2^6.
POOL: tuple[Kernel, ...] = (
    *(Polynomial(degree=degree) for degree in (1, 2, 3)),
    *(RBF(gamma=2.0 ** (-2 * power - 1)) for power in range(-6, 7)),
)
COMBINATIONS = ("uniform", "deterministic", "stochastic", "spa", "sum")
AT_ZERO = ("mistake", "vote")


@dataclass(frozen=True)
class Hedge(Kernel):
    """Several kernels at once, a function each: they vote, weighted by what they got right (SPA paper, section 4), or
    add up.

    Parameters
    ----------
    kernels : tuple of Kernel
    combination : {"uniform", "deterministic", "stochastic", "spa", "sum"}
        What learns from a row. "uniform" (U in the paper) and "deterministic" (DD): every kernel; with "uniform" the
        weights stay equal. "stochastic" (SD): kernel i with probability ``p_i = (1 - δ) θ_i / max θ + δ``, and only
        then its weight changes, too. "spa" (BOMKC): every kernel sees every row, and admits it with ``p_i`` times its
        recipe's own probability. "sum": every kernel; the prediction is ``Σ θ_i f_i``, and θ moves along the
        gradient of the loss of that sum (exponentiated gradient).
    discount : float
        γ in the paper: what a mistake multiplies a kernel's weight θ by.
    smoothing : float
        δ in the paper: the least probability that a kernel learns from a row.
    share : float, default=None
        α of the fixed share (Herbster and Warmuth 1998): after each row so much of all weight is divided evenly, so
        that a kernel that was bad for long can become the best soon. None is 0, and 1e-4 with "sum".
    numbers : tuple of int, default=()
        The kernels' numbers, which their random draws depend on; by default 0, 1, 2, ...
    start : int, default=0
        Of a sum: so many rows, the first, do not move the weights.
    at_zero : {"mistake", "vote"}, default="mistake"
        Of two classes, what a score of exactly 0 is, such as that of a kernel too narrow to reach any point. A mistake:
        it says nothing, and costs weight. Or a vote for the first class, which never costs weight, as the paper's text
        has it.

    Examples
    --------
    >>> from onkel.parts import RBF, Hedge, Linear
    >>> Hedge((Linear(), RBF(0.5))).numbers
    (0, 1)
    """

    name = "several kernels"
    kernels: tuple[Kernel, ...]
    combination: str = "deterministic"
    discount: float = 0.99
    smoothing: float = 0.001
    numbers: tuple[int, ...] = ()
    start: int = 0
    share: float | None = None
    at_zero: str = "mistake"

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        for kernel in self.kernels:
            if not isinstance(kernel, Kernel) or isinstance(kernel, Hedge):  # type: ignore[redundant-expr]
                raise ValueError(f"kernels must be kernels, for example onkel.parts.RBF(0.5), got {kernel!r}")
        if not 1 <= len(self.kernels) <= 4096:
            raise ValueError(f"kernels must be between 1 and 4096 kernels, got {len(self.kernels)}")
        check_choice("combination", self.combination, COMBINATIONS)
        check_number("discount", self.discount, above=0, at_most=1)
        check_number("smoothing", self.smoothing, above=0, at_most=1)
        if self.share is not None:
            check_number("share", self.share, at_least=0, at_most=1)
        check_number("start", self.start, at_least=0, at_most=2**52, integer=True)
        check_choice("at_zero", self.at_zero, AT_ZERO)
        object.__setattr__(self, "numbers", tuple(self.numbers) or tuple(range(len(self.kernels))))
        for each in self.numbers:
            check_number("the number of a kernel", each, at_least=0, below=2**24, integer=True)
        if len(set(self.numbers)) != len(self.kernels):
            raise ValueError(f"numbers must be one for each of the {len(self.kernels)} kernels, all different")

    @property
    def psd(self) -> bool:
        """Whether every kernel is."""
        return all(kernel.psd for kernel in self.kernels)

    @property
    def hedge(self) -> Spec:
        """How the kernels are combined, as the core takes it."""
        share = self.share if self.share is not None else 1e-4 if self.adds_up else 0.0
        numbers = {"discount": self.discount, "smoothing": self.smoothing, "start": self.start, "share": share}
        numbers["zero_votes"] = self.at_zero == "vote"
        return self.combination, {name: float(number) for name, number in numbers.items()}, {}

    @property
    def adds_up(self) -> bool:
        """Whether the prediction is the weighted sum of the functions, rather than a vote."""
        return self.combination == "sum"

    @property
    def shares_budget(self) -> bool:
        """Whether there is one budget for all kernels, rather than an equal part of it for each."""
        return self.combination in ("stochastic", "spa")

    def only(self, chosen: Sequence[int]) -> Hedge:
        """Return the hedge over some of the kernels, which keep their numbers."""
        kernels, numbers = zip(*((self.kernels[i], self.numbers[i]) for i in chosen), strict=True)
        return replace(self, kernels=kernels, numbers=numbers)


def _concrete(kernel: type[PlainKernel]) -> list[type[PlainKernel]]:
    heirs = kernel.__subclasses__()
    return [each for heir in heirs for each in _concrete(heir)] if heirs else [kernel]


# The plain kernels by their names, which are scikit-learn's.
KERNELS: dict[str, type[PlainKernel]] = {kernel.name: kernel for kernel in _concrete(PlainKernel)}
# Those that LIBSVM has, by its names and in its order.
LIBSVM_KERNELS: dict[str, type[PlainKernel]] = {
    names.libsvm: kernel
    for names, kernel in sorted(
        ((kernel.elsewhere, kernel) for kernel in KERNELS.values() if kernel.elsewhere is not None),
        key=lambda pair: pair[0].libsvm_number,
    )
}


def kernel_named(name: str | Kernel | Callable[[Any, Any], Any], **numbers: float) -> Kernel:
    """Make a kernel from its scikit-learn name (or a callable), taking of ``numbers`` the ones it has.

    Examples
    --------
    >>> from onkel.parts import kernel_named
    >>> kernel_named("rbf", gamma=0.5)
    RBF(gamma=0.5)
    """
    if isinstance(name, Kernel):
        return name
    if callable(name):
        return CallableKernel(name)
    given: object = name
    if not (isinstance(given, str) and given in KERNELS):
        raise ValueError(
            f"kernel must be one of {', '.join(map(repr, KERNELS))}, a kernel of onkel.parts such as RBF(0.5), a "
            f"function of two matrices of rows or, of an estimator, 'stream'; got {name!r}"
        )
    kind = KERNELS[given]
    return kind(**{f.name: numbers[f.name] for f in fields(kind) if f.name in numbers})
