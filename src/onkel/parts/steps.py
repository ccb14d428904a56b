"""Steps: with what coefficient does a row join, and how do the old coefficients shrink before that?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onkel.parts._part import Part, number

__all__ = [
    "DecayingStep",
    "GradientStep",
    "HardPassiveAggressiveStep",
    "ImportanceStep",
    "PassiveAggressiveStep",
    "PegasosStep",
    "SparsePassiveAggressiveStep",
    "SquaredPassiveAggressiveStep",
    "Step",
]


@dataclass(frozen=True)
class Step(Part):
    """With what coefficient an admitted row joins."""

    needs_piecewise_linear_loss: ClassVar[bool] = False


@dataclass(frozen=True)
class GradientStep(Step):
    """``f <- (1 - eta lam) f - eta g k(x, .)``."""

    eta: float = number(above=0)
    lam: float = number(0.0, at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eta * self.lam >= 1:
            raise ValueError(f"eta * lam must be less than 1, got {self.eta:g} * {self.lam:g}")


@dataclass(frozen=True)
class DecayingStep(Step):
    """``GradientStep`` with ``eta_t = eta / (1 + eta lam t)``, which is ``1 / (lam t)`` in the long run."""

    eta: float = number(above=0)
    lam: float = number(above=0)


@dataclass(frozen=True)
class PegasosStep(Step):
    """``GradientStep`` with ``eta_t = 1 / (lam t)`` from the start: the first shrink is exactly 0."""

    lam: float = number(above=0)


@dataclass(frozen=True)
class ImportanceStep(Step):
    """OSKL, Equation (1): ``-eta g / p_t``, unbiased over the draw."""

    eta: float = number(above=0)


@dataclass(frozen=True)
class HardPassiveAggressiveStep(Step):
    """PA: the step after which there is no loss, ``l_t / k(x, x)``."""

    needs_piecewise_linear_loss = True


@dataclass(frozen=True)
class PassiveAggressiveStep(Step):
    """PA-I: ``min(C, l_t / k(x, x))``."""

    needs_piecewise_linear_loss = True
    C: float = number(1.0, above=0)


@dataclass(frozen=True)
class SquaredPassiveAggressiveStep(Step):
    """PA-II: ``l_t / (k(x, x) + 1 / (2 C))``."""

    needs_piecewise_linear_loss = True
    C: float = number(1.0, above=0)


@dataclass(frozen=True)
class SparsePassiveAggressiveStep(Step):
    """SPA, Proposition 1: ``tau_t = min(eta / rho_t, l_t / k(x, x))`` along the gradient."""

    needs_piecewise_linear_loss = True
    eta: float = number(above=0)
