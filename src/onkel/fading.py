"""Means over a fading window: what a mean over all rows so far hides, such as the day on which a stream changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FADING = 0.999  # what a row counts for after each later one: about the last thousand rows count
_MOST = 512


class FadingMeans:
    """Means of what rows have, each row counting α = 0.999 times as much after every later one.

    The mean is Σ α^(t-i) x_i / Σ α^(t-i) (the prequential error with fading factors: Gama, Sebastião and Rodrigues
    2013). Its course is kept at multiples of a stride, which doubles whenever there are 512 of them: bounded, evenly
    spaced, and the same however the rows are cut into calls.

    Examples
    --------
    >>> means = FadingMeans()
    >>> means.add(accuracy=np.repeat([1.0, 0.0], [5000, 1000]))
    >>> round(means.last["accuracy"], 2)  # 5/6 of all rows are right, and none of the last thousand
    0.37
    >>> means.rows[-1], len(means.rows) < 512
    (np.int64(6000), True)
    """

    def __init__(self) -> None:
        self._n_rows = 0
        self._stride = 1
        self._sums: dict[str, float] = {}
        self._course: dict[str, Floats] = {}

    def add(self, **values: Floats) -> None:
        """Take in the values of some rows, under the same names each time."""
        from scipy.signal import lfilter  # a sixth of a second, which only those pay who need it

        numbers = self._n_rows + 1 + np.arange(len(next(iter(values.values()))))
        kept = numbers % self._stride == 0
        for name, each in values.items():
            before = self._sums.get(name, 0.0)
            sums, _ = lfilter([1.0], [1.0, -FADING], each, zi=[FADING * before])
            means = sums[kept] / _weight(numbers[kept])
            self._sums[name] = float(sums[-1]) if len(sums) else before
            self._course[name] = np.append(self._course.get(name, np.empty(0)), means)
        self._n_rows += len(numbers)
        while self._n_rows // self._stride >= _MOST:
            self._stride *= 2
            self._course = {name: means[1::2] for name, means in self._course.items()}

    @property
    def last(self) -> dict[str, float]:
        """The means after the last row."""
        return {name: total / float(_weight(self._n_rows)) for name, total in self._sums.items()}

    @property
    def rows(self) -> NDArray[np.int64]:
        """The numbers of rows after which the course has means."""
        return np.arange(1, self._n_rows // self._stride + 1) * self._stride

    @property
    def course(self) -> dict[str, Floats]:
        """The means after so many rows."""
        return dict(self._course)


def _weight(rows: NDArray[np.int64] | int) -> Floats:
    """What so many rows count for together."""
    return np.asarray(-np.expm1(rows * np.log(FADING)) / (1 - FADING))
