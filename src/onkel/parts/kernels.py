"""Kernels: how alike are two rows?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from onkel.parts._part import Part, Spec, number
from onkel.utils.validation import check_choice, check_number


@dataclass(frozen=True)
class Kernel(Part):
    """How alike two rows are. Kernels add up and take positive weights: ``RBF(0.1) + 0.5 * RBF(1.0)``."""

    name: ClassVar[str]

    @property
    def spec(self) -> Spec:
        """The kernel as the core takes it."""
        return self.name, *super().spec[1:]

    @property
    def terms(self) -> tuple[tuple[float, Kernel], ...]:
        """The kernels that this one is a weighted sum of."""
        return ((1.0, self),)

    @property
    def alone(self) -> Any:
        """One kernel as the core takes it: its terms."""
        return [(weight, kernel.spec) for weight, kernel in self.terms]

    def __add__(self, other: Kernel) -> Kernel:
        return KernelSum(self.terms + other.terms)

    def __rmul__(self, weight: float) -> Kernel:
        return KernelSum(tuple((weight * w, kernel) for w, kernel in self.terms))


@dataclass(frozen=True)
class RBF(Kernel):
    """``exp(-gamma |x - x'|^2)``, the gaussian kernel."""

    name = "rbf"
    gamma: float = number(1.0, above=0)


@dataclass(frozen=True)
class Laplacian(Kernel):
    """``exp(-gamma |x - x'|_1)``."""

    name = "laplacian"
    gamma: float = number(1.0, above=0)


@dataclass(frozen=True)
class Linear(Kernel):
    """``x . x'``."""

    name = "linear"


@dataclass(frozen=True)
class Polynomial(Kernel):
    """``(gamma x . x' + coef0)^degree``."""

    name = "poly"
    gamma: float = number(1.0, above=0)
    coef0: float = number(0.0)
    degree: int = number(3, at_least=1, at_most=100, integer=True)


@dataclass(frozen=True)
class Sigmoid(Kernel):
    """``tanh(gamma x . x' + coef0)``."""

    name = "sigmoid"
    gamma: float = number(1.0, above=0)
    coef0: float = number(0.0)


@dataclass(frozen=True)
class KernelSum(Kernel):
    """A weighted sum of kernels: one distance and one dot product a pair, however many terms.

    Examples
    --------
    >>> from onkel.parts import RBF, Polynomial
    >>> (RBF(0.5) + 0.1 * Polynomial(degree=2)).terms
    ((1.0, RBF(gamma=0.5)), (0.1, Polynomial(gamma=1.0, coef0=0.0, degree=2)))
    """

    name = "sum"
    summands: tuple[tuple[float, Kernel], ...]

    def __post_init__(self) -> None:
        for weight, kernel in self.summands:
            check_number("the weight of a kernel", weight, above=0)
            if not isinstance(kernel, Kernel) or isinstance(kernel, KernelSum | CallableKernel | Hedge):
                raise ValueError(f"a sum of kernels must be made of plain kernels, got {kernel!r}")
        if not self.summands:
            raise ValueError("a sum of kernels must have at least one term")

    @property
    def terms(self) -> tuple[tuple[float, Kernel], ...]:
        """The weighted kernels."""
        return self.summands


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
    def alone(self) -> Any:
        """The function itself."""
        return self.function


COMBINATIONS = ("uniform", "deterministic", "stochastic", "spa")


@dataclass(frozen=True)
class Hedge(Kernel):
    """Several kernels at once, a function each: they vote, weighted by what they got right (SPA paper, section 4).

    Parameters
    ----------
    kernels : tuple of Kernel
    combination : {"uniform", "deterministic", "stochastic", "spa"}
        Who learns from a row. "uniform" (U in the paper) and "deterministic" (DD): every kernel; with "uniform" the
        weights stay equal. "stochastic" (SD): kernel i with probability ``p_i = (1 - δ) θ_i / max θ + δ``, and only
        then its weight changes, too. "spa" (BOMKC): every kernel sees every row, and admits it with ``p_i`` times its
        recipe's own probability.
    discount : float
        γ in the paper: what a mistake multiplies a kernel's weight θ by.
    smoothing : float
        δ in the paper: the least probability that a kernel learns from a row.
    streams : tuple of int, default=()
        The kernels' numbers, which their random draws depend on; by default 0, 1, 2, ...

    Examples
    --------
    >>> from onkel.parts import RBF, Hedge, Linear
    >>> Hedge((Linear(), RBF(0.5))).streams
    (0, 1)
    """

    name = "several kernels"
    kernels: tuple[Kernel, ...]
    combination: str = "deterministic"
    discount: float = 0.99
    smoothing: float = 0.001
    streams: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernels", tuple(self.kernels))
        for kernel in self.kernels:
            if not isinstance(kernel, Kernel) or isinstance(kernel, Hedge):
                raise ValueError(f"kernels must be kernels, for example onkel.parts.RBF(0.5), got {kernel!r}")
        if not 1 <= len(self.kernels) <= 4096:
            raise ValueError(f"kernels must be between 1 and 4096 kernels, got {len(self.kernels)}")
        check_choice("combination", self.combination, COMBINATIONS)
        check_number("discount", self.discount, above=0, at_most=1)
        check_number("smoothing", self.smoothing, above=0, at_most=1)
        object.__setattr__(self, "streams", tuple(self.streams) or tuple(range(len(self.kernels))))
        for stream in self.streams:
            check_number("the number of a kernel", stream, at_least=0, below=2**24, integer=True)
        if len(set(self.streams)) != len(self.kernels):
            raise ValueError(f"streams must be one number for each of the {len(self.kernels)} kernels, all different")

    @property
    def hedge(self) -> Spec:
        """How the kernels are combined, as the core takes it."""
        return self.combination, {"discount": float(self.discount), "smoothing": float(self.smoothing)}, {}

    @property
    def shares_budget(self) -> bool:
        """Whether there is one budget for all kernels, rather than an equal part of it for each."""
        return self.combination in ("stochastic", "spa")

    def only(self, chosen: Sequence[int]) -> Hedge:
        """Return the hedge over some of the kernels, which keep their numbers."""
        kernels, streams = zip(*((self.kernels[i], self.streams[i]) for i in chosen), strict=True)
        return replace(self, kernels=kernels, streams=streams)


KERNELS: dict[str, type[Kernel]] = {kernel.name: kernel for kernel in (RBF, Laplacian, Linear, Polynomial, Sigmoid)}


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
    check_choice("kernel", name, KERNELS)
    made = KERNELS[name]
    return made(**{f.name: numbers[f.name] for f in fields(made) if f.name in numbers})
