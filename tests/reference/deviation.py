"""What a second-order regression expects of its residuals: the plain NumPy reference of native/second_order/deviation.

The residual of a row has the variance exp(level + local) (1 + a s + b o): s the variance within the span and o outside
it, a and b scales, `local` a function in the span of the points.
"""

from dataclasses import dataclass, field

import numpy as np

FREEDOM = 4  # of Student's t, whose likelihood all but the last factor is learned by
NORMAL = 1.6448536269514722  # within so many deviations lie 90 % of a normal distribution
FIRST, MEMORY, KEPT, LEAST = 32, 1000, 1000, 20
ALL_PLACED, PLACED_OF = 1000, 2
MEAN_CURVATURE, LARGEST_CURVATURE = 0.5 * FREEDOM / (FREEDOM + 3), (FREEDOM + 1) / 8


@dataclass
class Deviation:
    level: float = 0.0
    rows: int = 0
    heaviest: float = 0.0
    logs: np.ndarray = field(default_factory=lambda: np.zeros(2))  # of a and b
    informed: np.ndarray = field(default_factory=lambda: np.zeros(2))
    mean_outside: float = 0.0
    middle: float = 0.0  # the mean logarithm of the latest deviations
    scores: dict = field(default_factory=lambda: {False: [], True: []})  # of small deviations, and of large ones

    def factor(self, deviation):
        latest = np.sort(self.scores[bool(np.log(deviation) > self.middle)][-KEPT:])
        if len(latest) < LEAST:
            return 1.0
        return latest[min(len(latest), int(np.ceil(0.9 * (len(latest) + 1)))) - 1] / NORMAL

    def at(self, local, inside, outside):
        whole = 1 + np.exp(self.logs) @ [inside, outside]
        deviation = np.sqrt(np.exp(self.level + local) * whole)
        return self.factor(deviation) * deviation if self.rows else 0.0

    def learn(self, residual, local, inside, outside, weight):
        """Return the slope of the loss in `local`, and a bound on its curvature; `outside` may be unknown."""
        self.heaviest = max(self.heaviest, weight)
        rate, known = weight / self.heaviest, outside is not None
        outside = outside if known else self.mean_outside
        parts = np.exp(self.logs) * [inside, outside]
        whole = 1 + parts.sum()
        self.rows += 1
        if known:
            self.mean_outside += (outside - self.mean_outside) / min(self.rows, MEMORY)
        if self.rows <= FIRST:
            before = np.exp(self.level) if self.rows > 1 else 0.0
            self.level = np.log(before + (residual**2 / whole - before) / self.rows)
            return 0.0, 0.0
        variance = np.exp(self.level + local) * whole
        q = residual**2 / variance
        slope = 0.5 * (1 - (FREEDOM + 1) * q / (FREEDOM + q))
        if known:
            self.scores[bool(np.log(variance) / 2 > self.middle)].append(abs(residual) / np.sqrt(variance))
            n = min(MEMORY, sum(map(len, self.scores.values())))
            self.middle += (np.log(variance) / 2 - self.middle) / n
            shares = parts / whole
            self.informed = self.informed + rate * (MEAN_CURVATURE * shares**2 - self.informed / MEMORY)
            self.logs = np.clip(self.logs - rate * slope * shares / (10 + self.informed), -5, 5)
        self.level -= rate * slope / (MEAN_CURVATURE * min(self.rows, MEMORY))
        return rate * slope, rate * LARGEST_CURVATURE
