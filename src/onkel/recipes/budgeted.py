"""Learners whose points leave, are merged or move elsewhere when the budget is full."""

from __future__ import annotations

from typing import Annotated

from onkel.catalogue import named
from onkel.parameters import Note
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
from onkel.recipes._parameters import (
    ONLINE_LEARNING_WITH_KERNELS,
    AnyLoss,
    Epsilon,
    Regularisation,
    Shrinking,
    StepSize,
)


@named(
    "Cavallanti, Cesa-Bianchi and Gentile 2007",
    "Tracking the best hyperplane with a simple budget Perceptron",
    budget=500,
)
def RBP() -> FirstOrder:
    """Randomized budget perceptron: a random old point makes room.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.RBP().eviction
    RemoveRandom()
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), RemoveRandom())


@named(
    "Dekel, Shalev-Shwartz and Singer 2008",
    "The Forgetron: a kernel-based Perceptron on a budget",
    budget=500,
)
def Forgetron() -> FirstOrder:
    """The self-tuned Forgetron: old points fade before they leave.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Forgetron().eviction
    ShrinkAndRemoveOldest()
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), ShrinkAndRemoveOldest())


@named(*ONLINE_LEARNING_WITH_KERNELS, regressor={"loss": "squared_error"}, budget=500)
def NORMA(
    eta: StepSize = 0.5,
    lam: Shrinking = 1e-3,
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Gradient descent on a window: coefficients fade, the oldest point leaves.

    That is how its paper truncates. Papers that compare with it describe others: the smallest
    coefficient is dropped (OSKL), or what costs the objective least (POLK). With the hinge and rows of equal weight the
    oldest coefficient is the smallest, since all begin with ``eta`` and fade alike.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.NORMA(eta=0.2, lam=0.01).step
    GradientStep(eta=0.2, lam=0.01)
    """
    step = GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, RemoveOldest())


@named("Wang and Vucetic 2010", "Online Passive-Aggressive Algorithms on a Budget", budget=500)
def BPA(
    C: Annotated[float, Note("Aggressiveness: the longest step.", part="PassiveAggressiveStep")] = 1.0,
    variant: Annotated[
        str,
        Note(
            "What the leaving point is projected on: the newcomer, the newcomer and its own nearest neighbour, or all.",
            choices=("simple", "nearest", "project"),
        ),
    ] = "simple",
    loss: AnyLoss = "hinge",
) -> FirstOrder:
    """Budgeted passive-aggressive learning.

    The newcomer takes its PA-I step; the old point whose projection on the newcomer ("simple"), on the newcomer and
    the point's nearest neighbour ("nearest"), or on all the rest ("project") loses least is replaced by it.

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


@named(
    "Zhao, Wang, Wu, Jin and Hoi 2012",
    "Fast Bounded Online Gradient Descent Algorithms for Scalable Kernel-Based Online Learning",
    regressor={"loss": "squared_error"},
    budget=500,
)
def BOGD(
    eta: StepSize = 0.125,
    lam: Shrinking = 1e-4,
    cap: Annotated[
        float,
        Note(
            "The paper's γ: at a full budget no weight exceeds γη.",
            "With 1 every weight stays what it was, nothing makes up for the point that leaves, and both ways to draw "
            "it are one.",
            limits={"above": 0},
        ),
    ] = 16.0,
    sampling: Annotated[
        str,
        Note(
            "How the point that leaves is drawn: uniformly, or (BOGD++) the likelier the smaller its weight.",
            choices=("uniform", "weighted"),
        ),
    ] = "uniform",
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Bounded online gradient descent, Algorithm 1.

    At a full budget an old point is drawn and leaves, uniformly or, as in BOGD++ ("weighted"), the likelier the smaller
    its weight; the others grow by ``1/(1 - p)`` up to ``cap * eta`` (the paper's γη), Equation (10).

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BOGD(eta=0.5, cap=4, sampling="weighted").eviction
    ResampleByWeight(cap=2.0)
    """
    rules: dict[str, type[Resample]] = {"uniform": ResampleUniformly, "weighted": ResampleByWeight}
    step = GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, rules[sampling](cap=cap * eta))


@named(
    "Wang, Crammer and Vucetic 2012",
    "Breaking the Curse of Kernelization: Budgeted Stochastic Gradient Descent for Large-Scale SVM Training",
    regressor={"loss": "epsilon_insensitive"},
    budget=500,
)
def BSGD(
    lam: Annotated[float, Note("Regularisation λ; greater than 0 for ``eta=None``.", part="GradientStep")] = 0.01,
    eta: Annotated[float | None, Note("Constant step size η.", "None is η_t = 1/(λt).", part="GradientStep")] = None,
    maintenance: Annotated[
        str,
        Note(
            "The smallest point is removed, projected on all the rest, or merged with another (gaussian kernel only).",
            choices=("remove", "project", "merge"),
        ),
    ] = "remove",
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Budgeted stochastic gradient descent.

    Pegasos (``eta_t = 1/(lam t)``), or with ``eta`` a constant step; at a full budget the smallest point is removed,
    projected on all the rest, or merged with the partner that loses least (gaussian kernel only).

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BSGD(maintenance="merge").eviction
    Merge()
    """
    rules: dict[str, type[Eviction]] = {"remove": RemoveSmallest, "project": ProjectSmallest, "merge": Merge}
    step = PegasosStep(lam=lam) if eta is None else GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, rules[maintenance]())


@named(
    "Koppel, Warnell, Stump and Ribeiro 2019, in their comparison",
    "Parsimonious Online Learning with Kernels via Sparse Projections in Function Space",
    regressor={"loss": "epsilon_insensitive"},
    budget=500,
)
def NPBSGD(
    lam: Regularisation = 0.01,
    beta: Annotated[
        float,
        Note(
            "β as a fraction of the horizon: until then the budget is kept, from then on it grows, ever faster.",
            limits={"above": 0},
        ),
    ] = 0.5,
    maintenance: Annotated[
        str,
        Note(
            "Whether the smallest point of a full set is removed, or projected on the five points nearest to it.",
            choices=("remove", "project"),
        ),
    ] = "remove",
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
    horizon: Annotated[
        int | None,
        Note(
            "T: how many rows `partial_fit` will see in all; `fit` knows it.",
            "Without it the budget never grows.",
            limits={"at_least": 1},
        ),
    ] = None,
) -> FirstOrder:
    """BSGD whose budget grows late in the stream.

    A full set loses its smallest point with probability ``min(1, beta T/t)`` over a ``horizon`` of T rows; otherwise
    the budget itself grows by one.

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
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), PegasosStep(lam=lam), rule)


@named(
    "Le, Nguyen, Nguyen and Phung 2016",
    "Dual Space Gradient Descent for Online Learning",
    regressor={"loss": "epsilon_insensitive"},
    budget=500,
)
def DualSGD(
    lam: Regularisation = 0.01,
    n_components: Annotated[int, Note("D: the number of random Fourier features.", part="MoveIntoFeatures")] = 200,
    k: Annotated[int, Note("How many points move at once.", part="MoveIntoFeatures")] = 20,
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Dual space gradient descent: small points become random features.

    ``f(x) = sum a_i k(s_i, x) + W . phi(x)`` with ``n_components`` random Fourier features of the gaussian kernel; at a
    full budget the ``k`` smallest old points leave the sum and ``a_i phi(s_i)`` is added to ``W``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.DualSGD(n_components=100, k=5).eviction
    MoveIntoFeatures(n_components=100, k=5)
    """
    rule = MoveIntoFeatures(n_components=n_components, k=k)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), PegasosStep(lam=lam), rule)
