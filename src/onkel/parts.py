"""The parts that learners are made of, as a user names them.

A learner answers a few questions, one after the other, for every row; each answer is a part, and any parts that fit
together make a learner (a :class:`Recipe`). The named learners of the literature are the rows of
:mod:`onkel.recipes`. What a part does is written once, in the C++ core; here are its name, its numbers with their
ranges, and what it needs of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar

from onkel._checks import check_choice, check_flag, check_number

Spec = tuple[str, dict[str, float]]


def number(default: Any = MISSING, **limits: Any) -> Any:
    """Declare a dataclass field that holds a number in a range (see ``check_number``)."""
    return field(default=default, metadata=limits)


@dataclass(frozen=True)
class Part:
    """A named choice with its numbers, checked when it is made."""

    def __post_init__(self) -> None:
        for f in fields(self):
            check_number(f.name, getattr(self, f.name), **f.metadata)

    @property
    def spec(self) -> Spec:
        """The part as the core takes it: its name and its numbers."""
        return type(self).__name__, {f.name: float(getattr(self, f.name)) for f in fields(self)}


# -- loss: how wrong is the score, and in which direction? ------------------------------------------------------------


@dataclass(frozen=True)
class Loss(Part):
    """How wrong a score is, as a curve in the margin ``z = y f(x)`` or the residual ``z = f(x) - y``."""

    name: ClassVar[str]
    regression: ClassVar[bool] = False
    piecewise_linear: ClassVar[bool] = False
    logistic: ClassVar[bool] = False  # its scores are log odds
    smooth: ClassVar[bool] = False  # it has a curvature wherever it has a slope
    starts: ClassVar[bool] = True  # there is a loss at the score 0 that a learner starts from

    @property
    def spec(self) -> Spec:
        """The loss as the core takes it."""
        return self.name, super().spec[1]


@dataclass(frozen=True)
class PerceptronLoss(Loss):
    """``max(0, -z)``: only mistakes count (a score of exactly 0 is one)."""

    name = "perceptron"
    piecewise_linear = True
    starts = False


@dataclass(frozen=True)
class HingeLoss(Loss):
    """``max(0, 1 - z)``; with several classes ``z`` is the true class's score less the strongest other's."""

    name = "hinge"
    piecewise_linear = True


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """``max(0, 1 - z)^2``."""

    name = "squared_hinge"
    smooth = True


@dataclass(frozen=True)
class LogLoss(Loss):
    """``ln(1 + e^-z)``; with several classes the softmax's ``log sum_c e^f_c - f_y``."""

    name = "log_loss"
    logistic = True
    smooth = True


@dataclass(frozen=True)
class Exponential(Loss):
    """``e^-z``."""

    name = "exponential"


@dataclass(frozen=True)
class SquaredError(Loss):
    """``z^2 / 2``."""

    name = "squared_error"
    regression = True
    smooth = True


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """``max(0, |z| - epsilon)``, as in support vector regression."""

    name = "epsilon_insensitive"
    regression = True
    piecewise_linear = True
    epsilon: float = number(0.1, at_least=0)


@dataclass(frozen=True)
class Huber(Loss):
    """``z^2 / 2`` up to ``|z| = epsilon`` and straight beyond it."""

    name = "huber"
    regression = True
    epsilon: float = number(0.1, above=0)


LOSSES: dict[str, type[Loss]] = {
    loss.name: loss
    for loss in (
        PerceptronLoss,
        HingeLoss,
        SquaredHinge,
        LogLoss,
        Exponential,
        SquaredError,
        EpsilonInsensitive,
        Huber,
    )
}


def loss_named(name: str | Loss, **numbers: float) -> Loss:
    """Make a loss from its scikit-learn name, taking of ``numbers`` the ones it has.

    Examples
    --------
    >>> from onkel.parts import loss_named
    >>> loss_named("epsilon_insensitive", epsilon=0.5)
    EpsilonInsensitive(epsilon=0.5)
    """
    if isinstance(name, Loss):
        return name
    check_choice("loss", name, LOSSES)
    made = LOSSES[name]
    return made(**{f.name: numbers[f.name] for f in fields(made) if f.name in numbers})


# -- admission: with what probability p_t does a row become a support vector? -----------------------------------------


@dataclass(frozen=True)
class Admission(Part):
    """With what probability a row becomes a support vector."""

    needs_classes: ClassVar[bool] = False
    needs_log_loss: ClassVar[bool] = False
    needs_start: ClassVar[bool] = False  # a row without a loss is never admitted


@dataclass(frozen=True)
class OnMistake(Admission):
    """Every mistake (``z <= 0``) and nothing else."""

    needs_classes = True


@dataclass(frozen=True)
class OnGradient(Admission):
    """Every row whose loss has a slope."""


@dataclass(frozen=True)
class Always(Admission):
    """Every row (KLR, Algorithm 1)."""


@dataclass(frozen=True)
class MarginSampling(Admission):
    """KLR, Equation (5): ``p_t = (2 - eta) / (2 - eta + eta P(y_t))``, with the step's ``eta < 2``."""

    needs_log_loss = True
    eta: float = number(above=0, below=2)


@dataclass(frozen=True)
class AuxiliarySampling(Admission):
    """KLR, Equation (6): ``p_t = l(z) / h(z)``, and the step goes along ``h``, a curve above the loss."""

    needs_log_loss = True


@dataclass(frozen=True)
class AuxiliaryShift(AuxiliarySampling):
    """``h(z) = ln(shape + e^-z)``; ``shape`` is the paper's γ."""

    shape: float = number(2.0, at_least=1)


@dataclass(frozen=True)
class AuxiliaryScale(AuxiliarySampling):
    """``h(z) = ln(1 + shape e^-z)``; ``shape`` is the paper's γ."""

    shape: float = number(2.0, at_least=1)


@dataclass(frozen=True)
class AuxiliaryCutoff(AuxiliarySampling):
    """``h(z) = max(l(z), l(cutoff))``; ``cutoff`` is the paper's δ."""

    cutoff: float = number(1.0)


@dataclass(frozen=True)
class GradientSampling(Admission):
    """OSKL, Algorithm 1: ``p_t = |l'| / G``, at most 1; with several classes the largest entry of the gradient."""

    G: float = number(1.0, above=0)


@dataclass(frozen=True)
class LossSampling(Admission):
    """SPA, Algorithm 1: ``rho_t = min(alpha, l_t) / beta``, at most 1."""

    needs_start = True
    alpha: float = number(1.0, above=0)
    beta: float = number(1.0, above=0)


# -- step: with what coefficient, and how do the old ones shrink first? -----------------------------------------------


@dataclass(frozen=True)
class Step(Part):
    """With what coefficient an admitted row joins."""

    needs_piecewise_linear_loss: ClassVar[bool] = False
    second_order: ClassVar[bool] = False  # moves all coefficients at once, and chooses its points itself


@dataclass(frozen=True)
class GradientStep(Step):
    """``f <- (1 - eta lam) f - eta g k(x, .)``."""

    eta: float = number(above=0)
    lam: float = number(0.0, at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta * self.lam >= 1:
            raise ValueError(f"eta * lam must be less than 1, got {self.eta:g} * {self.lam:g}")


@dataclass(frozen=True)
class DecayingStep(Step):
    """``GradientStep`` with ``eta_t = eta / (1 + eta lam t)``, which is ``1 / (lam t)`` in the long run."""

    eta: float = number(above=0)
    lam: float = number(above=0)


@dataclass(frozen=True)
class PegasosStep(Step):
    """``GradientStep`` with ``eta_t = 1 / (lam t)`` from the start: the first shrink is exactly 0."""

    lam: float = number(above=0)


@dataclass(frozen=True)
class ImportanceStep(Step):
    """OSKL, Equation (1): ``-eta g / p_t``, unbiased over the draw."""

    eta: float = number(above=0)


@dataclass(frozen=True)
class HardPassiveAggressiveStep(Step):
    """PA: as far as it takes to have no loss, ``l_t / k(x, x)``."""

    needs_piecewise_linear_loss = True


@dataclass(frozen=True)
class PassiveAggressiveStep(Step):
    """PA-I: ``min(C, l_t / k(x, x))``."""

    needs_piecewise_linear_loss = True
    C: float = number(1.0, above=0)


@dataclass(frozen=True)
class SquaredPassiveAggressiveStep(Step):
    """PA-II: ``l_t / (k(x, x) + 1 / (2 C))``."""

    needs_piecewise_linear_loss = True
    C: float = number(1.0, above=0)


@dataclass(frozen=True)
class SparsePassiveAggressiveStep(Step):
    """SPA, Proposition 1: ``tau_t = min(eta / rho_t, l_t / k(x, x))`` along the gradient."""

    needs_piecewise_linear_loss = True
    eta: float = number(above=0)


@dataclass(frozen=True)
class NewtonStep(Step):
    """One Newton step on all coefficients for a row whose slope is above ``hard`` (``docs/newton.md``).

    ``lam`` is the prior's λ; there are at most ``sqrt(t B / spread)`` support vectors after t rows, so that the budget
    B is full after ``spread * B``; with ``forget`` (ρ) below 1 what was learned fades.
    """

    second_order = True
    lam: float = number(0.01, above=0)
    hard: float = number(0.1, at_least=0)
    spread: float = number(8.0, at_least=1)
    forget: float = number(1.0, above=0, at_most=1)


# -- budget: too many support vectors: who leaves? --------------------------------------------------------------------


@dataclass(frozen=True)
class Budget(Part):
    """What happens when the budget is full."""

    reweights: ClassVar[bool] = False  # changes the coefficients of points that stay
    # works row by row: takes rows in without a slot, needs the newcomer's own kernel values, counts mistakes, or makes
    # newcomers' coefficients flow into each other, after which an average cannot tell that one came and went unseen
    row_by_row: ClassVar[bool] = False
    needs_gaussian: ClassVar[bool] = False
    needs_hinge: ClassVar[bool] = False


@dataclass(frozen=True)
class Stop(Budget):
    """Nobody leaves; a full set admits nobody."""


@dataclass(frozen=True)
class RemoveRandom(Budget):
    """A uniformly random old point leaves (RBP)."""


@dataclass(frozen=True)
class RemoveOldest(Budget):
    """The oldest point leaves (NORMA)."""


@dataclass(frozen=True)
class RemoveSmallest(Budget):
    """The point of least ``|a|^2 k(s, s)`` leaves, be it the newcomer (BSGD)."""


@dataclass(frozen=True)
class Forget(Budget):
    """All coefficients shrink by the self-tuned factor of the Forgetron, then the oldest point leaves."""

    row_by_row = True


@dataclass(frozen=True)
class ProjectOnNewcomer(Budget):
    """An old point is replaced by its projection on the newcomer: the one that loses least (BPA-S)."""

    reweights = True
    row_by_row = True


@dataclass(frozen=True)
class ProjectOnNeighbour(Budget):
    """An old point is replaced by its projection on the newcomer and its own nearest neighbour (BPA-NN)."""

    reweights = True
    row_by_row = True


@dataclass(frozen=True)
class Resample(Budget):
    """An old point is drawn and leaves; the others grow so that the function is the same in the mean.

    No weight exceeds ``cap``, which is the paper's γη.
    """

    reweights = True
    cap: float = number(above=0)


@dataclass(frozen=True)
class ResampleUniformly(Resample):
    """Every old point is as likely to leave (BOGD)."""


@dataclass(frozen=True)
class ResampleByWeight(Resample):
    """A point is the less likely to leave the larger its weight (BOGD++, Equation (16))."""


@dataclass(frozen=True)
class Merge(Budget):
    """The smallest point and the partner that loses least become one point between them (BSGD)."""

    reweights = True
    needs_gaussian = True


@dataclass(frozen=True)
class ProjectOnNearest(Budget):
    """The smallest point, be it the newcomer, is replaced by its projection on the ``n_neighbours`` nearest to it."""

    reweights = True
    row_by_row = True
    n_neighbours: int = number(5, at_least=1, integer=True)


@dataclass(frozen=True)
class GrowAtRandom(Budget):
    """The smallest point leaves with probability ``min(1, beta/t)``, else the budget grows by one (NPBSGD)."""

    beta: float = number(above=0)


@dataclass(frozen=True)
class GrowAtRandomOrProject(Budget):
    """As GrowAtRandom, but the smallest point is projected on the ``n_neighbours`` nearest to it."""

    reweights = True
    row_by_row = True
    beta: float = number(above=0)
    n_neighbours: int = number(5, at_least=1, integer=True)


@dataclass(frozen=True)
class MoveIntoFeatures(Budget):
    """The ``k`` smallest old points move into ``n_components`` random Fourier features (DualSGD)."""

    reweights = True
    needs_gaussian = True
    n_components: int = number(200, at_least=1, at_most=10**6, integer=True)
    k: int = number(20, at_least=1, integer=True)


@dataclass(frozen=True)
class Projection(Budget):
    """Newcomers may be replaced by their projections on the span of the points (``eta``: how near is near enough)."""

    reweights = True
    row_by_row = True
    eta: float = number(0.1, at_least=0)


@dataclass(frozen=True)
class ProjectNewcomer(Projection):
    """Projectron: a newcomer no further than ``eta`` from the span of the points, or any once the budget is full, is
    replaced by its projection on them."""


@dataclass(frozen=True)
class AggressiveProjection(Projection):
    """Projectron++ (2009): as ProjectNewcomer on mistakes; a row that is right by less than 1 is never inserted, its
    projection joins with ``tau = min(l, 2 (l - U delta), |Pk|^2) / |Pk|^2``."""

    needs_hinge = True


@dataclass(frozen=True)
class AggressiveProjection2008(Projection):
    """Projectron++ (2008): ``tau = min(l / |Pk|^2, 1)``, where ``2 l - tau |Pk|^2 - 2 U delta`` is not negative."""

    needs_hinge = True


@dataclass(frozen=True)
class ProjectCheapest(Budget):
    """The old point whose projection on all the rest costs least leaves, and its projection stays (BPA)."""

    reweights = True
    row_by_row = True


@dataclass(frozen=True)
class ProjectSmallest(Budget):
    """The point of least ``|a|^2 k(s, s)`` leaves, and its projection on all the rest stays (BSGD)."""

    reweights = True
    row_by_row = True


@dataclass(frozen=True)
class KOMP(Budget):
    """Points leave, cheapest first, and the rest are refitted, while the function stays within ``eps`` of what the
    step made of it (POLK, Algorithm 2); if there is a budget, then on until it is met."""

    reweights = True
    eps: float = number(above=0)


@dataclass(frozen=True)
class RandomPruning(Budget):
    """Points leave at random, and the rest stay as they are, while the function stays within ``eps`` of what the step
    made of it (POLK, Remark 6); if there is a budget, then on until it is met."""

    eps: float = number(above=0)


# -- kernels: how alike are two rows? ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kernel(Part):
    """How alike two rows are. Kernels add up and take positive weights: ``RBF(0.1) + 0.5 * RBF(1.0)``."""

    name: ClassVar[str]

    @property
    def spec(self) -> Spec:
        """The kernel as the core takes it."""
        return self.name, super().spec[1]

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
        for number in self.streams:
            check_number("the number of a kernel", number, at_least=0, below=2**24, integer=True)
        if len(set(self.streams)) != len(self.kernels):
            raise ValueError(f"streams must be one number for each of the {len(self.kernels)} kernels, all different")

    @property
    def hedge(self) -> Spec:
        """How the kernels are combined, as the core takes it."""
        return self.combination, {"discount": float(self.discount), "smoothing": float(self.smoothing)}

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


# -- the whole --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """A learner as a choice of parts. Parts that do not fit together are refused when the recipe is made.

    Parameters
    ----------
    loss : Loss
    admission : Admission
    step : Step
    budget : Budget
    ball : float, default=None
        The most that the RKHS norm of the function may be (R); None for no bound.
    batch_size : int
        Rows a mini-batch: the function changes once in so many rows, by the mean of their steps.
    average : bool
        Whether the learner's own output is the average of all its functions rather than the last.

    Examples
    --------
    >>> from onkel.parts import *
    >>> Recipe(HingeLoss(), OnGradient(), GradientStep(eta=0.5)).admission
    OnGradient()
    >>> Recipe(SquaredError(), OnGradient(), SparsePassiveAggressiveStep(eta=0.5))
    Traceback (most recent call last):
    ValueError: SparsePassiveAggressiveStep needs a piecewise linear loss, and squared_error is none
    """

    loss: Loss
    admission: Admission
    step: Step
    budget: Budget = field(default_factory=Stop)
    ball: float | None = None
    batch_size: int = 1
    average: bool = False

    def __post_init__(self) -> None:
        check_number("batch_size", self.batch_size, at_least=1, integer=True)
        check_flag("average", self.average)
        if self.ball is not None:
            check_number("R", self.ball, above=0)
            if self.batch_size > 1:
                raise ValueError("a ball needs the function's norm after every row: batch_size must be 1 with it")
            if self.budget.reweights:
                raise ValueError(f"a ball needs the function's norm, which {type(self.budget).__name__} does not keep")
        if self.step.second_order:
            self._check_second_order()
        if self.budget.row_by_row and self.batch_size > 1:
            raise ValueError(f"{type(self.budget).__name__} works row by row: batch_size must be 1 with it")
        if self.budget.needs_hinge and not isinstance(self.loss, HingeLoss):
            raise ValueError(f"{type(self.budget).__name__} needs the hinge loss, and the loss is {self.loss.name}")
        if self.step.needs_piecewise_linear_loss and not self.loss.piecewise_linear:
            raise ValueError(f"{type(self.step).__name__} needs a piecewise linear loss, and {self.loss.name} is none")
        stuck = self.admission.needs_start, self.step.needs_piecewise_linear_loss
        for part, needs_loss in zip((self.admission, self.step), stuck, strict=True):
            if needs_loss and not self.loss.starts:
                raise ValueError(
                    f"{type(part).__name__} needs a loss at a score of 0, where learning starts, "
                    f"and {self.loss.name} has none"
                )
        if self.admission.needs_log_loss and not self.loss.logistic:
            raise ValueError(f"{type(self.admission).__name__} needs log_loss, and the loss is {self.loss.name}")
        if self.admission.needs_classes and self.loss.regression:
            raise ValueError(f"{type(self.admission).__name__} needs classes, and {self.loss.name} is for regression")

    def _check_second_order(self) -> None:
        step = type(self.step).__name__
        if not self.loss.smooth:
            raise ValueError(f"{step} needs a loss with a curvature, and {self.loss.name} has none")
        if type(self.admission) is not OnGradient or type(self.budget) is not Stop:
            raise ValueError(f"{step} chooses its points itself: it needs the admission OnGradient and the budget Stop")
        if self.ball is not None or self.batch_size > 1:
            raise ValueError(f"{step} works row by row and without a ball: R must be None and batch_size 1")


# -- by name, for files -----------------------------------------------------------------------------------------------


def _concrete(part: type[Any]) -> list[type[Any]]:
    heirs = [heir for cls in part.__subclasses__() if cls.__module__ == __name__ for heir in _concrete(cls)]
    return heirs or [part]


# What a file may name: every part of this module but a callable, which is code.
PARTS: dict[str, type[Any]] = {cls.__name__: cls for cls in (*_concrete(Part), Recipe) if cls is not CallableKernel}
