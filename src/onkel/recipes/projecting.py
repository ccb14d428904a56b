"""Learners that project onto the span of their points: the Projectron and POLK."""

from __future__ import annotations

from onkel.parts import (
    KOMP,
    AggressiveProjection,
    AggressiveProjection2008,
    DecayingStep,
    FirstOrder,
    GradientStep,
    OnGradient,
    OnMistake,
    PerceptronLoss,
    Projection,
    ProjectNewcomer,
    RandomPruning,
    loss_named,
)
from onkel.recipes import parameters
from onkel.recipes.checked import checked


@checked
def Projectron(
    eta: parameters.ProjectronEta = 0.1,
    aggressive: parameters.ProjectronAggressive = False,
    rule: parameters.ProjectronRule = "2009",
) -> FirstOrder:
    """Projectron and, with ``aggressive``, Projectron++.

    A mistake no further than ``eta`` from the span of the points is replaced by its projection on it, and so is every
    one when the budget is full; with ``rule="2008"`` only then. Projectron++ also moves towards the projection of rows
    that are right by less than 1, by the rule of either paper, with ``U = sqrt((B+1)/ln(B+1))/4`` for a budget ``B``
    and ``1/eta`` without.

    References
    ----------
    Orabona, Keshet and Caputo 2008, 2009, "Bounded Kernel-Based Online Learning".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Projectron(eta=0.2).eviction
    ProjectNewcomer(eta=0.2)
    """
    if not aggressive:
        eviction = ProjectNewcomer(eta=eta if rule == "2009" else 0.0)
        return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), eviction)
    projection: type[Projection] = AggressiveProjection if rule == "2009" else AggressiveProjection2008
    return FirstOrder(loss_named("hinge"), OnGradient(), GradientStep(eta=1.0), projection(eta=eta))


@checked
def POLK(
    eta: parameters.POLKStepSize = 0.5,
    lam: parameters.Shrinking = 1e-3,
    parsimony: parameters.POLKParsimony = 0.1,
    eps: parameters.POLKEps = None,
    prune: parameters.POLKPrune = "komp",
    schedule: parameters.POLKSchedule = "constant",
    batch_size: parameters.POLKBatchSize = 1,
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
) -> FirstOrder:
    """Parsimonious online learning with kernels, Algorithm 2.

    Once a mini-batch ``f <- (1 - eta lam) f - (eta/b) sum g k(x, .)``; then points leave while the function stays
    within ``eps`` of that, by KOMP (Algorithm 1) or at random (as in Remark 6). Both may diminish (Table 1).

    References
    ----------
    Koppel, Warnell, Stump and Ribeiro 2019, "Parsimonious Online Learning with Kernels via Sparse Projections in
    Function Space".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.POLK(eta=4.0, lam=1e-6, parsimony=0.04).eviction
    KOMP(eps=0.32, decay=0.0)
    """
    diminishing = schedule == "inverse"
    step = DecayingStep(eta=eta, lam=lam) if diminishing else GradientStep(eta=eta, lam=lam)
    if eps is None:
        eps = parsimony * eta ** (2.0 if diminishing else 1.5)
    radius = {"eps": eps, "decay": eta * lam if diminishing else 0.0}
    eviction = KOMP(**radius) if prune == "komp" else RandomPruning(**radius)
    return FirstOrder(
        loss_named(loss, epsilon=epsilon, quantile=quantile), OnGradient(), step, eviction, batch_size=batch_size
    )
