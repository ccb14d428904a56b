"""Losses: how wrong is the score, and in which direction?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onkel.parts._part import Part, Spec, number
from onkel.utils.validation import check_choice, check_number

Floats = NDArray[np.float64]

__all__ = [
    "LOSSES",
    "EpsilonInsensitive",
    "Exponential",
    "HingeLoss",
    "Huber",
    "LogLoss",
    "Loss",
    "PerceptronLoss",
    "Poisson",
    "Quantile",
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

    def prediction(self, scores: Floats) -> Floats:
        """Return what is predicted in a regression where the scores are these."""
        return scores

    def check_targets(self, y: Floats) -> None:
        """Refuse targets of a regression that the loss is not for."""


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
    """``z^2 / 2`` up to ``|z| = epsilon`` and linear beyond it, so that an outlier counts for no more than that.

    For a second-order learner ``epsilon`` counts in standard deviations of the residuals, which it keeps: 1.4826 times
    the median of the absolute residuals of the latest rows. With 1.345 it is nearly as good as the squared error where
    there are no outliers. A first-order learner keeps nothing, and takes ``epsilon`` in units of the targets.
    """

    name = "huber"
    regression = True
    smooth = True
    epsilon: float = number(1.345, above=0)


@dataclass(frozen=True)
class Quantile(Loss):
    """``(1 - q) z`` for ``z > 0`` and ``-q z`` below: least for the quantile ``q`` of the targets (pinball loss).

    A second-order learner smooths it: within the width in which the part ``min(q, 1 - q)`` of the latest residuals lie,
    ``|z|`` becomes a parabola.
    """

    name = "quantile"
    regression = True
    piecewise_linear = True
    smooth = True
    quantile: float = number(0.5, above=0, below=1)


@dataclass(frozen=True)
class Poisson(Loss):
    """``e^f - y f``, for counts and rates: the score is the logarithm of the mean, which is what is predicted.

    It is taken as half the deviance, which is least at 0. For a rate the weight of a row is its exposure.
    """

    name = "poisson"
    regression = True
    smooth = True

    def prediction(self, scores: Floats) -> Floats:
        """Return the means."""
        return np.exp(np.minimum(scores, LARGEST_SCORE))

    def check_targets(self, y: Floats) -> None:
        """Refuse targets below 0."""
        if (y < 0).any():
            row = int(np.argmax(y < 0))
            raise ValueError(
                f"loss='poisson' is for counts and rates, which are at least 0, and y contains {y[row]:g} at row {row}"
            )


def half_deviance(scores: Floats, y: Floats) -> Floats:
    """Return ``e^f - y - y (f - ln y)``, the loss of `Poisson`.

    Examples
    --------
    >>> import numpy as np
    >>> half_deviance(np.log([2.0, 2.0]), np.array([2.0, 0.0])).tolist()
    [0.0, 2.0]
    """
    positive = np.where(y > 0, y, 1.0)
    u = scores - np.log(positive)
    near = positive * (np.expm1(np.clip(u, -1, 1)) - u)
    mean = np.exp(np.minimum(scores, LARGEST_SCORE))
    value = np.where(np.abs(u) < 1, near, mean - positive - positive * u)
    return np.where(y > 0, np.maximum(value, 0.0), mean)


LARGEST_SCORE = 200.0  # of Poisson: a larger one counts as this, as in the core

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
