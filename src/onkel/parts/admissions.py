"""Admissions: with what probability p_t does a row become a support vector?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onkel.parts._part import Part, number

__all__ = [
    "Admission",
    "Always",
    "AuxiliaryCutoff",
    "AuxiliarySampling",
    "AuxiliaryScale",
    "AuxiliaryShift",
    "GradientSampling",
    "LossSampling",
    "MarginSampling",
    "OnGradient",
    "OnMistake",
    "PacedLossSampling",
]


@dataclass(frozen=True)
class Admission(Part):
    """With what probability a row becomes a support vector."""

    needs_classes: ClassVar[bool] = False
    needs_log_loss: ClassVar[bool] = False
    needs_start: ClassVar[bool] = False  # a row without a loss is never admitted


@dataclass(frozen=True)
class OnMistake(Admission):
    """Every mistake (``z <= 0``) and nothing else."""

    needs_classes = True


@dataclass(frozen=True)
class OnGradient(Admission):
    """Every row whose loss has a slope."""


@dataclass(frozen=True)
class Always(Admission):
    """Every row (KLR, Algorithm 1)."""


@dataclass(frozen=True)
class MarginSampling(Admission):
    """KLR, Equation (5): ``p_t = (2 - eta) / (2 - eta + eta P(y_t))``, with the step's ``eta < 2``."""

    needs_log_loss = True
    eta: float = number(above=0, below=2)


@dataclass(frozen=True)
class AuxiliarySampling(Admission):
    """KLR, Equation (6): ``p_t = l(z) / h(z)``, and the step goes along ``h``, a curve above the loss."""

    needs_log_loss = True


@dataclass(frozen=True)
class AuxiliaryShift(AuxiliarySampling):
    """``h(z) = ln(shape + e^-z)``; ``shape`` is the paper's γ."""

    shape: float = number(2.0, at_least=1)


@dataclass(frozen=True)
class AuxiliaryScale(AuxiliarySampling):
    """``h(z) = ln(1 + shape e^-z)``; ``shape`` is the paper's γ."""

    shape: float = number(2.0, at_least=1)


@dataclass(frozen=True)
class AuxiliaryCutoff(AuxiliarySampling):
    """``h(z) = max(l(z), l(cutoff))``; ``cutoff`` is the paper's δ."""

    cutoff: float = number(1.0)


@dataclass(frozen=True)
class GradientSampling(Admission):
    """OSKL, Algorithm 1: ``p_t = |l'| / G``, at most 1; with several classes the largest entry of the gradient."""

    G: float = number(1.0, above=0)


@dataclass(frozen=True)
class LossSampling(Admission):
    """SPA, Algorithm 1: ``rho_t = min(alpha, l_t) / beta``, at most 1."""

    needs_start = True
    alpha: float = number(1.0, above=0)
    beta: float = number(1.0, above=0)


@dataclass(frozen=True)
class PacedLossSampling(Admission):
    """SPA's rule with a ``beta_t`` that spends a number of ``points`` (B) over a ``horizon`` of T rows.

    ``beta_t = s_t (T - t + 1) / (B - N_t)``, where ``N_t`` rows have been admitted and ``s_t`` is the mean of
    ``min(alpha, l)`` so far, each row weighted by its number.
    """

    needs_start = True
    alpha: float = number(1.0, above=0)
    points: int = number(100, at_least=1, integer=True)
    horizon: int = number(1000, at_least=1, integer=True)
