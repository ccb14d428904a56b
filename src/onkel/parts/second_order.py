"""The parts of a second-order learner: its prior, its dictionary of points, its memory (``docs/newton.md``)."""

from __future__ import annotations

from dataclasses import dataclass

from onkel.parts._part import Part, number

__all__ = ["Dictionary", "FadingMemory", "GaussianPrior", "GrowingDictionary", "Memory", "Prior", "StreamMemory"]


@dataclass(frozen=True)
class Prior(Part):
    """What is assumed of the function before the first row."""


@dataclass(frozen=True)
class GaussianPrior(Prior):
    """A Gaussian process with kernel ``k / lam`` (λ): it expects functions of norm about ``1 / sqrt(lam)``."""

    lam: float = number(0.01, above=0)


@dataclass(frozen=True)
class Dictionary(Part):
    """Which rows become points, how fast, and which points leave."""


@dataclass(frozen=True)
class GrowingDictionary(Dictionary):
    """Points join and stay: at most ``sqrt(t B / spread)`` after t rows, so that the budget B is full after
    ``spread * B``.

    Rows whose slope is below ``easy_slope`` are easy: one is learned from with the probability ``slope / easy_slope``,
    and then counts for as many as it stands for. The rows that are learned from are candidates, the likelier to join
    the larger their slope is and the further they lie from the span of the points.
    """

    spread: float = number(8.0, at_least=1)
    easy_slope: float = number(0.1, at_least=0)


@dataclass(frozen=True)
class Memory(Part):
    """What is forgotten of the rows so far."""


@dataclass(frozen=True)
class FadingMemory(Memory):
    """What earlier rows told fades by the factor ``forget`` (ρ) with every row, so that about ``1 / (1 - forget)`` rows
    count; 1 forgets nothing. It is applied every fifth of that number of rows, and leaves the function as it is.
    """

    forget: float = number(1.0, above=0, at_most=1)


@dataclass(frozen=True)
class StreamMemory(Memory):
    """The stream decides: memories of 10, 100 and 1000 rows and of all rows learn side by side, and are weighted.

    All share one kernel row. The longest memory uses all points, the others half, a quarter and a tenth of them. The
    function is the mean of theirs, weighted by the likelihood of what each has predicted. After each row the part
    ``share`` of all weight is divided evenly, so that another memory can win when the stream changes (fixed share).
    """

    share: float = number(1e-3, above=0, below=1)
