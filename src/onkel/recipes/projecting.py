"""Learners that project onto the span of their points: the Projectron and POLK."""

from __future__ import annotations

from typing import Annotated

from onkel.catalogue import named
from onkel.parameters import Note
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
from onkel.recipes._parameters import AnyLoss, Epsilon, Shrinking


@named(
    "Orabona, Keshet and Caputo 2008, 2009",
    "Bounded Kernel-Based Online Learning",
    budget=500,
)
def Projectron(
    eta: Annotated[
        float,
        Note(
            "A mistake no further than η from the span of the support vectors is projected on it.",
            "So is every mistake once the budget is full.",
            limits={"above": 0},
        ),
    ] = 0.1,
    aggressive: Annotated[bool, Note("Projectron++: learn also from rows that are right by less than 1.")] = False,
    rule: Annotated[
        str,
        Note(
            "The rules of the journal paper, or those of the conference paper.",
            'The latter ("The Projectron") projects only when the budget is full.',
            choices=("2009", "2008"),
        ),
    ] = "2009",
) -> FirstOrder:
    """Projectron and, with ``aggressive``, Projectron++.

    A mistake no further than ``eta`` from the span of the points is replaced by its projection on it, and so is every
    one when the budget is full; with ``rule="2008"`` only then. Projectron++ also moves towards the projection of rows
    that are right by less than 1, by the rule of either paper, with ``U = sqrt((B+1)/ln(B+1))/4`` for a budget ``B``
    and ``1/eta`` without.

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


@named(
    "Koppel, Warnell, Stump and Ribeiro 2019",
    "Parsimonious Online Learning with Kernels via Sparse Projections in Function Space",
    regressor={"loss": "squared_error"},
)
def POLK(
    eta: Annotated[float, Note("Step size η, less than 1/λ.", part="GradientStep")] = 0.5,
    lam: Shrinking = 1e-3,
    parsimony: Annotated[
        float,
        Note(
            "K: each step may move the function by ε = Kη^(3/2) (Theorems 3 and 4) to have fewer support vectors.",
            "With diminishing steps by ε_t = Kη_t^2, of which Theorem 2 has K = 1.",
            limits={"above": 0},
        ),
    ] = 0.1,
    eps: Annotated[
        float | None, Note("ε itself, instead of `parsimony`; with diminishing steps that of the first.", part="KOMP")
    ] = None,
    prune: Annotated[
        str,
        Note(
            "Which point leaves: the one that the others can best replace (they are refitted), or a random one.",
            choices=("komp", "random"),
        ),
    ] = "komp",
    schedule: Annotated[
        str,
        Note(
            "Of steps and ε: constant, or diminishing, η_t = η/(1 + ηλt) and ε_t = Kη_t^2 (Theorem 2 with K = 1).",
            "Constant ones end near the minimum of the risk, with finitely many points (Theorem 4); diminishing ones "
            "converge to it, with ever more points.",
            choices=("constant", "inverse"),
        ),
    ] = "constant",
    batch_size: Annotated[int, Note("Rows per step.", limits={"at_least": 1, "at_most": 2**31})] = 1,
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Parsimonious online learning with kernels, Algorithm 2.

    Once a mini-batch ``f <- (1 - eta lam) f - (eta/b) sum g k(x, .)``; then points leave while the function stays
    within ``eps`` of that, by KOMP (Algorithm 1) or at random (as in Remark 6). Both may diminish (Table 1).

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
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, eviction, batch_size=batch_size)
