"""Learners whose points leave, are merged or move elsewhere when the budget is full."""

from __future__ import annotations

from onkel.parts import (
    Eviction,
    FirstOrder,
    GradientStep,
    GrowAtRandom,
    Merge,
    MoveIntoFeatures,
    OnGradient,
    OnMistake,
    PassiveAggressiveStep,
    PegasosStep,
    PerceptronLoss,
    ProjectCheapest,
    ProjectOnNearest,
    ProjectOnNeighbour,
    ProjectOnNewcomer,
    ProjectSmallest,
    RemoveOldest,
    RemoveRandom,
    RemoveSmallest,
    Resample,
    ResampleByWeight,
    ResampleUniformly,
    ShrinkAndRemoveOldest,
    loss_named,
)
from onkel.recipes import parameters
from onkel.recipes.checked import checked


@checked
def RBP() -> FirstOrder:
    """Randomized budget perceptron: a random old point makes room.

    References
    ----------
    Cavallanti, Cesa-Bianchi and Gentile 2007, "Tracking the best hyperplane with a simple budget Perceptron".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.RBP().eviction
    RemoveRandom()
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), RemoveRandom())


@checked
def Forgetron() -> FirstOrder:
    """The self-tuned Forgetron: old points fade before they leave.

    References
    ----------
    Dekel, Shalev-Shwartz and Singer 2008, "The Forgetron: a kernel-based Perceptron on a budget".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Forgetron().eviction
    ShrinkAndRemoveOldest()
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), ShrinkAndRemoveOldest())


@checked
def NORMA(
    eta: parameters.StepSize = 0.5,
    lam: parameters.Shrinking = 1e-3,
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Gradient descent on a window: coefficients fade, the oldest point leaves.

    That is how its paper truncates. Papers that compare with it describe others: the smallest
    coefficient is dropped (OSKL), or what costs the objective least (POLK). With the hinge and rows of equal weight the
    oldest coefficient is the smallest, since all begin with ``eta`` and fade alike.

    References
    ----------
    Kivinen, Smola and Williamson 2004, "Online Learning with Kernels".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.NORMA(eta=0.2, lam=0.01).step
    GradientStep(eta=0.2, lam=0.01)
    """
    step = GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), step, RemoveOldest())


@checked
def BPA(
    C: parameters.BPAAggressiveness = 1.0,
    variant: parameters.BPAVariant = "simple",
    loss: parameters.LossChoice = "hinge",
) -> FirstOrder:
    """Budgeted passive-aggressive learning.

    The newcomer takes its PA-I step; the old point whose projection on the newcomer ("simple"), on the newcomer and
    the point's nearest neighbour ("nearest"), or on all the rest ("project") loses least is replaced by it.

    References
    ----------
    Wang and Vucetic 2010, "Online Passive-Aggressive Algorithms on a Budget".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BPA(variant="nearest").eviction
    ProjectOnNeighbour()
    """
    rules: dict[str, type[Eviction]] = {
        "simple": ProjectOnNewcomer,
        "nearest": ProjectOnNeighbour,
        "project": ProjectCheapest,
    }
    return FirstOrder(loss_named(loss), OnGradient(), PassiveAggressiveStep(C=C), rules[variant]())


@checked
def BOGD(
    eta: parameters.StepSize = 0.125,
    lam: parameters.Shrinking = 1e-4,
    cap: parameters.BOGDCap = 16.0,
    sampling: parameters.BOGDSampling = "weighted",
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Bounded online gradient descent, Algorithm 1.

    At a full budget an old point is drawn and leaves, uniformly or, as in BOGD++ ("weighted"), the likelier the smaller
    its weight; the others grow by ``1/(1 - p)`` up to ``cap * eta`` (the paper's γη), Equation (10).

    References
    ----------
    Zhao, Wang, Wu, Jin and Hoi 2012, "Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based
    Online Learning".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BOGD(eta=0.5, cap=4, sampling="weighted").eviction
    ResampleByWeight(cap=2.0)
    """
    rules: dict[str, type[Resample]] = {"uniform": ResampleUniformly, "weighted": ResampleByWeight}
    step = GradientStep(eta=eta, lam=lam)
    return FirstOrder(
        loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), step, rules[sampling](cap=cap * eta)
    )


@checked
def BSGD(
    lam: parameters.BSGDRegularisation = 0.01,
    eta: parameters.BSGDStepSize = None,
    maintenance: parameters.BSGDMaintenance = "remove",
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Budgeted stochastic gradient descent.

    Pegasos (``eta_t = 1/(lam t)``), or with ``eta`` a constant step; at a full budget the smallest point is removed,
    projected on all the rest, or merged with the partner that loses least (gaussian kernel only).

    References
    ----------
    Wang, Crammer and Vucetic 2012, "Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for
    Large-Scale SVM Training".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BSGD(maintenance="merge").eviction
    Merge()
    """
    rules: dict[str, type[Eviction]] = {"remove": RemoveSmallest, "project": ProjectSmallest, "merge": Merge}
    step = PegasosStep(lam=lam) if eta is None else GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), step, rules[maintenance]())


@checked
def NPBSGD(
    lam: parameters.Regularisation = 0.01,
    beta: parameters.NPBSGDBeta = 0.5,
    maintenance: parameters.NPBSGDMaintenance = "remove",
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
    horizon: parameters.NPBSGDHorizon = None,
) -> FirstOrder:
    """BSGD whose budget grows late in the stream.

    A full set loses its smallest point with probability ``min(1, beta T/t)`` over a ``horizon`` of T rows; otherwise
    the budget itself grows by one.

    References
    ----------
    Koppel, Warnell, Stump and Ribeiro 2019, in their comparison, "Parsimonious Online Learning with Kernels via
    Sparse Projections in Function Space".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.NPBSGD(beta=0.5, horizon=10_000).eviction
    GrowAtRandom(beta=5000.0, eviction=RemoveSmallest())
    """
    rule: Eviction
    if maintenance == "remove":
        rule = RemoveSmallest() if horizon is None else GrowAtRandom(beta=beta * horizon)
    else:
        rule = ProjectOnNearest() if horizon is None else GrowAtRandom(beta=beta * horizon, eviction=ProjectOnNearest())
    return FirstOrder(loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), PegasosStep(lam=lam), rule)


@checked
def DualSGD(
    lam: parameters.Regularisation = 0.01,
    n_components: parameters.DualSGDComponents = 200,
    k: parameters.DualSGDMoved = 20,
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Dual space gradient descent: small points become random features.

    ``f(x) = sum a_i k(s_i, x) + W . phi(x)`` with ``n_components`` random Fourier features of the gaussian kernel; at a
    full budget the ``k`` smallest old points leave the sum and ``a_i phi(s_i)`` is added to ``W``.

    References
    ----------
    Le, Nguyen, Nguyen and Phung 2016, "Dual Space Gradient Descent for Online Learning".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.DualSGD(n_components=100, k=5).eviction
    MoveIntoFeatures(n_components=100, k=5)
    """
    rule = MoveIntoFeatures(n_components=n_components, k=k)
    return FirstOrder(loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), PegasosStep(lam=lam), rule)
