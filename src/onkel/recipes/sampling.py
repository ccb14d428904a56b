"""Learners that admit rows at random, and so stay sparse without an eviction: KLR, OSKL and SPA."""

from __future__ import annotations

import warnings

from onkel.parts import (
    Admission,
    Always,
    AuxiliaryCutoff,
    AuxiliaryScale,
    AuxiliaryShift,
    FirstOrder,
    GradientSampling,
    GradientStep,
    ImportanceStep,
    LossSampling,
    MarginSampling,
    PacedLossSampling,
    SparsePassiveAggressiveStep,
    loss_named,
)
from onkel.recipes import parameters
from onkel.recipes.checked import checked


@checked
def KLR(
    sampling: parameters.KLRSampling = "auxiliary",
    auxiliary: parameters.KLRAuxiliary = "shift",
    shape: parameters.KLRShape = 2.0,
    cutoff: parameters.KLRCutoff = 1.0,
    eta: parameters.KLRStepSize = None,
    R: parameters.Radius = None,
    horizon: parameters.KLRHorizon = None,
) -> FirstOrder:
    """Sparse kernel logistic regression.

    ``sampling="none"`` is Algorithm 1 (NC: every row), "margin" Algorithm 2 with the probability of Equation (5),
    "auxiliary" Algorithm 3, Equation (6): ``p = l(z)/h(z)`` and a step along ``h(z) = ln(shape + e^-z)`` ("shift"),
    ``ln(1 + shape e^-z)`` ("scale") or ``max(l(z), l(cutoff))`` ("cutoff").

    References
    ----------
    Zhang, Jin, Chen, Bu and He, "Efficient Online Learning for Large-Scale Sparse Kernel Logistic Regression".

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


@checked
def OSKL(
    G: parameters.OSKLSlope = 1.0,
    eta: parameters.OSKLStepSize = None,
    R: parameters.Radius = None,
    loss: parameters.LossChoice = "log_loss",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
    delta: parameters.OSKLDelta = None,
) -> FirstOrder:
    """Online sparse kernel learning, Algorithm 1.

    A row is admitted with probability ``|l'|/G`` and joins with ``-eta g/p`` (Equation (1)), so that the number of
    support vectors is bounded by the cumulative loss (Theorem 1). That is nearly the least there can be: for any n
    there is a sequence on which a learner of fewer than n points has a regret of at least a multiple of T/n (Theorem
    2). The constant ``L`` of the paper's Table 1 is 1 for "log_loss" and "exponential" (labels of length 1),
    ``2/delta`` for "squared_error". ``G`` must bound the slope: it does for "log_loss" from 1 on; for the unbounded
    losses the step of a row beyond it stays unbiased. With several classes half of ``eta`` keeps the guarantee.

    References
    ----------
    Zhang, Yi, Jin, Lin and He 2013, "Online Kernel Learning with a Near Optimal Sparsity Bound".

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.OSKL(G=4).step
    ImportanceStep(eta=0.225)
    """
    admission, chosen = GradientSampling(G=G), loss_named(loss, epsilon=epsilon, quantile=quantile)
    if G < 1 and chosen.name in ("log_loss", "hinge", "epsilon_insensitive"):
        warnings.warn(
            f"G = {G:g} is less than 1, the bound on the slope of {chosen.name!r}: probabilities are cut at 1, "
            "where the paper's bounds do not hold",
            stacklevel=3,  # the caller of the recipe, beyond its check
        )
    if eta is None:
        if chosen.name == "squared_error" and delta is not None:
            L = 2.0 / delta
        elif chosen.name in ("log_loss", "exponential"):
            L = 1.0
        else:
            raise ValueError(f"eta must be given for OSKL with loss {chosen.name!r} (or delta, with 'squared_error')")
        eta = 0.9 / (L * G)
    return FirstOrder(chosen, admission, ImportanceStep(eta=eta), ball=R, average=True)


@checked
def SPA(
    eta: parameters.SPAAggressiveness = None,
    alpha: parameters.SPAAlpha = 1.0,
    beta: parameters.SPABeta = None,
    loss: parameters.LossChoice = "hinge",
    epsilon: parameters.Epsilon = 0.1,
    quantile: parameters.QuantileLevel = 0.5,
    horizon: parameters.SPAHorizon = None,
    budget: parameters.SPABudget = None,
) -> FirstOrder:
    """Sparse passive-aggressive learning, Algorithm 1.

    A row is admitted with probability ``rho_t = min(alpha, l_t) / beta`` and joins with
    ``tau_t = min(eta / rho_t, l_t / k(x, x))`` (Proposition 1), so that ``E[support vectors] <= alpha T / beta``
    (Theorem 5.2). That bound is far from sharp where losses are small; with ``beta="stream"`` it is met.

    References
    ----------
    Lu, Sahoo, Zhao and Hoi 2018, "Sparse Passive-Aggressive Learning for Bounded Online Kernel Methods".

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
        loss_named(loss, epsilon=epsilon, quantile=quantile),
        admission,
        SparsePassiveAggressiveStep(eta=step if eta is None else eta),
        average=True,
    )
