"""The whole: a learner as a choice of parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from onkel._checks import check_flag, check_number
from onkel.parts.admissions import Admission, OnGradient
from onkel.parts.budgets import Budget, Stop
from onkel.parts.losses import HingeLoss, Loss
from onkel.parts.steps import Step


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
