"""Losses: how wrong is the score, and in which direction?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from onkel.parts._part import Part, Spec, number
from onkel.utils.validation import check_choice, check_number

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Exponential",
    "HingeLoss",
    "Huber",
    "LogLoss",
    "Loss",
    "PerceptronLoss",
    "SquaredError",
    "SquaredHinge",
    "loss_named",
]


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
        return self.name, *super().spec[1:]


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
    """``z^2 / 2`` up to ``|z| = epsilon`` and linear beyond it."""

    name = "huber"
    regression = True
    epsilon: float = number(0.1, above=0)


LOSSES: dict[str, type[Loss]] = {loss.name: loss for loss in Loss.__subclasses__()}


def loss_named(name: str | Loss, **numbers: float) -> Loss:
    """Make a loss from its scikit-learn name, taking of ``numbers`` the ones it has; the others are checked, too.

    Examples
    --------
    >>> from onkel.parts import loss_named
    >>> loss_named("epsilon_insensitive", epsilon=0.5)
    EpsilonInsensitive(epsilon=0.5)
    """
    if isinstance(name, Loss):
        return name
    check_choice("loss", name, LOSSES)
    own = {f.name for f in fields(LOSSES[name])}
    for each in numbers.keys() - own:
        check_number(each, numbers[each], **_limits(each))
    return LOSSES[name](**{each: numbers[each] for each in numbers.keys() & own})


def _limits(name: str) -> Mapping[str, Any]:
    """The range of a number of losses: that of the first that has it."""
    found = [f.metadata for loss in LOSSES.values() for f in fields(loss) if f.name == name]
    if not found:
        raise TypeError(f"no loss has a number {name!r}")
    return found[0]
