"""Evictions: which support vector leaves when the budget is full, and how are the others repaired?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from onkel.parts._part import Part, held, number

__all__ = [
    "KOMP",
    "AggressiveProjection",
    "AggressiveProjection2008",
    "Eviction",
    "GrowAtRandom",
    "Merge",
    "MoveIntoFeatures",
    "ProjectCheapest",
    "ProjectNewcomer",
    "ProjectOnNearest",
    "ProjectOnNeighbour",
    "ProjectOnNewcomer",
    "ProjectSmallest",
    "Projection",
    "RandomPruning",
    "RemoveOldest",
    "RemoveRandom",
    "RemoveSmallest",
    "Resample",
    "ResampleByWeight",
    "ResampleUniformly",
    "ShrinkAndRemoveOldest",
    "Stop",
]


@dataclass(frozen=True)
class Eviction(Part):
    """What happens when the budget is full."""

    reweights: ClassVar[bool] = False  # changes the coefficients of points that stay
    # works row by row: takes rows in without a slot, needs the newcomer's own kernel values, counts mistakes, or makes
    # newcomers' coefficients flow into each other, after which an average cannot tell that one came and went unseen
    row_by_row: ClassVar[bool] = False
    needs_gaussian: ClassVar[bool] = False
    needs_psd: ClassVar[bool] = False  # measures distances in the kernel's space, or projects in it
    needs_hinge: ClassVar[bool] = False
    needs_one_kernel: ClassVar[bool] = False

    @property
    def without_points(self) -> Eviction:
        """An eviction that keeps nothing about points, for work on a function with the same fixed columns."""
        return Stop()


@dataclass(frozen=True)
class Stop(Eviction):
    """No point leaves, and once the budget is full no row is admitted."""


@dataclass(frozen=True)
class RemoveRandom(Eviction):
    """An old point leaves, drawn uniformly at random (RBP)."""


@dataclass(frozen=True)
class RemoveOldest(Eviction):
    """The oldest point leaves (NORMA)."""


@dataclass(frozen=True)
class RemoveSmallest(Eviction):
    """The point of least ``|a|^2 k(s, s)`` leaves, even if it is the newcomer (BSGD)."""


@dataclass(frozen=True)
class ShrinkAndRemoveOldest(Eviction):
    """All coefficients shrink by the self-tuned factor of the Forgetron, then the oldest point leaves."""

    row_by_row = True


@dataclass(frozen=True)
class ProjectOnNewcomer(Eviction):
    """An old point is replaced by its projection on the newcomer: the one that loses least (BPA-S)."""

    reweights = True
    row_by_row = True
    needs_psd = True


@dataclass(frozen=True)
class ProjectOnNeighbour(Eviction):
    """An old point is replaced by its projection on the newcomer and its own nearest neighbour (BPA-NN)."""

    reweights = True
    row_by_row = True
    needs_psd = True


@dataclass(frozen=True)
class Resample(Eviction):
    """An old point is drawn and leaves; the others grow so that the expected function stays the same.

    No weight exceeds ``cap``, which is the paper's γη.
    """

    reweights = True
    cap: float = number(above=0)


@dataclass(frozen=True)
class ResampleUniformly(Resample):
    """Every old point is equally likely to leave (BOGD)."""


@dataclass(frozen=True)
class ResampleByWeight(Resample):
    """The larger a point's weight, the less likely it is to leave (BOGD++, Equation (16))."""


@dataclass(frozen=True)
class Merge(Eviction):
    """The smallest point and the partner with which merging loses least become one point between them (BSGD)."""

    reweights = True
    needs_gaussian = True


@dataclass(frozen=True)
class ProjectOnNearest(Eviction):
    """The smallest point, even if it is the newcomer, is replaced by its projection on its ``n_neighbours`` nearest."""

    reweights = True
    row_by_row = True
    needs_psd = True
    n_neighbours: int = number(5, at_least=1, integer=True)


@dataclass(frozen=True)
class GrowAtRandom(Eviction):
    """With probability ``min(1, beta/t)`` another eviction makes room, otherwise the budget grows by one (NPBSGD)."""

    beta: float = number(above=0)
    eviction: Eviction = held(Eviction, RemoveSmallest)  # noqa: RUF009

    @property
    def reweights(self) -> bool:  # type: ignore[override]
        """As the eviction that it holds."""
        return self.eviction.reweights

    @property
    def row_by_row(self) -> bool:  # type: ignore[override]
        """As the eviction that it holds."""
        return self.eviction.row_by_row

    @property
    def needs_gaussian(self) -> bool:  # type: ignore[override]
        """As the eviction that it holds."""
        return self.eviction.needs_gaussian

    @property
    def needs_psd(self) -> bool:  # type: ignore[override]
        """As the eviction that it holds."""
        return self.eviction.needs_psd

    @property
    def needs_hinge(self) -> bool:  # type: ignore[override]
        """As the eviction that it holds."""
        return self.eviction.needs_hinge

    @property
    def needs_one_kernel(self) -> bool:  # type: ignore[override]
        """As the eviction that it holds."""
        return self.eviction.needs_one_kernel

    @property
    def without_points(self) -> Eviction:
        """As the eviction that it holds."""
        return self.eviction.without_points


@dataclass(frozen=True)
class MoveIntoFeatures(Eviction):
    """The ``k`` smallest old points move into ``n_components`` random Fourier features (DualSGD)."""

    reweights = True
    needs_gaussian = True
    needs_one_kernel = True
    n_components: int = number(200, at_least=1, at_most=10**6, integer=True)
    k: int = number(20, at_least=1, integer=True)

    @property
    def without_points(self) -> Eviction:
        """This eviction: its random features are columns of the function."""
        return self


@dataclass(frozen=True)
class Projection(Eviction):
    """Newcomers may be replaced by their projections on the span of the points (``eta``: how near is near enough)."""

    reweights = True
    row_by_row = True
    needs_psd = True
    eta: float = number(0.1, at_least=0)


@dataclass(frozen=True)
class ProjectNewcomer(Projection):
    """Projectron: a newcomer no further than ``eta`` from the span of the points, or any once the budget is full, is
    replaced by its projection on them."""


@dataclass(frozen=True)
class AggressiveProjection(Projection):
    """Projectron++ (2009): as ProjectNewcomer on mistakes; a row that is right by less than 1 is never inserted, its
    projection joins with ``tau = min(l, 2 (l - U delta), |Pk|^2) / |Pk|^2``."""

    needs_hinge = True


@dataclass(frozen=True)
class AggressiveProjection2008(Projection):
    """Projectron++ (2008): ``tau = min(l / |Pk|^2, 1)``, where ``2 l - tau |Pk|^2 - 2 U delta`` is not negative."""

    needs_hinge = True


@dataclass(frozen=True)
class ProjectCheapest(Eviction):
    """The old point whose projection on all the rest costs least leaves, and its projection stays (BPA)."""

    reweights = True
    row_by_row = True
    needs_psd = True


@dataclass(frozen=True)
class ProjectSmallest(Eviction):
    """The point of least ``|a|^2 k(s, s)`` leaves, and its projection on all the rest stays (BSGD)."""

    reweights = True
    row_by_row = True
    needs_psd = True


@dataclass(frozen=True)
class KOMP(Eviction):
    """Points leave, cheapest first, and the rest are refitted, while the function stays within ``eps_t`` of what the
    step made of it (POLK, Algorithm 1), ``eps_t = eps / (1 + decay t)^2``; with a budget, further points leave until
    it is met."""

    reweights = True
    needs_psd = True
    eps: float = number(above=0)
    decay: float = number(0.0, at_least=0)


@dataclass(frozen=True)
class RandomPruning(Eviction):
    """Points leave at random, and the rest stay as they are, while the function stays within ``eps_t`` of what the step
    made of it (POLK, Remark 6), ``eps_t = eps / (1 + decay t)^2``; with a budget, further points leave until it is
    met."""

    needs_psd = True
    eps: float = number(above=0)
    decay: float = number(0.0, at_least=0)
