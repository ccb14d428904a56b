"""Learners that keep every row they admit: the perceptron, gradient descent and passive-aggressive steps."""

from __future__ import annotations

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
from onkel.recipes import parameters
from onkel.recipes.checked import checked


@checked
def Perceptron() -> FirstOrder:
    """Rosenblatt's perceptron with a kernel: every mistake joins with coefficient ``y``.

    References
    ----------
    Rosenblatt 1958; Freund and Schapire 1999, "Large Margin Classification Using the Perceptron Algorithm".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Perceptron().step
    GradientStep(eta=1.0, lam=0.0)
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0))


@checked
def OGD(
    eta: parameters.StepSize = 0.5,
    lam: parameters.Shrinking = 0.0,
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Online gradient descent: ``f <- (1 - eta lam) f - eta g k(x, .)``.

    References
    ----------
    Kivinen, Smola and Williamson 2004, "Online Learning with Kernels".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.OGD(eta=0.2).step
    GradientStep(eta=0.2, lam=0.0)
    """
    return FirstOrder(
        loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), GradientStep(eta=eta, lam=lam)
    )


@checked
def PA(
    C: parameters.PAAggressiveness = 1.0,
    variant: parameters.PAVariant = "PA-I",
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Passive-aggressive learning: the smallest change that repairs a row's loss.

    Each row with a loss joins with the step that removes the loss, ``l/k(x, x)`` (PA), that step cut at ``C`` (PA-I),
    or the softer ``l/(k(x, x) + 1/(2C))`` (PA-II).

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006, "Online Passive-Aggressive Algorithms".

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
    return FirstOrder(loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), steps[variant])


@checked
def Pegasos(
    lam: parameters.Regularisation = 0.01,
    project: parameters.PegasosProject = False,
    loss: parameters.LossChoice = "hinge",
) -> FirstOrder:
    """Pegasos: ``eta_t = 1/(lam t)``, shrink ``1 - 1/t``.

    References
    ----------
    Shalev-Shwartz, Singer and Srebro 2007, "Pegasos: Primal Estimated sub-GrAdient SOlver for SVM".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Pegasos(lam=0.04, project=True).ball
    5.0
    """
    step = PegasosStep(lam=lam)
    return FirstOrder(loss_named(loss), OnGradient(), step, ball=lam**-0.5 if project else None)


@checked
def FSGD(
    eta: parameters.StepSize = 0.5,
    lam: parameters.Shrinking = 1e-4,
    schedule: parameters.FSGDSchedule = "constant",
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Functional stochastic gradient descent, any loss.

    References
    ----------
    Kivinen, Smola and Williamson 2004, "Online Learning with Kernels".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.FSGD(schedule="inverse", lam=0.1).step
    DecayingStep(eta=0.5, lam=0.1)
    """
    step = GradientStep(eta=eta, lam=lam) if schedule == "constant" else DecayingStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), step)
