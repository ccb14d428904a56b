"""The whole: a first-order or second-order learner as a choice of parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from onkel.parts._part import Part, Spec
from onkel.parts.admissions import Admission, MarginSampling
from onkel.parts.evictions import Eviction, Stop
from onkel.parts.kernels import RBF, Hedge, Kernel
from onkel.parts.losses import HingeLoss, Loss
from onkel.parts.second_order import Dictionary, FadingMemory, GaussianPrior, GrowingDictionary, Memory, Prior
from onkel.parts.steps import Step
from onkel.utils.validation import check_flag, check_number


@dataclass(frozen=True)
class Recipe:
    """A learner as a choice of parts: a `FirstOrder` or a `SecondOrder`."""

    loss: Loss
    average: bool = field(default=False, kw_only=True)

    @property
    def spec(self) -> Spec:
        """The recipe as the core takes it."""
        raise NotImplementedError

    def check_kernel(self, kernel: Kernel, budget: int | None) -> None:
        """Refuse a kernel, or a budget for several kernels, that the parts cannot work with."""
        if not isinstance(kernel, Hedge) or budget is None or kernel.shares_budget:
            return
        if budget < len(kernel.kernels):
            raise ValueError(
                f"budget must be at least {len(kernel.kernels)}, one support vector for each kernel, got {budget}"
            )

    def _check_kinds(self, **kinds: type[Part]) -> None:
        for name, kind in kinds.items():
            if not isinstance(getattr(self, name), kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {getattr(self, name)!r}")


@dataclass(frozen=True)
class FirstOrder(Recipe):
    """A learner that takes first-order steps: an admitted row joins with a coefficient of its own.

    Parts that do not fit together are refused when the recipe is made.

    Parameters
    ----------
    loss : Loss
    admission : Admission
    step : Step
    eviction : Eviction
        What happens when the budget is full.
    ball : float, default=None
        The most that the RKHS norm of the function may be (R); None for no bound.
    batch_size : int
        Rows a mini-batch: the function changes once in so many rows, by the mean of their steps.
    average : bool
        Whether the learner's own output is the average of all its functions rather than the last.

    Examples
    --------
    >>> from onkel.parts import *
    >>> FirstOrder(HingeLoss(), OnGradient(), GradientStep(eta=0.5)).admission
    OnGradient()
    >>> FirstOrder(SquaredError(), OnGradient(), SparsePassiveAggressiveStep(eta=0.5))
    Traceback (most recent call last):
    ValueError: SparsePassiveAggressiveStep needs a piecewise linear loss, and squared_error is not one
    """

    admission: Admission
    step: Step
    eviction: Eviction = field(default_factory=Stop)
    ball: float | None = None
    batch_size: int = 1

    def __post_init__(self) -> None:
        self._check_kinds(loss=Loss, admission=Admission, step=Step, eviction=Eviction)
        check_number("batch_size", self.batch_size, at_least=1, at_most=2**31, integer=True)
        check_flag("average", self.average)
        if self.ball is not None:
            check_number("R", self.ball, above=0)
            if self.batch_size > 1:
                raise ValueError("a ball needs the function's norm after every row: batch_size must be 1")
            if self.eviction.reweights:
                raise ValueError(f"a ball needs the function's norm, which {_name(self.eviction)} does not keep")
        if self.eviction.row_by_row and self.batch_size > 1:
            raise ValueError(f"{_name(self.eviction)} works row by row: batch_size must be 1")
        if self.eviction.needs_hinge and not isinstance(self.loss, HingeLoss):
            raise ValueError(f"{_name(self.eviction)} needs the hinge loss, and the loss is {self.loss.name}")
        if self.step.needs_piecewise_linear_loss and not self.loss.piecewise_linear:
            raise ValueError(f"{_name(self.step)} needs a piecewise linear loss, and {self.loss.name} is not one")
        stuck = self.admission.needs_start, self.step.needs_piecewise_linear_loss
        for part, needs_loss in zip((self.admission, self.step), stuck, strict=True):
            if needs_loss and not self.loss.starts:
                raise ValueError(
                    f"{_name(part)} needs a loss at a score of 0, where learning starts, and {self.loss.name} has none"
                )
        if self.admission.needs_log_loss and not self.loss.logistic:
            raise ValueError(f"{_name(self.admission)} needs log_loss, and the loss is {self.loss.name}")
        if isinstance(self.admission, MarginSampling) and self.admission.eta != getattr(self.step, "eta", None):
            raise ValueError(
                f"MarginSampling has eta={self.admission.eta}, which must be the step's, and the step is {self.step!r}"
            )
        if self.admission.needs_classes and self.loss.regression:
            raise ValueError(f"{_name(self.admission)} needs classes, and {self.loss.name} is for regression")

    def check_kernel(self, kernel: Kernel, budget: int | None) -> None:
        """Refuse a kernel, or a budget for several kernels, that the parts cannot work with."""
        super().check_kernel(kernel, budget)
        for each in kernel.kernels if isinstance(kernel, Hedge) else (kernel,):
            if self.eviction.needs_gaussian and not isinstance(each, RBF):
                raise ValueError(f"{_name(self.eviction)} needs the gaussian kernel, and the kernel is {each.name}")
            if self.eviction.needs_psd:
                each.check_psd(needed_by=_name(self.eviction))
        if isinstance(kernel, Hedge) and self.eviction.needs_one_kernel:
            raise ValueError(f"{_name(self.eviction)} makes features of one kernel, and there are several kernels")

    @property
    def spec(self) -> Spec:
        """The recipe as the core takes it."""
        parts: dict[str, Part] = {
            "loss": self.loss,
            "admission": self.admission,
            "step": self.step,
            "eviction": self.eviction,
        }
        numbers = {"ball": self.ball or 0.0, "batch_size": float(self.batch_size)}
        return "FirstOrder", numbers, {name: part.spec for name, part in parts.items()}


@dataclass(frozen=True)
class SecondOrder(Recipe):
    """A learner that takes second-order steps: a row moves all coefficients at once, by what is known so far.

    Parameters
    ----------
    loss : Loss
        With a curvature.
    prior : Prior
    dictionary : Dictionary
        Which rows become support vectors.
    memory : Memory
        What is forgotten.
    average : bool
        Whether the learner's own output is the average of all its functions rather than the last.

    Examples
    --------
    >>> from onkel.parts import *
    >>> SecondOrder(LogLoss(), prior=GaussianPrior(lam=0.1)).dictionary
    GrowingDictionary(spread=8.0, easy_slope=0.1)
    >>> SecondOrder(HingeLoss())
    Traceback (most recent call last):
    ValueError: a second-order learner needs a loss with a curvature, and hinge has none
    """

    prior: Prior = field(default_factory=GaussianPrior)
    dictionary: Dictionary = field(default_factory=GrowingDictionary)
    memory: Memory = field(default_factory=FadingMemory)

    def __post_init__(self) -> None:
        self._check_kinds(loss=Loss, prior=Prior, dictionary=Dictionary, memory=Memory)
        check_flag("average", self.average)
        if not self.loss.smooth:
            raise ValueError(f"a second-order learner needs a loss with a curvature, and {self.loss.name} has none")

    def check_kernel(self, kernel: Kernel, budget: int | None) -> None:
        """Refuse a kernel, or a budget for several kernels, that the parts cannot work with."""
        super().check_kernel(kernel, budget)
        for each in kernel.kernels if isinstance(kernel, Hedge) else (kernel,):
            each.check_psd(needed_by="SecondOrder")

    @property
    def spec(self) -> Spec:
        """The recipe as the core takes it."""
        parts: dict[str, Part] = {
            "loss": self.loss,
            "prior": self.prior,
            "dictionary": self.dictionary,
            "memory": self.memory,
        }
        return "SecondOrder", {}, {name: part.spec for name, part in parts.items()}


def _name(part: Part) -> str:
    return type(part).__name__
