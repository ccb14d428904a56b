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
"""

from __future__ import annotations

import warnings

from onkel._checks import check_choice, check_flag, check_number
from onkel.parts import (
    Admission,
    Always,
    AuxiliaryCutoff,
    AuxiliaryScale,
    AuxiliaryShift,
    DecayingStep,
    GradientSampling,
    GradientStep,
    HardPassiveAggressiveStep,
    ImportanceStep,
    LossSampling,
    MarginSampling,
    OnGradient,
    OnMistake,
    PassiveAggressiveStep,
    PegasosStep,
    PerceptronLoss,
    Recipe,
    SparsePassiveAggressiveStep,
    SquaredPassiveAggressiveStep,
    Step,
    loss_named,
)


def Perceptron() -> Recipe:
    """Rosenblatt's perceptron with a kernel: every mistake joins with coefficient ``y``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.Perceptron().step
    GradientStep(eta=1.0, lam=0.0)
    """
    return Recipe(PerceptronLoss(), OnMistake(), GradientStep(eta=1.0))


def OGD(eta: float = 0.5, lam: float = 0.0, loss: str = "hinge", epsilon: float = 0.1) -> Recipe:
    """Online gradient descent: ``f <- (1 - eta lam) f - eta g k(x, .)``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.OGD(eta=0.2).step
    GradientStep(eta=0.2, lam=0.0)
    """
    return Recipe(loss_named(loss, epsilon=epsilon), OnGradient(), GradientStep(eta=eta, lam=lam))


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
    return Recipe(loss_named(loss, epsilon=epsilon), OnGradient(), steps[variant])


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
    return Recipe(loss_named(loss), OnGradient(), step, ball=lam**-0.5 if project else None)


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
    return Recipe(loss_named(loss, epsilon=epsilon), OnGradient(), step)


def KLR(
    sampling: str = "auxiliary",
    auxiliary: str = "shift",
    shape: float = 2.0,
    cutoff: float = 1.0,
    eta: float | None = None,
    R: float | None = None,
    horizon: int | None = None,
) -> Recipe:
    """Sparse kernel logistic regression (Zhang, Jin, Yang, Hoi and Yang, "Online Kernel Learning with Sparsity").

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
    return Recipe(loss_named("log_loss"), admission, step, ball=R, average=True)


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
    return Recipe(loss_named(loss, epsilon=epsilon), admission, ImportanceStep(eta=eta), ball=R, average=True)


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
    return Recipe(
        loss_named(loss, epsilon=epsilon),
        LossSampling(alpha=alpha, beta=beta),
        SparsePassiveAggressiveStep(eta=alpha / beta if eta is None else eta),
        average=True,
    )
