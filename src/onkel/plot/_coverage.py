"""What intervals and sets have covered, over the rows of the stream."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.inside import inside
from onkel.plot._axes import COLOURS, Drawn
from onkel.utils.validation import check_number

Floats = NDArray[np.float64]


@dataclass
class CoverageDisplay(Drawn):
    """What fraction of the latest rows was covered, over the stream.

    Parameters
    ----------
    rows : ndarray of shape (n,)
        The last row of each window.
    shares : dict of float to ndarray of shape (n,)
        For each level, the fraction of the window's rows that was covered.
    name : str

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> model = onkel.OGDRegressor(gamma=1.0, coverage=(0.9,), random_state=0).fit(X, np.sin(X[:, 0]))
    >>> display = onkel.plot.CoverageDisplay.from_estimator(model, window=500)
    >>> display.rows[[0, -1]], bool(abs(display.shares[0.9] - 0.9).max() < 0.03)
    (array([ 500, 2000]), True)
    """

    rows: NDArray[np.int64]
    shares: dict[float, Floats]
    name: str

    @classmethod
    def from_estimator(cls, model: Any, *, window: int = 500, ax: Any = None) -> Self:
        """Draw what a model has covered of its latest 5,000 rows.

        Parameters
        ----------
        model : a model of onkel that was made with `coverage`
        window : int, default=500
            Rows that each point is a mean over.
        ax : matplotlib axes, default=None

        Returns
        -------
        CoverageDisplay
        """
        estimator = inside(model).estimator
        rows, covered = estimator.coverage_history_
        check_number("window", window, at_least=1, at_most=len(rows), integer=True)
        sums = np.cumsum(np.pad(covered, ((0, 0), (1, 0))), axis=1)
        means = (sums[:, window:] - sums[:, :-window]) / window
        shares = dict(zip(estimator.coverage_, means, strict=True))
        return cls(rows[window - 1 :], shares, type(estimator).__name__).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Draw a curve for each level, and where it should lie."""
        for (level, share), colour in zip(self.shares.items(), COLOURS * len(self.shares), strict=False):
            ax.axhline(level, color="0.6", linewidth=1, linestyle="dotted")
            ax.plot(self.rows, share, color=colour, label=f"{self.name}, {level:g}")
        ax.set(xlabel="rows", ylabel="share covered", ylim=(0, 1.02))
        ax.legend(frameon=False)
