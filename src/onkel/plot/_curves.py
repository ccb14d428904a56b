"""Learning curves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from onkel.evaluate import Curve, progressive
from onkel.plot._axes import COLOURS, Drawn


@dataclass
class LearningCurveDisplay(Drawn):
    """How good runs were while they learned, each row predicted before it was learned from.

    Parameters
    ----------
    curves : list of Curve
    metric : str
        The column that is drawn over the rows; "window_accuracy", "window_log_loss" and "window_rmse" are over a fading
        window, which shows what a mean over all rows hides. Dotted lines mark where a learner replaced its choice.

    Examples
    --------
    >>> import onkel
    >>> learners = {"SPA": onkel.SPAClassifier(gamma=2.0, budget=50), "NORMA": onkel.NORMAClassifier(gamma=2.0)}
    >>> def stream():
    ...     return onkel.streams.generators.switching(3000, seed=0)
    >>> display = onkel.plot.LearningCurveDisplay.from_estimator(learners, stream, classes=[0, 1])
    >>> [curve.name for curve in display.curves]
    ['SPA', 'NORMA']
    """

    curves: list[Curve]
    metric: str

    @classmethod
    def from_estimator(
        cls, models: Any, stream: Any, *, metric: str | None = None, ax: Any = None, **options: Any
    ) -> Self:
        """Take models through a stream, and draw their curves.

        Parameters
        ----------
        models : a model of onkel, or a mapping of names to models
        stream : callable or iterable of chunks (X, y)
            A callable is asked for a new stream for each model.
        metric : str, default=None
            A column of `onkel.evaluate.Curve` or of its course; None is the accuracy, or the RMSE for regression.
        ax : matplotlib axes, default=None
        **options
            Of `onkel.evaluate.progressive`.

        Returns
        -------
        LearningCurveDisplay
        """
        named = models if isinstance(models, Mapping) else {type(models).__name__: models}
        again = stream if callable(stream) else list(stream).copy
        curves = [replace(progressive(model, again(), **options), name=name) for name, model in named.items()]
        return cls.from_curves(curves, metric=metric, ax=ax)

    @classmethod
    def from_curves(cls, curves: Iterable[Curve], *, metric: str | None = None, ax: object = None) -> Self:
        """Draw curves that were measured before.

        Parameters
        ----------
        curves : iterable of Curve
        metric : str, default=None
            None is the first curve's own.
        ax : matplotlib axes, default=None

        Returns
        -------
        LearningCurveDisplay
        """
        listed = list(curves)
        return cls(listed, listed[0].metric if metric is None else metric).plot(ax)

    def _draw(self, ax: Any) -> None:
        """Draw the curves."""
        for i, curve in enumerate(self.curves):
            colour = COLOURS[i % len(COLOURS)]
            if self.metric in curve.course:  # over a fading window
                rows, values = curve.course["window_rows"], curve.course[self.metric]
            else:
                rows, values = curve["rows"], curve[self.metric]
            known = ~np.isnan(values.astype(np.float64))
            ax.plot(rows[known], values[known], color=colour, label=curve.name)
            for row in curve.course.get("changes", ()):  # where its choice was replaced
                ax.axvline(row, color=colour, linewidth=0.8, linestyle="dotted")
        ax.set(xlabel="rows", ylabel=self.metric.replace("_", " "))
        ax.legend(frameon=False)
