"""The metric of a kernel with ranks (onkel/parts/metric.py, basis/metric.hpp), straight from its definition."""

from __future__ import annotations

from typing import Any

import numpy as np

CENTRAL, REACH, SLOWLY = 0.96, 2.0, 0.01


def number(x: Any, quantiles: Any) -> Any:
    """Return the number, which goes on slowly far from the median."""
    q = np.sort(np.asarray(quantiles, float))
    low, middle, high = (q[round(share * (len(q) - 1))] for share in ((1 - CENTRAL) / 2, 0.5, (1 + CENTRAL) / 2))
    reach = REACH * max(high - middle, middle - low)
    if reach == 0:
        return np.asarray(x, float)
    beyond = np.maximum(0, abs(x - middle) - reach)
    return x - (1 - SLOWLY) * np.sign(x - middle) * beyond


def rank(x: Any, quantiles: Any) -> Any:
    """Return the number of quantiles below x and half of those equal to it, linear between them, less a half."""
    q = np.asarray(quantiles, float)
    steps = {value: (q < value).sum() + ((q == value).sum() - 1) / 2 for value in q.tolist()}
    return np.interp(x, sorted(steps), [steps[value] for value in sorted(steps)])


def ranked(x: Any, quantiles: Any) -> Any:
    """Return the number plus its rank in the unit of the number, 0 at 0."""
    x, q = np.asarray(x, float), np.asarray(quantiles, float)
    if len(np.unique(q)) < 3:
        return x
    unit = number(q, q).std() / rank(q, q).std()
    return number(x, q) + unit * rank(x, q) - number(0.0, q) - unit * rank(0.0, q)


def metric(rows: Any, ranks: Any, relevances: Any, power: int) -> Any:
    """Return rows as a kernel of distances sees them."""
    columns = [column if q is None else ranked(column, q) for column, q in zip(np.transpose(rows), ranks, strict=True)]
    return np.transpose(columns) * np.asarray(relevances, float) ** (1 / power)
