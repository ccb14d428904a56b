"""The papers' measures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats


def sparsity(n_support: float, rows: int) -> float:
    """Return the percentage of the rows that are not support vectors.

    >>> sparsity(250, 1000)
    75.0
    """
    return 100 * (1 - n_support / rows)


def relative_accuracy(accuracy: float, baseline: float) -> float:
    """Return an accuracy in % of the accuracy of the learner that keeps every row.

    >>> relative_accuracy(80, 100)
    80.0
    """
    return 100 * accuracy / baseline


def regularised_risk(losses: ArrayLike, norm: float, lam: float) -> float:
    """Return the mean loss plus ``lam/2 |f|^2``.

    >>> regularised_risk([1.0, 3.0], norm=2.0, lam=0.5)
    3.0
    """
    return float(np.asarray(losses, np.float64).mean() + lam / 2 * norm**2)


def late_mean(values: ArrayLike, share: float = 0.05) -> float:
    """Return the mean over the last rows, as the POLK paper reports it.

    >>> late_mean(range(100))
    97.0
    """
    kept: NDArray[np.float64] = np.asarray(values, np.float64)
    return float(kept[-max(1, round(share * len(kept))) :].mean())


def mean_sd(values: Sequence[float]) -> tuple[float, float | None]:
    """Return mean and standard deviation (None for one run).

    >>> mean_sd([1.0, 3.0]), mean_sd([2.0])
    ((2.0, 1.4142135623730951), (2.0, None))
    """
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None


def paired_p(ours: Sequence[float], theirs: Sequence[float]) -> float | None:
    """Return the p value of the paired t-test; None if it is not defined.

    >>> paired_p([1.0, 2.0, 3.0], [2.0, 3.1, 3.9]) < 0.01, paired_p([1.0], [2.0])
    (True, None)
    """
    if len(ours) != len(theirs) or len(ours) < 2 or np.ptp(np.subtract(ours, theirs)) == 0:
        return None
    return float(stats.ttest_rel(ours, theirs).pvalue)
