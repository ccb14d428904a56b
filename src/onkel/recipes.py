"""The learners of the literature, each as one row of parts.

===========  ===================  =======================  ==============================  =======
learner      loss                 admission                step                            output
===========  ===================  =======================  ==============================  =======
Perceptron   perceptron           every mistake            1                               last
OGD          any                  any gradient             eta, shrink 1 - eta lam         last
PA           hinge, eps-insens.   any loss                 min(C, l/k(x,x))                last
Pegasos      hinge                any gradient             1/(lam t), shrink 1 - 1/t       last
FSGD         any                  any gradient             eta_t, shrink 1 - eta_t lam     last
KLR          log                  all, margin, auxiliary   eta                             average
OSKL         log, exp, squared    |g|/G                    eta g/p                         average
SPA          hinge, eps-insens.   min(alpha,l)/beta        min(eta/p, l/k(x,x))            average
===========  ===================  =======================  ==============================  =======

With a budget, and what happens when it is full (all predict with the last function):

===========  ===================  ==============  ============================  =====================================
learner      loss                 admission       step                          at a full budget
===========  ===================  ==============  ============================  =====================================
RBP          perceptron           every mistake   1                             a random old point leaves
Forgetron    perceptron           every mistake   1                             all shrink, the oldest leaves
NORMA        any                  any gradient    eta, shrink 1 - eta lam       the oldest leaves
BPA          hinge                any loss        min(C, l/k(x,x))              the cheapest is projected
BOGD         any                  any gradient    eta, shrink 1 - eta lam       one is drawn, the others make up
BSGD         any                  any gradient    1/(lam t), shrink 1 - 1/t     the smallest is removed or merged
NPBSGD       any                  any gradient    1/(lam t), shrink 1 - 1/t     the smallest leaves or the budget grows
DualSGD      any                  any gradient    1/(lam t), shrink 1 - 1/t     the smallest become random features
Projectron   perceptron, hinge    every mistake   1, tau                        newcomers are projected on the span
POLK         any                  any gradient    eta, shrink 1 - eta lam       KOMP within eps, once a mini-batch
===========  ===================  ==============  ============================  =====================================

Of the second order, with a budget:

===========  ===================  ==============  ============================  =====================================
learner      loss                 admission       step                          at a full budget
===========  ===================  ==============  ============================  =====================================
Newton       log, squared hinge,  slope above     Newton's, on all              nobody comes
             squared error        0.1 (0)         coefficients at once
===========  ===================  ==============  ============================  =====================================

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
    Forget,
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
    Recipe,
    RemoveOldest,
    RemoveRandom,
    RemoveSmallest,
    Resample,
    ResampleByWeight,
    ResampleUniformly,
    SecondOrder,
    SparsePassiveAggressiveStep,
    SquaredPassiveAggressiveStep,
    Step,
    loss_named,
)
from onkel.utils.validation import check_choice, check_flag, check_number


def Perceptron() -> Recipe:
    """Rosenblatt's perceptron with a kernel: every mistake joins with coefficient ``y``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Perceptron().step
    GradientStep(eta=1.0, lam=0.0)
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0))


def OGD(eta: float = 0.5, lam: float = 0.0, loss: str = "hinge", epsilon: float = 0.1) -> Recipe:
    """Online gradient descent: ``f <- (1 - eta lam) f - eta g k(x, .)``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.OGD(eta=0.2).step
    GradientStep(eta=0.2, lam=0.0)
    """
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), GradientStep(eta=eta, lam=lam))


def PA(C: float = 1.0, variant: str = "PA-I", loss: str = "hinge", epsilon: float = 0.1) -> Recipe:
    """Passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006).

    Each row with a loss joins with the step that removes the loss, ``l/k(x, x)`` (PA), that step cut at ``C`` (PA-I),
    or the softer ``l/(k(x, x) + 1/(2C))`` (PA-II).

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.PA(C=0.5).step
    PassiveAggressiveStep(C=0.5)
    """
    check_choice("variant", variant, ("PA", "PA-I", "PA-II"))
    steps: dict[str, Step] = {
        "PA": HardPassiveAggressiveStep(),
        "PA-I": PassiveAggressiveStep(C=C),
        "PA-II": SquaredPassiveAggressiveStep(C=C),
    }
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), steps[variant])


def Pegasos(lam: float = 0.01, project: bool = False, loss: str = "hinge") -> Recipe:
    """Pegasos (Shalev-Shwartz, Singer and Srebro 2007): ``eta_t = 1/(lam t)``, shrink ``1 - 1/t``.

    With ``project`` the function is kept in the ball of radius ``1/sqrt(lam)``, which holds the optimum.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Pegasos(lam=0.04, project=True).ball
    5.0
    """
    check_flag("project", project)
    step = PegasosStep(lam=lam)
    return FirstOrder(loss_named(loss), OnGradient(), step, ball=lam**-0.5 if project else None)


def FSGD(
    eta: float = 0.5,
    lam: float = 1e-4,
    schedule: str = "constant",
    loss: str = "hinge",
    epsilon: float = 0.1,
) -> Recipe:
    """Functional stochastic gradient descent (Kivinen, Smola and Williamson 2004), any loss.

    ``schedule="constant"`` keeps ``eta``; "inverse" has ``eta_t = eta/(1 + eta lam t)``, which is O(1/t).

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.FSGD(schedule="inverse", lam=0.1).step
    DecayingStep(eta=0.5, lam=0.1)
    """
    check_choice("schedule", schedule, ("constant", "inverse"))
    step = GradientStep(eta=eta, lam=lam) if schedule == "constant" else DecayingStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step)


def KLR(
    sampling: str = "auxiliary",
    auxiliary: str = "shift",
    shape: float = 2.0,
    cutoff: float = 1.0,
    eta: float | None = None,
    R: float | None = None,
    horizon: int | None = None,
) -> Recipe:
    """Sparse kernel logistic regression (Zhang, Jin, Chen, Bu and He, "Efficient Online Learning for ...").

    ``sampling="none"`` is Algorithm 1 (NC: every row), "margin" Algorithm 2 with the probability of Equation (5),
    "auxiliary" Algorithm 3, Equation (6): ``p = l(z)/h(z)`` and a step along ``h(z) = ln(shape + e^-z)`` ("shift"),
    ``ln(1 + shape e^-z)`` ("scale") or ``max(l(z), l(cutoff))`` ("cutoff"). Without ``eta`` it is the papers'
    ``R/sqrt(T)`` where ``R`` and ``horizon`` are known, else 1.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.KLR(sampling="margin", eta=0.5).admission
    MarginSampling(eta=0.5)
    """
    check_choice("sampling", sampling, ("none", "margin", "auxiliary"))
    check_choice("auxiliary", auxiliary, ("shift", "scale", "cutoff"))
    if R is not None:
        check_number("R", R, above=0)
    if horizon is not None:
        check_number("horizon", horizon, at_least=1, integer=True)
    if eta is None:
        eta = R / horizon**0.5 if R is not None and horizon is not None else 1.0
    step = GradientStep(eta=eta)
    admission: Admission = Always()
    if sampling == "margin":
        admission = MarginSampling(eta=eta)
    elif sampling == "auxiliary":
        made = {"shift": AuxiliaryShift, "scale": AuxiliaryScale}
        admission = AuxiliaryCutoff(cutoff=cutoff) if auxiliary == "cutoff" else made[auxiliary](shape=shape)
    return FirstOrder(loss_named("log_loss"), admission, step, ball=R, average=True)


def OSKL(
    G: float = 1.0,
    eta: float | None = None,
    R: float | None = None,
    loss: str = "log_loss",
    epsilon: float = 0.1,
    delta: float | None = None,
) -> Recipe:
    """Online sparse kernel learning (Zhang, Yi, Jin, Lin and He 2013), Algorithm 1.

    A row is admitted with probability ``|l'|/G`` and joins with ``-eta g/p`` (Equation (1)), so that the number of
    support vectors is bounded by the cumulative loss (Theorem 1). Without ``eta`` it is ``0.9/(L G)`` with the constant
    ``L`` of the paper's Table 1: 1 for "log_loss" and "exponential" (labels of length 1), ``2/delta`` for
    "squared_error" (residuals below ``delta`` are outside the theorem). ``G`` must bound the slope: it does for
    "log_loss" from 1 on; for the unbounded losses a row beyond it is admitted for sure and its step stays unbiased.
    With several classes half of ``eta`` keeps the guarantee.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.OSKL(G=4).step
    ImportanceStep(eta=0.225)
    """
    admission = GradientSampling(G=G)
    if eta is None:
        if loss == "squared_error" and delta is not None:
            check_number("delta", delta, above=0)
            L = 2.0 / delta
        elif loss in ("log_loss", "exponential"):
            L = 1.0
        else:
            raise ValueError(f"eta must be given for OSKL with loss {loss!r} (or delta, with 'squared_error')")
        eta = 0.9 / (L * G)
    return FirstOrder(loss_named(loss, epsilon=epsilon), admission, ImportanceStep(eta=eta), ball=R, average=True)


def SPA(
    eta: float | None = None,
    alpha: float = 1.0,
    beta: float | None = None,
    loss: str = "hinge",
    epsilon: float = 0.1,
    horizon: int | None = None,
    budget: int | None = None,
) -> Recipe:
    """Sparse passive-aggressive learning (Lu, Sahoo, Zhao and Hoi 2018), Algorithm 1.

    A row is admitted with probability ``rho_t = min(alpha, l_t) / beta`` and joins with
    ``tau_t = min(eta / rho_t, l_t / k(x, x))`` (Proposition 1), so that ``E[support vectors] <= alpha T / beta``
    (Theorem 5.2). Without ``beta`` that bound is set to ``budget`` over ``horizon`` rows; without ``eta`` it is
    ``alpha / beta``, which minimises the mistake bound of Theorem 5.1.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.SPA(horizon=10_000, budget=500).admission
    LossSampling(alpha=1.0, beta=20.0)
    """
    check_number("alpha", alpha, above=0)
    if horizon is not None:
        check_number("horizon", horizon, at_least=1, integer=True)
    if budget is not None:
        check_number("budget", budget, at_least=1, integer=True)
    if beta is None:
        spread = max(1.0, horizon / budget) if horizon is not None and budget is not None else 1.0
        beta = alpha * spread
    check_number("beta", beta, above=0)
    if beta < alpha:
        warnings.warn(
            f"beta = {beta:g} is less than alpha = {alpha:g}: probabilities are cut at 1, "
            "where the paper's bounds do not hold",
            stacklevel=2,
        )
    return FirstOrder(
        loss_named(loss, epsilon=epsilon),
        LossSampling(alpha=alpha, beta=beta),
        SparsePassiveAggressiveStep(eta=alpha / beta if eta is None else eta),
        average=True,
    )


def RBP() -> Recipe:
    """Randomized budget perceptron (Cavallanti, Cesa-Bianchi and Gentile 2007): a random old point makes room.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.RBP().eviction
    RemoveRandom()
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), RemoveRandom())


def Forgetron() -> Recipe:
    """The self-tuned Forgetron (Dekel, Shalev-Shwartz and Singer 2008): old points fade before they leave.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Forgetron().eviction
    Forget()
    """
    return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), Forget())


def NORMA(eta: float = 0.5, lam: float = 1e-3, loss: str = "hinge", epsilon: float = 0.1) -> Recipe:
    """Gradient descent on a window (Kivinen, Smola and Williamson 2004): coefficients fade, the oldest point leaves.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.NORMA(eta=0.2, lam=0.01).step
    GradientStep(eta=0.2, lam=0.01)
    """
    step = GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, RemoveOldest())


def BPA(C: float = 1.0, variant: str = "simple", loss: str = "hinge") -> Recipe:
    """Budgeted passive-aggressive learning (Wang and Vucetic 2010).

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
    check_choice("variant", variant, rules)
    return FirstOrder(loss_named(loss), OnGradient(), PassiveAggressiveStep(C=C), rules[variant]())


def BOGD(
    eta: float = 0.5,
    lam: float = 1e-4,
    cap: float = 1.0,
    sampling: str = "uniform",
    loss: str = "hinge",
    epsilon: float = 0.1,
) -> Recipe:
    """Bounded online gradient descent (Zhao, Wang, Wu, Jin and Hoi 2012), Algorithm 1.

    At a full budget an old point is drawn and leaves, uniformly or, as in BOGD++ ("weighted"), the likelier the smaller
    its weight; the others grow by ``1/(1 - p)`` up to ``cap * eta`` (the paper's γη), Equation (10).

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BOGD(eta=0.5, cap=4, sampling="weighted").eviction
    ResampleByWeight(cap=2.0)
    """
    rules: dict[str, type[Resample]] = {"uniform": ResampleUniformly, "weighted": ResampleByWeight}
    check_choice("sampling", sampling, rules)
    check_number("cap", cap, above=0)
    step = GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, rules[sampling](cap=cap * eta))


def BSGD(
    lam: float = 0.01,
    eta: float | None = None,
    maintenance: str = "remove",
    loss: str = "hinge",
    epsilon: float = 0.1,
) -> Recipe:
    """Budgeted stochastic gradient descent (Wang, Crammer and Vucetic 2012).

    Pegasos (``eta_t = 1/(lam t)``), or with ``eta`` a constant step; at a full budget the smallest point is removed,
    projected on all the rest, or merged with the partner that loses least (gaussian kernel only).

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BSGD(maintenance="merge").eviction
    Merge()
    """
    rules: dict[str, type[Eviction]] = {"remove": RemoveSmallest, "project": ProjectSmallest, "merge": Merge}
    check_choice("maintenance", maintenance, rules)
    step = PegasosStep(lam=lam) if eta is None else GradientStep(eta=eta, lam=lam)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, rules[maintenance]())


def NPBSGD(
    lam: float = 0.01,
    beta: float = 0.5,
    maintenance: str = "remove",
    loss: str = "hinge",
    epsilon: float = 0.1,
    horizon: int | None = None,
) -> Recipe:
    """BSGD whose budget grows late in the stream.

    A full set loses its smallest point with probability ``min(1, beta T/t)`` over a ``horizon`` of T rows; otherwise
    the budget itself grows by one. Without a horizon it never grows. The point that leaves is removed, or replaced by
    its projection on the five points nearest to it.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.NPBSGD(beta=0.5, horizon=10_000).eviction
    GrowAtRandom(beta=5000.0, eviction=RemoveSmallest())
    """
    check_number("beta", beta, above=0)
    if horizon is not None:
        check_number("horizon", horizon, at_least=1, integer=True)
    check_choice("maintenance", maintenance, ("remove", "project"))
    rule: Eviction
    if maintenance == "remove":
        rule = RemoveSmallest() if horizon is None else GrowAtRandom(beta=beta * horizon)
    else:
        rule = ProjectOnNearest() if horizon is None else GrowAtRandom(beta=beta * horizon, eviction=ProjectOnNearest())
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), PegasosStep(lam=lam), rule)


def DualSGD(
    lam: float = 0.01,
    n_components: int = 200,
    k: int = 20,
    loss: str = "hinge",
    epsilon: float = 0.1,
) -> Recipe:
    """Dual space gradient descent (Le, Nguyen, Nguyen and Phung 2016): small points become random features.

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


def Projectron(eta: float = 0.1, aggressive: bool = False, rule: str = "2009") -> Recipe:
    """Projectron and, with ``aggressive``, Projectron++ (Orabona, Keshet and Caputo 2008, 2009).

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
    check_number("eta", eta, above=0)
    check_flag("aggressive", aggressive)
    check_choice("rule", rule, ("2009", "2008"))
    if not aggressive:
        budget = ProjectNewcomer(eta=eta if rule == "2009" else 0.0)
        return FirstOrder(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0), budget)
    made: type[Projection] = AggressiveProjection if rule == "2009" else AggressiveProjection2008
    return FirstOrder(loss_named("hinge"), OnGradient(), GradientStep(eta=1.0), made(eta=eta))


def POLK(
    eta: float = 0.5,
    lam: float = 1e-3,
    parsimony: float = 0.1,
    eps: float | None = None,
    prune: str = "komp",
    batch_size: int = 1,
    loss: str = "hinge",
    epsilon: float = 0.1,
) -> Recipe:
    """Parsimonious online learning with kernels (Koppel, Warnell, Stump and Ribeiro 2019), Algorithm 1.

    Once a mini-batch ``f <- (1 - eta lam) f - (eta/b) sum g k(x, .)``; then points leave while the function stays
    within ``eps`` of that, by KOMP (Algorithm 2) or at random (Remark 6). Without ``eps`` it is
    ``parsimony * eta^(3/2)``, the paper's ``K eta^(3/2)`` (Corollary 1). The paper needs ``eta < 1/lam``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.POLK(eta=4.0, lam=1e-6, parsimony=0.04).eviction
    KOMP(eps=0.32)
    """
    check_choice("prune", prune, ("komp", "random"))
    step = GradientStep(eta=eta, lam=lam)
    if eps is None:
        check_number("parsimony", parsimony, above=0)
        eps = parsimony * eta**1.5
    budget = KOMP(eps=eps) if prune == "komp" else RandomPruning(eps=eps)
    return FirstOrder(loss_named(loss, epsilon=epsilon), OnGradient(), step, budget, batch_size=batch_size)


def Newton(lam: float = 0.01, loss: str = "log_loss", spread: float = 8.0, forget: float = 1.0) -> Recipe:
    """Second-order steps on a budget (``docs/newton.md``): rows whose slope is above 0.1 move all coefficients.

    With the squared error every row does: recursive least squares, exact on the span of the support vectors.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Newton().prior
    GaussianPrior(lam=0.01)
    """
    made = loss_named(loss)
    dictionary = GrowingDictionary(spread=spread, min_slope=0.0 if made.regression else 0.1)
    return SecondOrder(made, GaussianPrior(lam=lam), dictionary, FadingMemory(forget=forget))
