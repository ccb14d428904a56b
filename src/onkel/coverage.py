"""Intervals and sets that cover what they say, on any stream: online conformal calibration (docs/uncertainty.md).

A row's *score* says how far its target is from what was predicted: the residual over the deviation that was expected,
or by how much another class was preferred to the row's own. What is predicted covers the targets whose score is at most
a threshold: a quantile of the latest scores. Which quantile follows from the misses so far (Gibbs and Candes 2021;
Angelopoulos, Candes and Tibshirani 2023): as long as there are about as many as there may be it is the nominal one, and
with each miss too many, or too few, it moves faster away from it, so that the excess of misses stays bounded.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.utils.digest import Digest
from onkel.utils.validation import check_number

Floats = NDArray[np.float64]

KEPT = 1000  # scores that a threshold is a quantile of
RECENT = 5000  # rows that `recent` is over
BOUND = 20.0  # misses too many or too few, at which the threshold is as large or as small as the latest scores go


class Coverage:
    """Thresholds of scores for levels of coverage.

    Parameters
    ----------
    levels : sequence of float
        The fractions of the rows that are to be covered.

    Examples
    --------
    >>> import numpy as np
    >>> coverage = Coverage([0.9])
    >>> for score in np.random.default_rng(0).exponential(size=3000):
    ...     coverage.add(score)
    >>> round(coverage.recent[0.9], 2)
    0.9
    >>> bool(abs(coverage.threshold(0.9) - np.log(10)) < 0.5)
    True
    """

    def __init__(self, levels: Sequence[float]) -> None:
        self.levels = checked_levels(levels)
        self.rows = 0
        self._finite = 0
        self._latest = np.zeros(KEPT + 1)  # in turn, one more than is kept: see `add`
        self._sorted: list[float] = []
        self._excess = [0.0] * len(self.levels)
        self._covered = np.zeros((len(self.levels), RECENT), bool)  # in turn

    def add(self, score: float) -> None:
        """Take in the score of the next row; an infinite one is a miss that no threshold would have helped.

        What an interruption has left undone can be done again: the places that are written to are not read before
        everything else is replaced, at once.
        """
        excess = []
        for i, level in enumerate(self.levels):
            covered = score <= self.threshold(level)
            self._covered[i, self.rows % RECENT] = covered
            moved = self._excess[i] + (not covered) - (1 - level)
            # Below, thresholds cannot be smaller: what they cannot help is not held against them later.
            excess.append(max(-BOUND, moved))
        after: dict[str, Any] = {"rows": self.rows + 1, "_excess": excess}
        if math.isfinite(score):
            ordered = self._sorted.copy()  # another thread may be looking at it
            if len(ordered) == KEPT:
                del ordered[bisect.bisect_left(ordered, float(self._latest[(self._finite - KEPT) % (KEPT + 1)]))]
            bisect.insort(ordered, float(score))
            self._latest[self._finite % (KEPT + 1)] = score
            after |= {"_sorted": ordered, "_finite": self._finite + 1}
        self.__dict__.update(after)

    def threshold(self, level: float) -> float:
        """Return the largest score that is covered; of a level that is not among `levels` the quantile alone."""
        ordered = self._sorted
        n = len(ordered)
        if n == 0:
            return math.inf
        excess = self._excess[self.levels.index(level)] / BOUND if level in self.levels else 0.0
        missed = 1 - level
        missed -= missed * excess**3 if excess > 0 else level * excess**5
        place = math.ceil((1 - missed) * (n + 1) * (1 - 1e-12))
        if place > n:  # beyond the latest scores, by a factor of two for each miss beyond the bound
            return float(ordered[-1] * 2.0 ** min(64.0, max(1.0, (excess - 1) * BOUND)))
        return ordered[place - 1] if place > 0 else 0.0

    @property
    def recent(self) -> dict[float, float]:
        """The fraction of the latest rows that was covered, at most 5,000 of them, for each level."""
        n = min(RECENT, self.rows)
        means = [float(np.mean(each[:n])) if n else math.nan for each in self._covered]
        return dict(zip(self.levels, means, strict=True))

    @property
    def history(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The numbers of the latest rows, at most 5,000 of them, and whether each was covered: a line for a level."""
        latest = np.arange(max(0, self.rows - RECENT), self.rows)
        return latest + 1, self._covered[:, latest % RECENT]

    def __deepcopy__(self, _: Any) -> Self:
        return type(self).from_saved(self.saved())

    def show(self, digest: Digest) -> None:
        """Show everything that it knows."""
        digest.take(self.saved())

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return what it knows, as named arrays."""
        return {
            "levels": np.array(self.levels),
            "rows": np.array([self.rows], np.int64),
            "latest": self._latest[np.arange(self._finite - len(self._sorted), self._finite) % (KEPT + 1)],
            "excess": np.array(self._excess),
            "covered": self.history[1].astype(np.int64),
        }

    @classmethod
    def from_saved(cls, saved: Any) -> Self:
        """Return one that goes on where another was saved."""
        if not isinstance(saved, Mapping) or saved.keys() != {"levels", "rows", "latest", "excess", "covered"}:
            raise ValueError("coverage must hold levels, rows, latest, excess and covered")
        coverage = cls(saved["levels"].tolist())
        n, latest, excess, covered = (saved[name] for name in ("rows", "latest", "excess", "covered"))
        levels = len(coverage.levels)
        if n.shape != (1,) or n[0] < 0 or len(latest) > min(KEPT, n[0]) or excess.shape != (levels,):
            raise ValueError("coverage must hold the latest scores of its rows, and an excess for each level")
        if not (np.isfinite(latest) & (latest >= 0)).all() or not np.isfinite(excess).all() or (excess < -BOUND).any():
            raise ValueError("coverage must hold scores and numbers of misses that can be")
        if covered.shape != (levels, min(RECENT, n[0])) or not np.isin(covered, (0, 1)).all():
            raise ValueError("coverage must say of each of the latest rows whether it was covered")
        coverage.rows = int(n[0])
        coverage._finite = len(latest)
        coverage._latest[: len(latest)] = latest
        coverage._sorted = sorted(latest.tolist())
        coverage._excess = excess.tolist()
        coverage._covered[:, np.arange(max(0, coverage.rows - RECENT), coverage.rows) % RECENT] = covered
        return coverage


def checked_levels(levels: Any) -> tuple[float, ...]:
    """Return levels of coverage, or refuse what is none."""
    given = (levels,) if isinstance(levels, int | float) else levels
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) == 0:
        raise ValueError(f"coverage must be None or levels such as (0.9,), got {levels!r}")
    for level in given:
        check_number("coverage", level, above=0, below=1)
    if len(set(given)) < len(given):
        raise ValueError(f"coverage must be different levels, got {levels!r}")
    return tuple(float(level) for level in given)


def score_of_class(scores: Floats, code: int) -> float:
    """Return by how much another class was preferred to a row's own: 0 where none was."""
    if len(scores) == 1:  # log odds of the second of two classes
        return max(0.0, float(-scores[0] if code == 1 else scores[0]))
    return float(scores.max() - scores[code]) if code < len(scores) else math.inf
