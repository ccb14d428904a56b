"""Learners that keep every row they admit: the perceptron, gradient descent and passive-aggressive steps."""

from __future__ import annotations

from typing import Annotated

from onkel.catalogue import named
from onkel.parameters import Note
from onkel.parts import (
    DecayingStep,
    FirstOrder,
    GradientStep,
    HardPassiveAggressiveStep,
    OnGradient,
    OnMistake,
    PassiveAggressiveStep,
    PegasosStep,
    PerceptronLoss,
    SquaredPassiveAggressiveStep,
    Step,
    loss_named,
)
from onkel.recipes._parameters import (
    ONLINE_LEARNING_WITH_KERNELS,
    Aggressiveness,
    AnyLoss,
    Epsilon,
    Regularisation,
    Shrinking,
    StepSize,
)


@named("Rosenblatt 1958; Freund and Schapire 1999", "Large Margin Classification Using the Perceptron Algorithm")
def Perceptron() -> FirstOrder:
    """Rosenblatt's perceptron with a kernel: every mistake joins with coefficient ``y``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Perceptron().step
    GradientStep(eta=1.0, lam=0.0)
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0))


@named(*ONLINE_LEARNING_WITH_KERNELS, regressor={"loss": "squared_error"})
def OGD(
    eta: StepSize = 0.5,
    lam: Shrinking = 0.0,
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Online gradient descent: ``f <- (1 - eta lam) f - eta g k(x, .)``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.OGD(eta=0.2).step
    GradientStep(eta=0.2, lam=0.0)
    """
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), GradientStep(eta=eta, lam=lam))


@named(
    "Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006",
    "Online Passive-Aggressive Algorithms",
    regressor={"loss": "epsilon_insensitive"},
)
def PA(
    C: Aggressiveness = 1.0,
    variant: Annotated[str, Note("How far a step may go.", choices=("PA", "PA-I", "PA-II"))] = "PA-I",
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Passive-aggressive learning: the smallest change that repairs a row's loss.

    Each row with a loss joins with the step that removes the loss, ``l/k(x, x)`` (PA), that step cut at ``C`` (PA-I),
    or the softer ``l/(k(x, x) + 1/(2C))`` (PA-II).

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.PA(C=0.5).step
    PassiveAggressiveStep(C=0.5)
    """
    steps: dict[str, Step] = {
        "PA": HardPassiveAggressiveStep(),
        "PA-I": PassiveAggressiveStep(C=C),
        "PA-II": SquaredPassiveAggressiveStep(C=C),
    }
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), steps[variant])


@named(
    "Shalev-Shwartz, Singer and Srebro 2007",
    "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM",
)
def Pegasos(
    lam: Regularisation = 0.01,
    project: Annotated[bool, Note("Keep the function in the ball of radius 1/√λ, which holds the optimum.")] = False,
    loss: AnyLoss = "hinge",
) -> FirstOrder:
    """Pegasos: ``eta_t = 1/(lam t)``, shrink ``1 - 1/t``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Pegasos(lam=0.04, project=True).ball
    5.0
    """
    step = PegasosStep(lam=lam)
    return FirstOrder(loss_named(loss), OnGradient(), step, ball=lam**-0.5 if project else None)


@named(*ONLINE_LEARNING_WITH_KERNELS, regressor={"loss": "squared_error"})
def FSGD(
    eta: StepSize = 0.5,
    lam: Shrinking = 1e-4,
    schedule: Annotated[
        str, Note("η_t = η, or η/(1 + ηλt), which is O(1/t).", choices=("constant", "inverse"))
    ] = "constant",
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Functional stochastic gradient descent, any loss.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.FSGD(schedule="inverse", lam=0.1).step
    DecayingStep(eta=0.5, lam=0.1)
    """
    step = GradientStep(eta=eta, lam=lam) if schedule == "constant" else DecayingStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step)
