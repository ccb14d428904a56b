"""What the named learners are told: the fields that a learner's estimators, and its classes for River, inherit.

A learner has its own parameters, and with them the method that makes its recipe; where it has a choice of loss, that is
one of the classes below. Of two classes that declare a parameter, the first that an estimator inherits decides.
"""

from __future__ import annotations

from onkel.parameters import parameter_class
from onkel.parts import Loss, Recipe, loss_named
from onkel.recipes.parameters import Epsilon, LossChoice, QuantileLevel


class LearnerParameters:
    """The recipe that follows from the parameters of a named learner."""

    budget: int | None  # one of the parameters of all learners

    def _recipe(self, horizon: int | None) -> Recipe:
        """Return the recipe for a stream of so many rows, or of nobody knows how many."""
        raise NotImplementedError

    def _loss(self) -> Loss:
        """Return the loss that was chosen, where there is a choice."""
        raise NotImplementedError


@parameter_class
class LossParameters(LearnerParameters):
    """A choice of loss, by default the hinge."""

    loss: LossChoice = "hinge"

    def _loss(self) -> Loss:
        return loss_named(self.loss)


@parameter_class
class LogLossParameters(LossParameters):
    """A choice of loss, by default the one with probabilities."""

    loss: LossChoice = "log_loss"


@parameter_class
class SquaredErrorParameters(LossParameters):
    """A choice of loss for regression, of learners that know the scale of the residuals."""

    loss: LossChoice = "squared_error"
    quantile: QuantileLevel = 0.5

    def _loss(self) -> Loss:
        return loss_named(self.loss, quantile=self.quantile)


@parameter_class
class RegressionLossParameters(SquaredErrorParameters):
    """A choice of loss for regression, with the numbers that losses have."""

    epsilon: Epsilon = 0.1

    def _loss(self) -> Loss:
        return loss_named(self.loss, epsilon=self.epsilon, quantile=self.quantile)


@parameter_class
class TubeParameters(RegressionLossParameters):
    """A choice of loss for regression, for learners that need a piecewise linear one."""

    loss: LossChoice = "epsilon_insensitive"
