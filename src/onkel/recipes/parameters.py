"""The learners' own parameters: what each means, and what it may be.

A recipe's signature and the fields of its estimators name these, each with the default of its own. A parameter that two
learners have, with the same meaning, is one alias.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from onkel.parameters import Note
from onkel.parts import (
    KOMP,
    AuxiliaryCutoff,
    AuxiliaryShift,
    EpsilonInsensitive,
    FadingMemory,
    GaussianPrior,
    GradientSampling,
    GradientStep,
    GrowingDictionary,
    ImportanceStep,
    Loss,
    LossSampling,
    MoveIntoFeatures,
    PassiveAggressiveStep,
    PegasosStep,
    Quantile,
    SparsePassiveAggressiveStep,
)

# -- of several learners

LossChoice = Annotated[
    str | Loss, Note("The loss: how wrong a score is (:mod:`onkel.parts.losses`).", kind="{losses} or Loss")
]
Epsilon = Annotated[
    float,
    Note(
        'Half the width of the tube of loss "epsilon_insensitive", or the residual from which "huber" is linear.',
        part=EpsilonInsensitive,
    ),
]
QuantileLevel = Annotated[
    float, Note('Which quantile of the targets loss "quantile" is for: 0.5 is the median.', part=Quantile)
]
StepSize = Annotated[float, Note("Step size η.", part=GradientStep)]
Shrinking = Annotated[
    float, Note("Regularisation λ: every step first shrinks the function by 1 - ηλ.", part=GradientStep)
]
Regularisation = Annotated[
    float,
    Note("Regularisation λ: steps of 1/(λt), and a shrink by 1 - 1/t.", part=PegasosStep),
]
Radius = Annotated[float | None, Note("Radius of the ball that holds the function.", limits={"above": 0})]

# -- learners that keep every row they admit

PAAggressiveness = Annotated[
    float, Note("Aggressiveness: the longest step (PA-I), or its softness (PA-II).", part=PassiveAggressiveStep)
]
PAVariant = Annotated[str, Note("How far a step may go.", choices=("PA", "PA-I", "PA-II"))]
PegasosProject = Annotated[bool, Note("Keep the function in the ball of radius 1/√λ, which holds the optimum.")]
FSGDSchedule = Annotated[str, Note("η_t = η, or η/(1 + ηλt), which is O(1/t).", choices=("constant", "inverse"))]

# -- learners that admit rows at random

KLRSampling = Annotated[
    str,
    Note(
        "Algorithm 3 (auxiliary function), 2 (margin, needs η < 2) or 1 (NC: every row).",
        choices=("auxiliary", "margin", "none"),
    ),
]
KLRAuxiliary = Annotated[
    str, Note("ln(γ + e^-z), ln(1 + γ e^-z) or max(l(z), l(δ)).", choices=("shift", "scale", "cutoff"))
]
KLRShape = Annotated[float, Note("γ of the first two: the larger, the fewer support vectors.", part=AuxiliaryShift)]
KLRCutoff = Annotated[
    float, Note("δ of the third: rows with a larger margin are never admitted.", part=AuxiliaryCutoff)
]
KLRStepSize = Annotated[
    float | None,
    Note("Step size η.", "None is R/√T where `R` and the number of rows are known, else 1.", part=GradientStep),
]
KLRHorizon = Annotated[
    int | None,
    Note("T: how many rows `partial_fit` will see in all, for ``eta=None``.", limits={"at_least": 1}),
]
OSKLSlope = Annotated[
    float,
    Note(
        "Bound on the loss's slope: the larger, the fewer support vectors.",
        "A row is admitted with probability abs(slope)/G, and always beyond the bound.",
        part=GradientSampling,
    ),
]
OSKLStepSize = Annotated[
    float | None,
    Note(
        "Step size η.",
        "None is 0.9/(LG) with L of the paper's Table 1, which has one for the log loss, the exponential loss and, "
        "with `delta`, the squared error; other losses need a step size.",
        part=ImportanceStep,
    ),
]
OSKLDelta = Annotated[
    float | None,
    Note("δ, for ``eta=None``: the residual below which the paper's bound does not count.", limits={"above": 0}),
]
SPAAggressiveness = Annotated[
    float | None,
    Note(
        "Aggressiveness η.",
        "None is α/β, which minimises the mistake bound of the paper's Theorem 5.1; α where β is the stream's.",
        part=SparsePassiveAggressiveStep,
    ),
]
SPAAlpha = Annotated[float, Note("α: larger losses do not make a row more likely to join.", part=LossSampling)]
SPABeta = Annotated[
    float | str | None,
    Note(
        "β ≥ α: a row is admitted with probability min(α, loss)/β.",
        "None is α max(1, T/B) with the `budget` B over T rows (of `fit`, or `horizon`), so that "
        'E[support vectors] ≤ B; without these it is α. "stream" follows the losses, so that over T rows all of B '
        "is spent and no more.",
        kind='float or "stream"',
        part=LossSampling,
    ),
]
SPAHorizon = Annotated[
    int | None,
    Note("T: how many rows `partial_fit` will see in all, where `beta` is not given.", limits={"at_least": 1}),
]
SPABudget = Annotated[
    int | None,
    Note("B: the expected number of support vectors, where `beta` is not given.", limits={"at_least": 1}),
]

# -- learners that make room when the budget is full

BPAAggressiveness = Annotated[float, Note("Aggressiveness: the longest step.", part=PassiveAggressiveStep)]
BPAVariant = Annotated[
    str,
    Note(
        "What the leaving point is projected on: the newcomer, the newcomer and its own nearest neighbour, or all.",
        choices=("simple", "nearest", "project"),
    ),
]
BOGDCap = Annotated[
    float,
    Note(
        "The paper's γ: at a full budget no weight exceeds γη.",
        "With 1 every weight stays what it was, nothing makes up for the point that leaves, and both ways to draw it "
        "are one.",
        limits={"above": 0},
    ),
]
BOGDSampling = Annotated[
    str,
    Note(
        "How the point that leaves is drawn: uniformly, or (BOGD++) the likelier the smaller its weight.",
        choices=("uniform", "weighted"),
    ),
]
BSGDRegularisation = Annotated[float, Note("Regularisation λ; greater than 0 for ``eta=None``.", part=GradientStep)]
BSGDStepSize = Annotated[float | None, Note("Constant step size η.", "None is η_t = 1/(λt).", part=GradientStep)]
BSGDMaintenance = Annotated[
    str,
    Note(
        "The smallest point is removed, projected on all the rest, or merged with another (gaussian kernel only).",
        choices=("remove", "project", "merge"),
    ),
]
NPBSGDBeta = Annotated[
    float,
    Note(
        "β as a fraction of the horizon: until then the budget is kept, from then on it grows, ever faster.",
        limits={"above": 0},
    ),
]
NPBSGDMaintenance = Annotated[
    str,
    Note(
        "Whether the smallest point of a full set is removed, or projected on the five points nearest to it.",
        choices=("remove", "project"),
    ),
]
NPBSGDHorizon = Annotated[
    int | None,
    Note(
        "T: how many rows `partial_fit` will see in all; `fit` knows it.",
        "Without it the budget never grows.",
        limits={"at_least": 1},
    ),
]
DualSGDComponents = Annotated[int, Note("D: the number of random Fourier features.", part=MoveIntoFeatures)]
DualSGDMoved = Annotated[int, Note("How many points move at once.", part=MoveIntoFeatures)]

# -- learners that project

ProjectronEta = Annotated[
    float,
    Note(
        "A mistake no further than η from the span of the support vectors is projected on it.",
        "So is every mistake once the budget is full.",
        limits={"above": 0},
    ),
]
ProjectronAggressive = Annotated[bool, Note("Projectron++: learn also from rows that are right by less than 1.")]
ProjectronRule = Annotated[
    str,
    Note(
        "The rules of the journal paper, or those of the conference paper.",
        'The latter ("The Projectron") projects only when the budget is full.',
        choices=("2009", "2008"),
    ),
]
POLKStepSize = Annotated[float, Note("Step size η, less than 1/λ.", part=GradientStep)]
POLKParsimony = Annotated[
    float,
    Note(
        "K: each step may move the function by ε = Kη^(3/2) (Theorems 3 and 4) to have fewer support vectors.",
        "With diminishing steps by ε_t = Kη_t^2, of which Theorem 2 has K = 1.",
        limits={"above": 0},
    ),
]
POLKEps = Annotated[
    float | None, Note("ε itself, instead of `parsimony`; with diminishing steps that of the first.", part=KOMP)
]
POLKPrune = Annotated[
    str,
    Note(
        "Which point leaves: the one that the others can best replace (they are refitted), or a random one.",
        choices=("komp", "random"),
    ),
]
POLKSchedule = Annotated[
    str,
    Note(
        "Of steps and ε: constant, or diminishing, η_t = η/(1 + ηλt) and ε_t = Kη_t^2 (Theorem 2 with K = 1).",
        "Constant ones end near the minimum of the risk, with finitely many points (Theorem 4); diminishing ones "
        "converge to it, with ever more points.",
        choices=("constant", "inverse"),
    ),
]
POLKBatchSize = Annotated[int, Note("Rows per step.", limits={"at_least": 1, "at_most": 2**31})]

# -- second-order learners

_PRIOR = Note(
    "The prior's λ: it expects functions of norm about 1/√λ.",
    "With the squared error it is the variance of the noise over that of the function.",
    part=GaussianPrior,
)
PriorStrength = Annotated[float, _PRIOR]
ChosenPriorStrength = Annotated[float | str, replace(_PRIOR, stream="it, as the width,")]
Regions = Annotated[
    str | None,
    Note(
        "Whether rows are divided into regions, each with an expert of its own.",
        '"stream" divides those for which that is better, from 4,096 rows on: the expert that sees all rows has at '
        "most 800 support vectors then, those of regions 266 each, and all together at most `budget`. None, a kernel "
        "for which the stream chooses no relevances, and sparse rows stand for one region, for which the default of "
        "`budget` stands for 800.",
        choices=("stream",),
    ),
]
Spread = Annotated[
    float,
    Note(
        "With the `budget` B there are at most √(tB/spread) support vectors after t rows.",
        "So it is full after spread B rows. Rare classes need a larger spread.",
        part=GrowingDictionary,
    ),
]
Forget = Annotated[
    float | str,
    Note(
        "The factor ρ by which the weight of what was learned falls with every row; 1 forgets nothing.",
        'With "stream" memories of 10, 100 and 1000 rows and of all rows learn side by side, and the function is '
        "their mean, weighted by how well each has predicted; `fit` with `shuffle` uses only the last.",
        kind='"stream" or float',
        part=FadingMemory,
    ),
]
