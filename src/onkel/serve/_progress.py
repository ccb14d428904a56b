"""How well a served model predicts rows before it learns from them: over all rows, over the latest, as a curve."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.evaluate import sums_of

_MOST_POINTS = 256
_MOST_REFUSALS = 20


class LiveProgress:
    """The progress of learning since the process started, for the live page and the metrics.

    Examples
    --------
    >>> import onkel
    >>> model = onkel.OGDClassifier(gamma=1.0, random_state=0)
    >>> progress = LiveProgress()
    >>> y = np.array([0, 1])
    >>> progress.add(model.predict_then_learn([[0.0], [1.0]], y, classes=[0, 1]), y, model)
    >>> progress.rows, progress.values()["accuracy"]
    (2, 0.5)
    """

    def __init__(self) -> None:
        self.rows = 0
        self.requests = 0
        self.refused: dict[int, int] = {}  # the number of requests by status
        self.refusals: deque[dict[str, Any]] = deque(maxlen=_MOST_REFUSALS)
        self.points: list[dict[str, Any]] = []
        self._sums: Any = None
        self._last: tuple[int, dict[str, float]] = (0, {})  # rows and measures at the last point
        self._apart = 1.0  # seconds between two points
        self._begin = time.time()
        self._drawn = -np.inf

    def add(self, scores: NDArray[np.float64], y: NDArray[Any], model: Any) -> None:
        """Add the scores of rows before they were learned."""
        self._sums = self._sums or sums_of(model)
        self._sums.add(scores, y, model)
        self.rows += len(y)
        self.requests += 1

    def refuse(self, status: int, sentence: str) -> None:
        """Record that a request was refused."""
        self.refused[status] = self.refused.get(status, 0) + 1
        self.refusals.appendleft({"time": round(time.time(), 3), "status": status, "sentence": sentence[:300]})

    def values(self) -> dict[str, float]:
        """Return the measures over all rows: accuracy and, where there is one, log loss; or RMSE and MAE."""
        return {} if self._sums is None else {k: v for k, v in self._sums.values().items() if v is not None}

    def totals(self) -> dict[str, float]:
        """Return the sums of which the measures are means: they only grow."""
        return {} if self._sums is None else dict(self._sums.totals())

    def draw(self, n_support: int, now: float | None = None) -> None:
        """Add a point to the curve, unless the last one is too recent; when there are many, drop every second one."""
        now = time.monotonic() if now is None else now
        if self.rows == self._last[0] or now - self._drawn < self._apart:
            return
        self._drawn = now
        values = self.values()
        seconds = round(time.time() - self._begin, 3)
        point = {"rows": self.rows, "seconds": seconds, "n_support": n_support, **values}
        self.points.append(point | {f"latest_{name}": self._since_last(name, values[name]) for name in values})
        self._last = self.rows, values
        if len(self.points) > _MOST_POINTS:
            self.points = self.points[1::2]
            self._apart *= 2

    def _since_last(self, name: str, value: float) -> float:
        """A measure over the rows since the last point, from its means over all rows."""
        before, values = self._last
        power = 2 if name == "rmse" else 1
        total = value**power * self.rows - values.get(name, 0.0) ** power * before
        return float(max(0.0, total / (self.rows - before)) ** (1 / power))

    def series(self) -> dict[str, list[Any]]:
        """Return the curve as columns."""
        points = list(self.points)  # a copy, since the writer may add a point meanwhile
        names = list(dict.fromkeys(name for point in points for name in point))
        return {name: [point.get(name) for point in points] for name in names}
