"""Learners that admit rows at random, and so stay sparse without an eviction: KLR, OSKL and SPA."""

from __future__ import annotations

import warnings
from typing import Annotated

from onkel.catalogue import named
from onkel.parameters import Note
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
from onkel.recipes._parameters import AnyLoss, Epsilon, Radius


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
        Note(
            "Step size η.",
            "None is R/√T where `R` and the number of rows are known, else 1.",
            part="GradientStep",
        ),
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
            "A row is admitted with probability abs(slope)/G, and always beyond the bound.",
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
    if G < 1 and loss in ("log_loss", "hinge", "epsilon_insensitive"):
        warnings.warn(
            f"G = {G:g} is less than 1, the bound on the slope of {loss!r}: probabilities are cut at 1, "
            "where the paper's bounds do not hold",
            stacklevel=3,  # the caller of the recipe, beyond its check
        )
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
    alpha: Annotated[
        float,
        Note("α: larger losses do not make a row more likely to join.", part="LossSampling"),
    ] = 1.0,
    beta: Annotated[
        float | str | None,
        Note(
            "β ≥ α: a row is admitted with probability min(α, loss)/β.",
            "None is α max(1, T/B) with the `budget` B over T rows (of `fit`, or `horizon`), so that "
            'E[support vectors] ≤ B; without these it is α. "stream" follows the losses, so that over T rows all of '
            "B is spent and no more.",
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
        int | None,
        Note("B: the expected number of support vectors, where `beta` is not given.", limits={"at_least": 1}),
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
