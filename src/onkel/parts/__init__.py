"""The parts that learners are made of, as a user names them.

A learner answers a few questions, one after the other, for every row; each answer is a part, and any parts that fit
together make a learner (a :class:`FirstOrder` or a :class:`SecondOrder`). The named learners of the literature are the
rows of :mod:`onkel.recipes`. What a part does is written once, in the C++ core; here are its name, its numbers with
their ranges, and what it needs of the others.
"""

from __future__ import annotations

from typing import Any

from onkel.parts._part import Part
from onkel.parts.admissions import (
    Admission,
    Always,
    AuxiliaryCutoff,
    AuxiliarySampling,
    AuxiliaryScale,
    AuxiliaryShift,
    GradientSampling,
    LossSampling,
    MarginSampling,
    OnGradient,
    OnMistake,
)
from onkel.parts.evictions import (
    KOMP,
    AggressiveProjection,
    AggressiveProjection2008,
    Eviction,
    GrowAtRandom,
    Merge,
    MoveIntoFeatures,
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
    ShrinkAndRemoveOldest,
    Stop,
)
from onkel.parts.kernels import (
    COMBINATIONS,
    KERNELS,
    LIBSVM_KERNELS,
    RBF,
    CallableKernel,
    Hedge,
    Kernel,
    KernelProduct,
    KernelSum,
    Laplacian,
    Linear,
    PlainKernel,
    Polynomial,
    Sigmoid,
    kernel_named,
)
from onkel.parts.losses import (
    LOSSES,
    EpsilonInsensitive,
    Exponential,
    HingeLoss,
    Huber,
    LogLoss,
    Loss,
    PerceptronLoss,
    SquaredError,
    SquaredHinge,
    loss_named,
)
from onkel.parts.recipe import FirstOrder, Recipe, SecondOrder
from onkel.parts.second_order import (
    Dictionary,
    FadingMemory,
    GaussianPrior,
    GrowingDictionary,
    Memory,
    Prior,
    StreamMemory,
)
from onkel.parts.steps import (
    DecayingStep,
    GradientStep,
    HardPassiveAggressiveStep,
    ImportanceStep,
    PassiveAggressiveStep,
    PegasosStep,
    SparsePassiveAggressiveStep,
    SquaredPassiveAggressiveStep,
    Step,
)

__all__ = [
    "COMBINATIONS",
    "KERNELS",
    "KOMP",
    "LIBSVM_KERNELS",
    "LOSSES",
    "PARTS",
    "RBF",
    "Admission",
    "AggressiveProjection",
    "AggressiveProjection2008",
    "Always",
    "AuxiliaryCutoff",
    "AuxiliarySampling",
    "AuxiliaryScale",
    "AuxiliaryShift",
    "CallableKernel",
    "DecayingStep",
    "Dictionary",
    "EpsilonInsensitive",
    "Eviction",
    "Exponential",
    "FadingMemory",
    "FirstOrder",
    "GaussianPrior",
    "GradientSampling",
    "GradientStep",
    "GrowAtRandom",
    "GrowingDictionary",
    "HardPassiveAggressiveStep",
    "Hedge",
    "HingeLoss",
    "Huber",
    "ImportanceStep",
    "Kernel",
    "KernelProduct",
    "KernelSum",
    "Laplacian",
    "Linear",
    "LogLoss",
    "Loss",
    "LossSampling",
    "MarginSampling",
    "Memory",
    "Merge",
    "MoveIntoFeatures",
    "OnGradient",
    "OnMistake",
    "Part",
    "PassiveAggressiveStep",
    "PegasosStep",
    "PerceptronLoss",
    "PlainKernel",
    "Polynomial",
    "Prior",
    "ProjectCheapest",
    "ProjectNewcomer",
    "ProjectOnNearest",
    "ProjectOnNeighbour",
    "ProjectOnNewcomer",
    "ProjectSmallest",
    "Projection",
    "RandomPruning",
    "Recipe",
    "RemoveOldest",
    "RemoveRandom",
    "RemoveSmallest",
    "Resample",
    "ResampleByWeight",
    "ResampleUniformly",
    "SecondOrder",
    "ShrinkAndRemoveOldest",
    "Sigmoid",
    "SparsePassiveAggressiveStep",
    "SquaredError",
    "SquaredHinge",
    "SquaredPassiveAggressiveStep",
    "Step",
    "Stop",
    "StreamMemory",
    "kernel_named",
    "loss_named",
]


def _concrete(part: type[Any]) -> list[type[Any]]:
    heirs = [heir for cls in part.__subclasses__() if cls.__module__.startswith(__name__) for heir in _concrete(cls)]
    return heirs or [part]


# What a file may name: every part of this package but a callable, which is code.
PARTS: dict[str, type[Any]] = {
    cls.__name__: cls for cls in (*_concrete(Part), FirstOrder, SecondOrder) if cls is not CallableKernel
}
