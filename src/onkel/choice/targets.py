"""The targets that a search for a kernel fits, which for some losses are not the learner's own."""

from __future__ import annotations

import numpy as np

from onkel.choice.rows import Rows, median_distance
from onkel.choice.steps import Steps, learned
from onkel.learner import Learner
from onkel.parts import RBF, GrowingDictionary, Huber, Poisson, Quantile, SecondOrder

ROUGH = 100  # points of the function that outliers are found by
FAR = 2.0  # standard deviations from it, beyond which a target is an outlier


def targets_of(own: Learner, rows: Rows) -> Steps[Rows]:
    """Return the rows with targets that a search fits by least squares, and that tell the same about the kernel.

    These are logarithms of counts, half an event added to each; and where outliers must not matter, targets without
    them, by their distance from a rough function.
    """
    loss = own.recipe.loss
    if isinstance(loss, Poisson):
        return Rows(rows.rows, np.log(rows.y + 0.5 / rows.weight), rows.weight)
    if not isinstance(loss, Huber | Quantile):
        return rows
    rough = own.blank(
        recipe=SecondOrder(Huber(), dictionary=GrowingDictionary(easy_slope=0.0)),
        kernel=RBF(1.0 / median_distance(rows.rows)),
        budget=ROUGH,
        average=False,
        fit_intercept=True,
    )
    yield from learned(rough, rows)
    f = rough.score_rows(rows.rows)[:, 0]
    spread = FAR * 1.4826 * float(np.median(np.abs(rows.y - f)))
    return Rows(rows.rows, np.clip(rows.y, f - spread, f + spread), rows.weight) if spread > 0 else rows
