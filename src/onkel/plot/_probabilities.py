"""Are probabilities what they claim to be?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel.inside import inside
from onkel.plot._axes import COLOURS, Drawn
from onkel.utils.validation import check_number

Floats = NDArray[np.float64]


@dataclass
class CalibrationDisplay(Drawn):
    """How often a class occurred, against the probability that was predicted for it; with several classes all of them
    together.

    Parameters
    ----------
    claimed : ndarray of shape (n_bins,)
        Mean probability of each bin; bins hold equally many.
    came : ndarray of shape (n_bins,)
        How often the class was the right one.
    name : str

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.3, random_state=0)
    >>> model = onkel.NewtonClassifier(budget=50, random_state=0).fit(X[:1000], y[:1000])
    >>> display = onkel.plot.CalibrationDisplay.from_estimator(model, X[1000:], y[1000:], n_bins=5)
    >>> bool(abs(display.claimed - display.came).max() < 0.1)
    True
    """

    claimed: Floats
    came: Floats
    name: str

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: ArrayLike, *, n_bins: int = 10, ax: Any = None) -> Self:
        """Compare a classifier's probabilities with what occurred.

        Parameters
        ----------
        model : a classifier of onkel with `predict_proba`
        X : array-like of shape (n_samples, n_features)
            Rows that the model has not learned from.
        y : array-like of shape (n_samples,)
        n_bins : int, default=10
        ax : matplotlib axes, default=None

        Returns
        -------
        CalibrationDisplay
        """
        check_number("n_bins", n_bins, at_least=2, integer=True)
        classes = inside(model).classes
        given = np.asarray(model.predict_proba(X), dtype=np.float64)
        right = np.asarray(y)[:, None] == classes
        if given.shape[1] == 2:
            given, right = given[:, 1:], right[:, 1:]
        order = np.argsort(given, axis=None, kind="stable")
        bins = np.array_split(order, n_bins)
        claimed = np.array([given.ravel()[places].mean() for places in bins if len(places)])
        came = np.array([right.ravel()[places].mean() for places in bins if len(places)])
        return cls(claimed, came, type(inside(model).estimator).__name__).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Draw the curve, and the diagonal where it should lie."""
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="dotted")
        taken = sum(line.get_marker() == "o" for line in ax.lines)  # curves drawn before on the same axes
        ax.plot(self.claimed, self.came, marker="o", markersize=4, color=COLOURS[taken % len(COLOURS)], label=self.name)
        ax.set(xlabel="predicted probability", ylabel="observed share", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        ax.legend(frameon=False)
