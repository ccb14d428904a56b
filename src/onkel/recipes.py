"""The learners of the literature, each as a choice of parts: one row of the table :data:`onkel.catalogue.LEARNERS`.

With their default parameters they are

==========  ==========  ================  ===========================  =====================  =======
learner     loss        admission         step                         eviction               output
==========  ==========  ================  ===========================  =====================  =======
Perceptron  perceptron  OnMistake         GradientStep                 Stop                   last
OGD         hinge       OnGradient        GradientStep                 Stop                   last
PA          hinge       OnGradient        PassiveAggressiveStep        Stop                   last
Pegasos     hinge       OnGradient        PegasosStep                  Stop                   last
FSGD        hinge       OnGradient        GradientStep                 Stop                   last
KLR         log_loss    AuxiliaryShift    GradientStep                 Stop                   average
OSKL        log_loss    GradientSampling  ImportanceStep               Stop                   average
SPA         hinge       LossSampling      SparsePassiveAggressiveStep  Stop                   average
RBP         perceptron  OnMistake         GradientStep                 RemoveRandom           last
Forgetron   perceptron  OnMistake         GradientStep                 ShrinkAndRemoveOldest  last
NORMA       hinge       OnGradient        GradientStep                 RemoveOldest           last
BPA         hinge       OnGradient        PassiveAggressiveStep        ProjectOnNewcomer      last
BOGD        hinge       OnGradient        GradientStep                 ResampleUniformly      last
BSGD        hinge       OnGradient        PegasosStep                  RemoveSmallest         last
NPBSGD      hinge       OnGradient        PegasosStep                  RemoveSmallest         last
DualSGD     hinge       OnGradient        PegasosStep                  MoveIntoFeatures       last
Projectron  perceptron  OnMistake         GradientStep                 ProjectNewcomer        last
POLK        hinge       OnGradient        GradientStep                 KOMP                   last
==========  ==========  ================  ===========================  =====================  =======

and, among the second-order learners,

=======  ========  =============  =================  ============  ======
learner  loss      prior          dictionary         memory        output
=======  ========  =============  =================  ============  ======
Newton   log_loss  GaussianPrior  GrowingDictionary  StreamMemory  last
=======  ========  =============  =================  ============  ======

A learner with the eviction ``Stop`` keeps every row that it admits until its budget is full.

Parts combine freely: OSKL's sampling with RBP's budget rule is

>>> from dataclasses import replace
>>> import onkel
>>> from onkel.parts import RemoveRandom, ResampleUniformly
>>> from sklearn.datasets import make_moons
>>> X, y = make_moons(2000, noise=0.1, random_state=0)
>>> recipe = replace(onkel.recipes.OSKL(G=2), eviction=RemoveRandom(), average=False)
>>> model = onkel.KernelClassifier(recipe, budget=50, gamma=2.0, random_state=0).fit(X, y)
>>> model.n_support_, model.score(X, y) > 0.9
(50, True)

and SPA with BOGD's is

>>> recipe = replace(onkel.recipes.SPA(eta=0.5, beta=2.0), eviction=ResampleUniformly(cap=0.5), average=False)
>>> model = onkel.KernelClassifier(recipe, budget=50, gamma=2.0, random_state=0).fit(X, y)
>>> model.n_support_, model.score(X, y) > 0.9
(50, True)
"""

from __future__ import annotations

import warnings
from typing import Annotated

from onkel.catalogue import named
from onkel.parameters import Note
from onkel.parts import (
    KOMP,
    Admission,
    AggressiveProjection,
    AggressiveProjection2008,
    Always,
    AuxiliaryCutoff,
    AuxiliaryScale,
    AuxiliaryShift,
    DecayingStep,
    Eviction,
    FadingMemory,
    FirstOrder,
    GaussianPrior,
    GradientSampling,
    GradientStep,
    GrowAtRandom,
    GrowingDictionary,
    HardPassiveAggressiveStep,
    ImportanceStep,
    LossSampling,
    MarginSampling,
    Merge,
    MoveIntoFeatures,
    OnGradient,
    OnMistake,
    PacedLossSampling,
    PassiveAggressiveStep,
    PegasosStep,
    PerceptronLoss,
    ProjectCheapest,
    Projection,
    ProjectNewcomer,
    ProjectOnNearest,
    ProjectOnNeighbour,
    ProjectOnNewcomer,
    ProjectSmallest,
    RandomPruning,
    RemoveOldest,
    RemoveRandom,
    RemoveSmallest,
    Resample,
    ResampleByWeight,
    ResampleUniformly,
    SecondOrder,
    ShrinkAndRemoveOldest,
    SparsePassiveAggressiveStep,
    SquaredPassiveAggressiveStep,
    Step,
    StreamMemory,
    loss_named,
)

# A paper of several learners, and their parameters.
ONLINE_LEARNING_WITH_KERNELS = "Kivinen, Smola and Williamson 2004", "Online Learning with Kernels"
StepSize = Annotated[float, Note("Step size η.", part="GradientStep")]
Shrinking = Annotated[
    float, Note("Regularisation λ: every step first shrinks the function by 1 - ηλ.", part="GradientStep")
]
Regularisation = Annotated[
    float, Note("Regularisation λ: steps of 1/(λt), and a shrink by 1 - 1/t.", part="PegasosStep")
]
Aggressiveness = Annotated[
    float, Note("Aggressiveness: the longest step (PA-I), or its softness (PA-II).", part="PassiveAggressiveStep")
]
AnyLoss = Annotated[str, Note("How wrong a score is (:mod:`onkel.parts.losses`).", kind="{losses}")]
Epsilon = Annotated[
    float,
    Note(
        'Half the width of the tube of loss "epsilon_insensitive", or where "huber" becomes straight.',
        part="EpsilonInsensitive",
        regression=True,
    ),
]
Radius = Annotated[float | None, Note("Radius of the ball that holds the function.", limits={"above": 0})]


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


@named(
    "Zhang, Jin, Chen, Bu and He",
    "Efficient Online Learning for Large-Scale Sparse Kernel Logistic Regression",
)
def KLR(
    sampling: Annotated[
        str,
        Note(
            "Algorithm 3 (auxiliary function), 2 (margin, needs η < 2) or 1 (NC: every row).",
            choices=("auxiliary", "margin", "none"),
        ),
    ] = "auxiliary",
    auxiliary: Annotated[
        str, Note("ln(γ + e^-z), ln(1 + γ e^-z) or max(l(z), l(δ)).", choices=("shift", "scale", "cutoff"))
    ] = "shift",
    shape: Annotated[
        float, Note("γ of the first two: the larger, the fewer support vectors.", part="AuxiliaryShift")
    ] = 2.0,
    cutoff: Annotated[
        float, Note("δ of the third: rows with a larger margin are never admitted.", part="AuxiliaryCutoff")
    ] = 1.0,
    eta: Annotated[
        float | None,
        Note("Step size η.", "None is R/√T where `R` and the number of rows are known, else 1.", part="GradientStep"),
    ] = None,
    R: Radius = None,
    horizon: Annotated[
        int | None,
        Note("T: how many rows `partial_fit` will see in all, for ``eta=None``.", limits={"at_least": 1}),
    ] = None,
) -> FirstOrder:
    """Sparse kernel logistic regression.

    ``sampling="none"`` is Algorithm 1 (NC: every row), "margin" Algorithm 2 with the probability of Equation (5),
    "auxiliary" Algorithm 3, Equation (6): ``p = l(z)/h(z)`` and a step along ``h(z) = ln(shape + e^-z)`` ("shift"),
    ``ln(1 + shape e^-z)`` ("scale") or ``max(l(z), l(cutoff))`` ("cutoff").

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.KLR(sampling="margin", eta=0.5).admission
    MarginSampling(eta=0.5)
    """
    if eta is None:
        eta = R / horizon**0.5 if R is not None and horizon is not None else 1.0
    step = GradientStep(eta=eta)
    admission: Admission = Always()
    if sampling == "margin":
        admission = MarginSampling(eta=eta)
    elif sampling == "auxiliary":
        transforms = {"shift": AuxiliaryShift, "scale": AuxiliaryScale}
        admission = AuxiliaryCutoff(cutoff=cutoff) if auxiliary == "cutoff" else transforms[auxiliary](shape=shape)
    return FirstOrder(loss_named("log_loss"), admission, step, ball=R, average=True)


@named(
    "Zhang, Yi, Jin, Lin and He 2013",
    "Online Kernel Learning with a Near Optimal Sparsity Bound",
    regressor={"loss": "squared_error", "eta": 0.5},
)
def OSKL(
    G: Annotated[
        float,
        Note(
            "Bound on the loss's slope: the larger, the fewer support vectors.",
            "A row is admitted with probability abs(slope)/G, and for sure beyond the bound.",
            part="GradientSampling",
        ),
    ] = 1.0,
    eta: Annotated[
        float | None,
        Note(
            "Step size η.",
            "None is 0.9/(LG) with L of the paper's Table 1, which has one for the log loss, the exponential loss and, "
            "with `delta`, the squared error; other losses need a step size.",
            part="ImportanceStep",
        ),
    ] = None,
    R: Radius = None,
    loss: AnyLoss = "log_loss",
    epsilon: Epsilon = 0.1,
    delta: Annotated[
        float | None,
        Note(
            "δ, for ``eta=None``: the residual below which the paper's bound does not count.",
            limits={"above": 0},
            regression=True,
        ),
    ] = None,
) -> FirstOrder:
    """Online sparse kernel learning, Algorithm 1.

    A row is admitted with probability ``|l'|/G`` and joins with ``-eta g/p`` (Equation (1)), so that the number of
    support vectors is bounded by the cumulative loss (Theorem 1). The constant ``L`` of the paper's Table 1 is 1
    for "log_loss" and "exponential" (labels of length 1), ``2/delta`` for "squared_error". ``G`` must bound the slope:
    it does for "log_loss" from 1 on; for the unbounded losses the step of a row beyond it stays unbiased. With several
    classes half of ``eta`` keeps the guarantee.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.OSKL(G=4).step
    ImportanceStep(eta=0.225)
    """
    admission = GradientSampling(G=G)
    if eta is None:
        if loss == "squared_error" and delta is not None:
            L = 2.0 / delta
        elif loss in ("log_loss", "exponential"):
            L = 1.0
        else:
            raise ValueError(f"eta must be given for OSKL with loss {loss!r} (or delta, with 'squared_error')")
        eta = 0.9 / (L * G)
    return FirstOrder(loss_named(loss, epsilon=epsilon), admission, ImportanceStep(eta=eta), ball=R, average=True)


@named(
    "Lu, Sahoo, Zhao and Hoi 2018",
    "Sparse Passive-Aggressive Learning for Bounded Online Kernel Methods",
    regressor={"loss": "epsilon_insensitive"},
)
def SPA(
    eta: Annotated[
        float | None,
        Note(
            "Aggressiveness η.",
            "None is α/β, which minimises the mistake bound of the paper's Theorem 5.1; α where β is the stream's.",
            part="SparsePassiveAggressiveStep",
        ),
    ] = None,
    alpha: Annotated[float, Note("α: a loss above it makes a row no likelier.", part="LossSampling")] = 1.0,
    beta: Annotated[
        float | str | None,
        Note(
            "β ≥ α: a row is admitted with probability min(α, loss)/β.",
            "None is α max(1, T/B) with the `budget` B over T rows (of `fit`, or `horizon`), so that "
            'E[support vectors] ≤ B; without these it is α. "stream" follows the losses, so that over T rows all of B '
            "is spent and no more.",
            kind='float or "stream"',
            part="LossSampling",
        ),
    ] = None,
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
    horizon: Annotated[
        int | None,
        Note("T: how many rows `partial_fit` will see in all, where `beta` is not given.", limits={"at_least": 1}),
    ] = None,
    budget: Annotated[
        int | None, Note("B: the support vectors to expect, where `beta` is not given.", limits={"at_least": 1})
    ] = None,
) -> FirstOrder:
    """Sparse passive-aggressive learning, Algorithm 1.

    A row is admitted with probability ``rho_t = min(alpha, l_t) / beta`` and joins with
    ``tau_t = min(eta / rho_t, l_t / k(x, x))`` (Proposition 1), so that ``E[support vectors] <= alpha T / beta``
    (Theorem 5.2). That bound is far from sharp where losses are small; with ``beta="stream"`` it is met.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.SPA(horizon=10_000, budget=500).admission
    LossSampling(alpha=1.0, beta=20.0)
    >>> recipes.SPA(horizon=10_000, budget=500, beta="stream").admission
    PacedLossSampling(alpha=1.0, points=500, horizon=10000)
    """
    admission: Admission
    if isinstance(beta, str):
        if horizon is None or budget is None:
            raise ValueError('beta="stream" spends a budget over a number of rows: it needs `budget` and `horizon`')
        admission, step = PacedLossSampling(alpha=alpha, points=budget, horizon=horizon), alpha
    else:
        if beta is None:
            beta = alpha * max(1.0, horizon / budget) if horizon is not None and budget is not None else alpha
        admission, step = LossSampling(alpha=alpha, beta=beta), alpha / beta
        if beta < alpha:
            warnings.warn(
                f"beta = {beta:g} is less than alpha = {alpha:g}: probabilities are cut at 1, "
                "where the paper's bounds do not hold",
                stacklevel=3,  # the caller of the recipe, beyond its check
            )
    return FirstOrder(
        loss_named(loss, epsilon=epsilon),
        admission,
        SparsePassiveAggressiveStep(eta=step if eta is None else eta),
        average=True,
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
    eta: StepSize = 0.5,
    lam: Shrinking = 1e-4,
    cap: Annotated[float, Note("The paper's γ: at a full budget no weight exceeds γη.", limits={"above": 0})] = 1.0,
    sampling: Annotated[
        str,
        Note(
            "Who leaves: any old point, or (BOGD++) the likelier the smaller its weight.",
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
            "Whether the smallest point just leaves a full set, or is projected on the five points nearest to it.",
            choices=("remove", "project"),
        ),
    ] = "remove",
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
    horizon: Annotated[
        int | None,
        Note(
            "T: how many rows `partial_fit` will see in all; `fit` knows.",
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
        budget = ProjectNewcomer(eta=eta if rule == "2009" else 0.0)
        return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), budget)
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
            "K: each step may move the function by ε = Kη^(3/2) (Corollary 1) to have fewer support vectors.",
            "With diminishing steps by ε_t = Kη_t^2.",
            limits={"above": 0},
        ),
    ] = 0.1,
    eps: Annotated[
        float | None, Note("ε itself, instead of `parsimony`; with diminishing steps that of the first.", part="KOMP")
    ] = None,
    prune: Annotated[
        str,
        Note(
            "Who leaves: the one whose loss the others can best make up for (and they do), or anyone.",
            choices=("komp", "random"),
        ),
    ] = "komp",
    schedule: Annotated[
        str,
        Note(
            "Of steps and ε: constant, or diminishing, η_t = η/(1 + ηλt) and ε_t = Kη_t^2 (Theorem 2).",
            "Constant ones end near the minimum of the risk, with finitely many points (Theorem 4); diminishing ones "
            "converge to it, with ever more points.",
            choices=("constant", "inverse"),
        ),
    ] = "constant",
    batch_size: Annotated[int, Note("Rows a step.", limits={"at_least": 1, "at_most": 2**31})] = 1,
    loss: AnyLoss = "hinge",
    epsilon: Epsilon = 0.1,
) -> FirstOrder:
    """Parsimonious online learning with kernels, Algorithm 1.

    Once a mini-batch ``f <- (1 - eta lam) f - (eta/b) sum g k(x, .)``; then points leave while the function stays
    within ``eps`` of that, by KOMP (Algorithm 2) or at random (Remark 6). Both may diminish (Table 1).

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
    budget = KOMP(**radius) if prune == "komp" else RandomPruning(**radius)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, budget, batch_size=batch_size)


@named(
    regressor={"loss": "squared_error"},
    lam="stream",
    gamma="stream",
    kernel="stream",
    relevances="stream",
    budget=800,
    fit_intercept=True,
)
def Newton(
    lam: Annotated[
        float,
        Note(
            "The prior's λ: functions of norm 1/√λ are as likely as not.",
            "With the squared error it is the variance of the noise over that of the function.",
            part="GaussianPrior",
            stream="it, as the width,",
        ),
    ] = 0.01,
    loss: AnyLoss = "log_loss",
    spread: Annotated[
        float,
        Note(
            "With the `budget` B there are at most √(tB/spread) support vectors after t rows.",
            "So it is full after spread B rows. Rare classes want more.",
            part="GrowingDictionary",
        ),
    ] = 8.0,
    forget: Annotated[
        float | str,
        Note(
            "By this factor ρ the weight of what was learned falls with every row; 1 forgets nothing.",
            'With "stream" memories of 10, 100 and 1000 rows and of all rows learn side by side, and the function is '
            "their mean, weighted by how well each has predicted; `fit` with `shuffle` uses the last alone.",
            kind='"stream" or float',
            part="FadingMemory",
        ),
    ] = "stream",
) -> SecondOrder:
    """Second-order steps on a budget (``docs/newton.md``): rows whose slope is above 0.1 move all coefficients.

    With the squared error every row does: recursive least squares, exact on the span of the support vectors.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Newton().prior
    GaussianPrior(lam=0.01)
    """
    loss_part = loss_named(loss)
    dictionary = GrowingDictionary(spread=spread, min_slope=0.0 if loss_part.regression else 0.1)
    memory = StreamMemory() if isinstance(forget, str) else FadingMemory(forget=forget)
    return SecondOrder(loss_part, GaussianPrior(lam=lam), dictionary, memory)
