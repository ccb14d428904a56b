"""How well a model predicted rows before it learned from them, as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.choice.rows import losses_of, with_known_classes
from onkel.learner import Learner

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Progress:
    """A sum over the rows of `predict_then_learn`; it is not part of the model, and not saved.

    Examples
    --------
    >>> import onkel
    >>> model = onkel.OGDRegressor(gamma=1.0)
    >>> scores = model.predict_then_learn([[0.0], [100.0]], [3.0, 4.0])
    >>> str(model._progress)
    'RMSE 3.453 over 2 rows'
    """

    rows: int = 0
    total: float = 0.0
    measure: str = ""

    def with_rows(self, learner: Learner, scores: Floats, y: Floats, weight: Floats | None, n_known: int) -> Progress:
        """Return the sum including further rows; those of weight 0 do not count, and of a row's scores those of the
        classes known at it; ``n_known`` were known before all of these."""
        counts = np.ones(len(y), bool) if weight is None else weight != 0
        measure, losses = _losses(learner, scores[counts], y[counts], n_known)
        total = float(np.cumsum(np.append(self.total, losses))[-1])  # in order, so that the chunks do not matter
        return Progress(self.rows + len(losses), total, measure)

    def __str__(self) -> str:
        mean = self.total / max(1, self.rows)
        shown = f"{np.sqrt(mean) if self.measure == 'RMSE' else mean:.4g}"
        return f"{self.measure} {shown} over {self.rows:,} rows"


# of losses that are not judged by the squared error
_MEASURES = {"huber": "mean absolute error", "quantile": "pinball loss", "poisson": "mean Poisson deviance"}


def _losses(learner: Learner, scores: Floats, y: Floats, n_known: int) -> tuple[str, Any]:
    loss = learner.recipe.loss
    if learner.task == "regression":
        return _MEASURES.get(loss.name, "RMSE"), losses_of(learner.task, loss, scores, y, n_known)
    if loss.logistic and learner.combination != "vote":
        return "log loss", losses_of(learner.task, loss, scores, y, n_known)
    if learner.task == "binary":
        return "share of mistakes", ((scores[:, 0] > 0) != y).astype(np.float64)
    parts = with_known_classes(scores, y, n_known)
    return "share of mistakes", np.concatenate([np.empty(0), *(each.argmax(axis=1) != own for each, own in parts)])
