"""What the references share: the kernel, the losses, the loop over rows, and the mean of every function there was.

A learner's reference is a subclass of Reference that answers two questions, as its paper does: with what probability
does a row join (`probability`), and with what coefficient (`coefficient`)? A shrinking learner also answers `shrink`.

A comparison is fair only up to the first decision that rounding could turn: the reference measures how far each
decision was from its threshold, and `clear_rows` says how many rows come before the first close call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from onkel import _core

CONSTANT = 5 / 16  # the value of the constant column: with it the kernel is k + CONSTANT^2
NEGLIGIBLE = 1e-12  # a loss below counts as 0

# -- losses: value and slope in z, and the points where the slope jumps (or the loss becomes negligible) ---------------


def perceptron(z, _):
    return max(0.0, -z), -1.0 if z <= 0 else 0.0, [0.0]


def hinge(z, _):
    return max(0.0, 1 - z), -1.0 if z < 1 else 0.0, [1.0]


def squared_error(z, _):
    return z * z / 2, z, [0.0]


def epsilon_insensitive(z, epsilon):
    return max(0.0, abs(z) - epsilon), np.sign(z) * (abs(z) > epsilon), [-epsilon, epsilon]


def squared_hinge(z, _):
    return max(0.0, 1 - z) ** 2, -2 * max(0.0, 1 - z), [1.0]


def log_loss(z, _):
    return np.logaddexp(0, -z), -np.exp(-np.logaddexp(0, z)), [-np.log(NEGLIGIBLE)]


def exponential(z, _):
    return np.exp(-z), -np.exp(-z), [-np.log(NEGLIGIBLE)]


def huber(z, epsilon):
    straight = abs(z) > epsilon
    return epsilon * (abs(z) - epsilon / 2) if straight else z * z / 2, np.clip(z, -epsilon, epsilon), [0.0]


def quantile(z, q):
    return max((1 - q) * z, -q * z), (1 - q) * (z > 0) - q * (z < 0), [0.0]


def poisson(f, y):
    """Of the score and the target: half the deviance."""
    if y == 0:
        return np.exp(f), np.exp(f), [np.log(NEGLIGIBLE)]
    u = f - np.log(y)
    series = u**2 / 2 + u**3 / 6 + u**4 / 24 + u**5 / 120
    return y * (series if abs(u) < 1e-3 else np.expm1(u) - u), y * np.expm1(u), [np.log(y)]


LOSSES = {
    f.__name__: f
    for f in (
        perceptron,
        hinge,
        squared_hinge,
        log_loss,
        exponential,
        squared_error,
        epsilon_insensitive,
        huber,
        quantile,
        poisson,
    )
}

# -- rows -------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One row, as the papers write it."""

    t: int  # from 1
    weight: float
    self_kernel: float  # k(x, x)
    z: float  # margin y f(x), f_y - max f_other (log_loss: f_y - log sum e^f_other), or residual f(x) - y
    loss: float
    direction: np.ndarray  # dz/df
    g: np.ndarray  # dl/df


@dataclass
class Reference:
    """f_1 = 0, then one update a row."""

    task: str
    gamma: float = 1.0
    budget: int | None = None
    average: bool = False
    fit_intercept: bool = False
    n_classes: int = 1
    seed: int = 0
    batch_size: int = 1
    loss: str = "hinge"
    epsilon: float = 0.1
    quantile: float = 0.5
    R: float | None = None  # the ball's radius
    stream: int = 0  # the kernel's number among several
    kernel_function: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None  # (points, x), not the gaussian

    points: list = field(default_factory=list, init=False)  # support vectors
    support: list = field(default_factory=list, init=False)  # their positions in the stream
    scores: list = field(default_factory=list, init=False)  # of each row, before learning from it
    gaps: list = field(default_factory=list, init=False)  # of each row: how clear its closest decision was
    t: int = field(default=0, init=False)
    # set by a hedge over several kernels
    gate: float = field(default=1.0, init=False)  # the share of admissions that it lets through
    position: int | None = field(default=None, init=False)  # of the row in the stream, where some were not seen

    def __post_init__(self):
        self.f = np.zeros((1, self.n_classes if self.task == "multiclass" else 1))  # row 0: the constant column
        self.total, self.count = self.f, 1  # the sum of all functions there were, and their number
        self._gram, self._stacked = np.ones((1, 1)), np.empty((0, 0))
        self.waiting = []  # (index of the point, coefficient) of the mini-batch under way

    # -- a learner's own answers
    def probability(self, row: Row) -> float:
        raise NotImplementedError

    def coefficient(self, row: Row, probability: float) -> np.ndarray:
        raise NotImplementedError

    def shrink(self, step: int) -> float:
        return 1.0

    def thresholds(self) -> list[float]:
        """Return the values of z where the coefficient jumps, beside those of the loss."""
        return []

    # -- the loop
    def learn(self, X, y, weight=None, scores=True):
        weight = np.ones(len(X)) if weight is None else weight
        for x, label, w in zip(np.asarray(X, np.float64), y, weight, strict=True):
            if w != 0 and self.task == "multiclass":
                self._know(int(label))
            if scores:
                self.scores.append(self.columns(x) @ self.predicting())
            if w != 0:
                self._update(x, label, w)
            elif scores:
                self.gaps.append(np.inf)
        return self

    def _update(self, x, label, weight):
        self.t += 1
        columns = self.columns(x)
        row, gap = self._look(columns, label, weight, x)
        p = self.probability(row)
        draw = _core.uniform(self.seed, self.stream, self.t, 0)
        self.gaps.append(min(gap, abs(draw - self.gate * p)))
        if p > 0 and draw < self.gate * p and (self.budget is None or len(self.points) < self.budget):
            change = self.coefficient(row, p) / self.batch_size
            if change.any():
                self.points.append(x)
                self.support.append(self.born)
                self.waiting.append((len(self.points), change))
        if self.t % self.batch_size == 0:
            self.commit()
        self.total = self._full(self.total) + self._full(self.f)
        self.count += 1

    @property
    def born(self):
        return self.t - 1 if self.position is None else self.position

    def commit(self):
        """The end of a mini-batch (of a row, when a batch is one): f <- shrink f + what waits."""
        f = np.zeros((1 + len(self.points), self.f.shape[1]))
        f[: len(self.f)] = self.f * self.shrink((self.t - 1) // self.batch_size + 1)
        for index, change in self.waiting:
            f[index, : len(change)] += change
            if self.fit_intercept:
                f[0, : len(change)] += change * CONSTANT
        self.waiting, self.f = [], f if self.R is None else f * self.R / max(self.R, self.norm(f))

    def norm(self, f):
        """The RKHS norm from the Gram matrix; the constant column is a unit vector orthogonal to all others."""
        for x in self.points[len(self._gram) - 1 :]:
            self._gram = _grown(self._gram, *np.add(self._gram.shape, 1))
            known = np.asarray(self.points[: len(self._gram) - 1])
            self._gram[-1, 1:] = self._gram[1:, -1] = np.exp(-self.gamma * ((known - x) ** 2).sum(axis=1))
        return np.sqrt(max(0.0, np.sum(f * (self._gram @ f))))

    def _look(self, columns, label, weight, x):
        """Score the row and measure its loss; also how far from a jump of the loss."""
        f = columns @ self._full(self.f)
        return self._judge(f, np.abs(columns) @ np.abs(self._full(self.f)), label, weight, x)

    def _judge(self, f, size, label, weight, x):
        """Measure the loss of scores; ``size`` is that of their terms, which rounding is relative to."""
        rival_gap = np.inf
        if self.task == "multiclass":
            others = [c for c in range(len(f)) if c != label]
            if not others:  # no other class is known yet: nothing can be wrong
                return Row(self.t, weight, 1.0, 1.0, 0.0, np.zeros(1), np.zeros(1)), np.inf
            rival = max(others, key=lambda c: f[c])  # the first of equals
            runners = [c for c in others if c != rival]
            if runners and self.loss != "log_loss":
                rival_gap = min(_gap(f[rival] - f[c], size[rival] + size[c]) for c in runners)
            direction = np.zeros(len(f))
            direction[int(label)], direction[rival] = 1.0, -1.0
            z = f[int(label)] - f[rival]
            if self.loss == "log_loss":  # softmax
                share = np.exp(f[others] - f[rival])
                z -= np.log(share.sum())
                direction[others] = -share / share.sum()
        elif self.task == "binary":
            direction = np.array([2.0 * label - 1])
            z = direction[0] * f[0]
        else:
            direction = np.ones(1)
            z = f[0] if self.loss == "poisson" else f[0] - label
        value, slope, jumps = LOSSES[self.loss](z, self.number(label))
        terms = np.abs(direction) @ size
        gap = min(_gap(z - jump, terms) for jump in jumps + self.thresholds())
        if value < NEGLIGIBLE and not (self.loss == "perceptron" and z == 0):
            value, slope = 0.0, 0.0
        self_kernel = self._kernel(x[None], x)[0] + (CONSTANT**2 if self.fit_intercept else 0.0)
        return Row(self.t, weight, self_kernel, z, value, direction, slope * direction), min(gap, rival_gap)

    def number(self, label):
        """What the loss is a function of, beside z."""
        return {"quantile": self.quantile, "poisson": label}.get(self.loss, self.epsilon)

    # -- functions
    def columns(self, x):
        """The constant column and the gaussian kernel with every support vector."""
        if not self.points:
            return np.array([CONSTANT])
        if len(self._stacked) < len(self.points):
            self._stacked = np.array(self.points)
        return np.concatenate([[CONSTANT], self._kernel(self._stacked, x)])

    def _kernel(self, points, x):
        if self.kernel_function is not None:
            return self.kernel_function(points, x)
        return np.exp(-self.gamma * ((points - x) ** 2).sum(axis=1))

    def predicting(self):
        """The last function, or the plain mean of all of them."""
        if not self.average:
            return self._full(self.f)
        return self._full(self.total) / self.count

    def decision(self, X):
        return np.array([self.columns(x) @ self.predicting() for x in np.asarray(X, np.float64)])

    def clear_rows(self, tolerance):
        """The number of rows before the first decision that an error of `tolerance` could turn."""
        close = np.flatnonzero(np.array(self.gaps) < tolerance)
        return int(close[0]) if len(close) else len(self.gaps)

    def _full(self, f):
        """Room for points that wait for the end of their mini-batch, and for a class that was met just now."""
        return _grown(f, 1 + len(self.points), self.f.shape[1])

    def _know(self, label):
        self.f = _grown(self.f, len(self.f), max(label + 1, self.f.shape[1]))


def _grown(array, rows, columns):
    """The array with zeros to its right and below."""
    if array.shape == (rows, columns):
        return array
    grown = np.zeros((rows, columns))
    grown[: array.shape[0], : array.shape[1]] = array
    return grown


def _gap(difference, terms):
    """How clear a comparison is, relative to its terms; a sum without terms is exact in any arithmetic."""
    return np.inf if terms == 0 else abs(difference) / (1 + terms)
