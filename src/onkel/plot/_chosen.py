"""What the stream has chosen: how long to remember, and which features matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.inside import fitted_learner, inside
from onkel.plot._axes import COLOURS, Drawn, draw_layers, drawn_of

Floats = NDArray[np.float64]


@dataclass
class MemoryDisplay(Drawn):
    """How much each memory of a Newton learner weighed over the stream (``forget="stream"``).

    Parameters
    ----------
    rows : ndarray of shape (n_times,)
    weights : ndarray of shape (n_times, n_memories)
    memories : list of float
        In rows; infinity is all of them.

    Examples
    --------
    >>> import onkel
    >>> model = onkel.NewtonClassifier(gamma=1.0, budget=30, forget="stream", random_state=0)
    >>> for X, y in onkel.streams.generators.switching(3000):
    ...     model = model.partial_fit(X, y, classes=[0, 1])
    >>> onkel.plot.MemoryDisplay.from_estimator(model).memories
    [inf, 1000.0, 100.0, 10.0]
    """

    rows: NDArray[np.int64]
    weights: Floats
    memories: list[float]

    @classmethod
    def from_estimator(cls, model: object, *, ax: object = None) -> Self:
        """Draw the weights of the memories of a fitted Newton learner.

        Parameters
        ----------
        model : a model with ``forget="stream"``, of onkel or of onkel.river
        ax : matplotlib axes, default=None

        Returns
        -------
        MemoryDisplay
        """
        learner = fitted_learner(drawn_of(model), "a picture of memories")
        weights = learner.memory_weights
        if len(weights) < 2:
            name = type(inside(drawn_of(model)).estimator).__name__
            raise ValueError(f'weights of memories need forget="stream", and this {name} has one memory')
        rows, history = learner.memory_weights_history
        return cls(rows, history, list(weights)).plot(ax)

    def _draw(self, ax: object) -> None:
        """Draw the weights as layers."""
        names = ["all rows" if np.isinf(memory) else f"{memory:,.0f} rows" for memory in self.memories]
        draw_layers(ax, self.rows, self.weights, names)


@dataclass
class ImportanceDisplay(Drawn):
    """How much each feature counts in the kernel that the stream has chosen, without its unit.

    Parameters
    ----------
    importances : ndarray of shape (n_features,)
        The largest is 1.
    names : list of str

    Examples
    --------
    >>> import numpy as np
    >>> from onkel.plot import ImportanceDisplay
    >>> display = ImportanceDisplay(np.array([0.1, 1.0]), ["length", "weight"]).plot()
    >>> [bar.get_width() for bar in display.ax_.patches]
    [np.float64(0.1), np.float64(1.0)]
    """

    importances: Floats
    names: list[str]

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Any = None) -> Self:
        """Draw the importances of the features of a fitted model.

        Parameters
        ----------
        model : a model with relevances, of onkel or of onkel.river
        ax : matplotlib axes, default=None

        Returns
        -------
        ImportanceDisplay
        """
        if hasattr(type(model), "feature_importances"):  # by the names of the records' features
            fitted_learner(drawn_of(model), "a picture of importances")
            importances = model.feature_importances
            return cls(np.array([*importances.values()]), [str(name) for name in importances]).plot(ax)
        estimator = inside(model).estimator
        if not hasattr(type(estimator), "importances_"):
            raise ValueError(f"importances of features need relevances, and a {type(estimator).__name__} has none")
        owner = model if hasattr(model, "importances_") else estimator  # a pipeline sums over what a column becomes
        importances = owner.importances_
        names = getattr(owner, "feature_names_in_", range(1, len(importances) + 1))
        return cls(importances, [str(name) for name in names]).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Draw a bar for each feature, the largest first; of many features the first thirty."""
        order = np.argsort(-self.importances, kind="stable")[:30][::-1]
        ax.barh([self.names[i] for i in order], self.importances[order], color=COLOURS[0])
        ax.set(xlabel="importance", ylabel="feature", xlim=(0, 1))
