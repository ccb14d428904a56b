"""Variants by the names that the literature gives them: each is a learner with one of its parameters set.

Each takes the other parameters of that learner.
"""

from __future__ import annotations

from typing import Any

from onkel.parts import FirstOrder
from onkel.recipes.budgeted import BOGD, BPA
from onkel.recipes.projecting import Projectron
from onkel.recipes.sampling import KLR
from onkel.recipes.unbudgeted import PA


def PAI(**parameters: Any) -> FirstOrder:
    """PA-I, steps cut at ``C``: `PA` with ``variant="PA-I"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.PAI(C=0.5).step
    PassiveAggressiveStep(C=0.5)
    """
    return PA(variant="PA-I", **parameters)


def PAII(**parameters: Any) -> FirstOrder:
    """PA-II, softer steps: `PA` with ``variant="PA-II"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.PAII(C=0.5).step
    SquaredPassiveAggressiveStep(C=0.5)
    """
    return PA(variant="PA-II", **parameters)


def KLRMargin(**parameters: Any) -> FirstOrder:
    """Sparse kernel logistic regression, Algorithm 2 (Margin): `KLR` with ``sampling="margin"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.KLRMargin(eta=0.5).admission
    MarginSampling(eta=0.5)
    """
    return KLR(sampling="margin", **parameters)


def KLRAuxiliary(**parameters: Any) -> FirstOrder:
    """Sparse kernel logistic regression, Algorithm 3 (Auxiliary): `KLR` with ``sampling="auxiliary"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.KLRAuxiliary(shape=11).admission
    AuxiliaryShift(shape=11)
    """
    return KLR(sampling="auxiliary", **parameters)


def BOGDPlusPlus(**parameters: Any) -> FirstOrder:
    """BOGD++, which draws by weight the point that leaves: `BOGD` with ``sampling="weighted"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BOGDPlusPlus(eta=0.5, cap=4).eviction
    ResampleByWeight(cap=2.0)
    """
    return BOGD(sampling="weighted", **parameters)


def ProjectronPlusPlus(**parameters: Any) -> FirstOrder:
    """Projectron++, which learns from small margins, too: `Projectron` with ``aggressive=True``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.ProjectronPlusPlus(eta=0.2).eviction
    AggressiveProjection(eta=0.2)
    """
    return Projectron(aggressive=True, **parameters)


def BPAS(**parameters: Any) -> FirstOrder:
    """BPA-S, which projects on the newcomer: `BPA` with ``variant="simple"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BPAS(C=0.5).eviction
    ProjectOnNewcomer()
    """
    return BPA(variant="simple", **parameters)


def BPANN(**parameters: Any) -> FirstOrder:
    """BPA-NN, which projects on the newcomer and a nearest neighbour: `BPA` with ``variant="nearest"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BPANN().eviction
    ProjectOnNeighbour()
    """
    return BPA(variant="nearest", **parameters)


def BPAP(**parameters: Any) -> FirstOrder:
    """BPA-P, which projects on all points: `BPA` with ``variant="project"``.

    Examples
    --------
    >>> from onkel import recipes
    >>> recipes.BPAP().eviction
    ProjectCheapest()
    """
    return BPA(variant="project", **parameters)
