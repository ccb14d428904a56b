"""What is inside a model: its support vectors and their ages, the weights of its kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.inside import fitted_learner, inside
from onkel.plot._axes import COLOURS, Drawn, draw_layers, drawn_of

Floats = NDArray[np.float64]


@dataclass
class SupportDisplay(Drawn):
    """The support vectors by age, each with the size of its coefficient.

    Parameters
    ----------
    ages : ndarray of shape (n_support,)
        How many rows ago each of them came.
    weights : ndarray of shape (n_support,)
        The largest coefficient of each, without its sign.
    rows : int
        How many rows the model has learned from.

    Examples
    --------
    >>> import onkel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    >>> display = onkel.plot.SupportDisplay.from_estimator(onkel.PerceptronClassifier(gamma=1.0).fit(X, y))
    >>> len(display.ages) == len(display.weights)
    True
    """

    ages: NDArray[np.int64]
    weights: Floats
    rows: int

    @classmethod
    def from_estimator(cls, model: object, *, ax: object = None) -> Self:
        """Draw the support vectors of a fitted model.

        Parameters
        ----------
        model : a model of onkel or of onkel.river
        ax : matplotlib axes, default=None

        Returns
        -------
        SupportDisplay
        """
        learner = fitted_learner(drawn_of(model), "a picture of support vectors")
        _, births = learner.support()
        coefficients = np.abs(learner.coefficients).max(axis=0, initial=0.0)[: len(births)]
        return cls(learner.t - births, coefficients, learner.t).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Draw each support vector as a line: where it is in the stream, and how large its coefficient is."""
        ax.vlines(self.ages, 0, self.weights, color=COLOURS[0], linewidth=0.8, alpha=0.7)
        ax.scatter(self.ages, self.weights, s=10, color=COLOURS[0], linewidths=0)
        ax.set(xlabel="age in rows", ylabel="size of the coefficient", xlim=(self.rows * 1.02, -self.rows * 0.02))
        ax.set_ylim(bottom=0)


@dataclass
class KernelWeightsDisplay(Drawn):
    """The weights of a multi-kernel model's kernels over the stream.

    Parameters
    ----------
    rows : ndarray of shape (n_times,)
    weights : ndarray of shape (n_times, n_kernels)
    names : list of str

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.MultiKernelClassifier(onkel.recipes.SPA(eta=0.1, beta=3), random_state=0).fit(X, y)
    >>> onkel.plot.KernelWeightsDisplay.from_estimator(model).weights.shape[1]
    16
    """

    rows: NDArray[np.int64]
    weights: Floats
    names: list[str]

    @classmethod
    def from_estimator(cls, model: object, *, ax: object = None) -> Self:
        """Draw the weights of a fitted `MultiKernelClassifier` or `MultiKernelRegressor`.

        Parameters
        ----------
        model : a model with several kernels
        ax : matplotlib axes, default=None

        Returns
        -------
        KernelWeightsDisplay
        """
        estimator = inside(model).estimator
        if not hasattr(type(estimator), "kernel_weights_history_"):
            raise ValueError(f"weights of kernels need several kernels, and a {type(estimator).__name__} has one")
        rows, weights = estimator.kernel_weights_history_
        return cls(rows, weights, [repr(kernel) for kernel in estimator.kernels_]).plot(ax)

    def _draw(self, ax: object) -> None:
        """Draw the weights as layers, and name those that matter at the end."""
        draw_layers(ax, self.rows, self.weights, self.names)
