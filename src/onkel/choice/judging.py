"""What a choice asks of a learner's loss: how its competitors are judged.

Classes are judged by the log loss whatever the learner's own, since all competitors have it; quantities by the squared
error, unless the learner's loss says that something else is wanted: a function that outliers do not move, a quantile,
the mean of a count. Then it is judged by the loss itself. Of Huber's the limit of a small threshold is taken, the
absolute error: its threshold differs from competitor to competitor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel.parts import Huber, Loss, Poisson, Quantile, SquaredError
from onkel.parts.losses import half_deviance

Floats = NDArray[np.float64]


def competing(loss: Loss) -> Loss:
    """Return the loss of the competitors for the λ of a regression."""
    return loss if isinstance(loss, Huber | Quantile | Poisson) else SquaredError()


def judged(loss: Loss, scores: Floats, y: Floats) -> Floats:
    """Return how wrong each score is."""
    if isinstance(loss, Poisson):
        return 2 * half_deviance(scores, y)
    if isinstance(loss, Quantile):
        return np.maximum((1 - loss.quantile) * (scores - y), loss.quantile * (y - scores))
    return np.abs(scores - y) if isinstance(loss, Huber) else (scores - y) ** 2


def slopes(loss: Loss, scores: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the slopes of what a learner is judged by, and what divides them in a step: the curvatures, or of losses
    without one, 1. For the squared error they are those of its half."""
    if isinstance(loss, Poisson):
        mean = loss.prediction(scores)
        return mean - y, mean
    if isinstance(loss, Huber | Quantile):
        level = loss.quantile if isinstance(loss, Quantile) else 0.5
        return np.asarray((scores > y) - level, np.float64), np.ones(len(y))
    return scores - y, np.ones(len(y))


def slopes_of_scores(task: str, loss: Loss, scores: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return the slopes of the loss that competitors are judged by at scores [row, output], and its curvatures: one
    line per output. Labels are class indices."""
    if task == "regression":
        g, h = slopes(loss, scores[:, 0], y)
        return g[None], h[None]
    if task == "binary":
        p = 1 / (1 + np.exp(-np.clip(scores[:, 0], -50, 50)))
        return (p - y)[None], (p * (1 - p))[None]
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p = p / p.sum(axis=1, keepdims=True)
    own = np.equal.outer(y, np.arange(scores.shape[1]))
    return (p - own).T, (p * (1 - p)).T


def unit(loss: Loss, noise: float) -> float:
    """Return what `judged` usually is, where a learner says that its noise has this variance."""
    return float(np.sqrt(noise)) if isinstance(loss, Huber | Quantile) else noise
