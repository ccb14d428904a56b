"""What the references share: the kernel, the losses, the loop over rows, and the mean of every function there was.

A learner's reference is a subclass of Reference that answers two questions, as its paper does: with what probability
does a row join (`probability`), and with what coefficient (`coefficient`)? A shrinking learner also answers `shrink`.

A comparison is fair only up to the first decision that rounding could turn: the reference measures how far each
decision was from its threshold, and `clear_rows` says how many rows come before the first close call.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onkel import _core

CONSTANT = 5 / 16  # the value of the constant column: with it the kernel is k + CONSTANT^2
NEGLIGIBLE = 1e-12  # a loss below counts as 0

# -- losses: value and slope in z, and the points where the slope jumps -----------------------------------------------


def perceptron(z, _):
    return max(0.0, -z), -1.0 if z <= 0 else 0.0, [0.0]


def hinge(z, _):
    return max(0.0, 1 - z), -1.0 if z < 1 else 0.0, [1.0]


def squared_error(z, _):
    return z * z / 2, z, [0.0]


def epsilon_insensitive(z, epsilon):
    return max(0.0, abs(z) - epsilon), np.sign(z) * (abs(z) > epsilon), [-epsilon, epsilon]


LOSSES = {f.__name__: f for f in (perceptron, hinge, squared_error, epsilon_insensitive)}

# -- rows -------------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One row, as the papers write it."""

    t: int  # from 1
    weight: float
    self_kernel: float  # k(x, x)
    z: float  # margin y f(x), f_y - max f_other, or residual f(x) - y
    loss: float
    g: np.ndarray  # dl/df


@dataclass
class Reference:
    """f_1 = 0, then one update a row; every function is kept."""

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

    points: list = field(default_factory=list, init=False)  # support vectors
    support: list = field(default_factory=list, init=False)  # their positions in the stream
    scores: list = field(default_factory=list, init=False)  # of each row, before learning from it
    gaps: list = field(default_factory=list, init=False)  # of each row: how clear its closest decision was
    t: int = field(default=0, init=False)

    def __post_init__(self):
        self.f = np.zeros((1, self.n_classes if self.task == "multiclass" else 1))  # row 0: the constant column
        self.functions = [self.f]
        self.waiting = []  # (index of the point, coefficient) of the mini-batch under way

    # -- a learner's own answers
    def probability(self, row: Row) -> float:
        raise NotImplementedError

    def coefficient(self, row: Row, probability: float) -> np.ndarray:
        raise NotImplementedError

    def shrink(self, step: int) -> float:
        return 1.0

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
        row, gap = self._look(columns, label, weight)
        p = self.probability(row)
        draw = _core.uniform(self.seed, 0, self.t, 0)
        self.gaps.append(min(gap, abs(draw - p)))
        if p > 0 and draw < p and (self.budget is None or len(self.points) < self.budget):
            change = self.coefficient(row, p) / self.batch_size
            if change.any():
                self.points.append(x)
                self.support.append(self.t - 1)
                self.waiting.append((len(self.points), change))
        if self.t % self.batch_size == 0:
            self.commit()
        self.functions.append(self.f)

    def commit(self):
        """The end of a mini-batch (of a row, when a batch is one): f <- shrink f + what waits."""
        f = np.zeros((1 + len(self.points), self.f.shape[1]))
        f[: len(self.f)] = self.f * self.shrink((self.t - 1) // self.batch_size + 1)
        for index, change in self.waiting:
            change = np.pad(change, (0, f.shape[1] - len(change)))
            f[index] += change
            if self.fit_intercept:
                f[0] += change * CONSTANT
        self.waiting, self.f = [], f

    def _look(self, columns, label, weight):
        """Score the row and measure its loss; also how far from a jump of the loss."""
        f = columns @ self._full(self.f)
        size = np.abs(columns) @ np.abs(self._full(self.f))  # of the terms: what rounding is relative to
        rival_gap = np.inf
        if self.task == "multiclass":
            others = [c for c in range(len(f)) if c != label]
            if not others:  # no other class is known yet: nothing can be wrong
                return Row(self.t, weight, 1.0, 1.0, 0.0, np.zeros(1)), np.inf
            rival = max(others, key=lambda c: f[c])  # the first of equals
            runners = [c for c in others if c != rival]
            if runners:
                rival_gap = min(_gap(f[rival] - f[c], size[rival] + size[c]) for c in runners)
            direction = np.zeros(len(f))
            direction[int(label)], direction[rival] = 1.0, -1.0
            z = f[int(label)] - f[rival]
        elif self.task == "binary":
            direction = np.array([2.0 * label - 1])
            z = direction[0] * f[0]
        else:
            direction = np.ones(1)
            z = f[0] - label
        value, slope, jumps = LOSSES[self.loss](z, self.epsilon)
        terms = np.abs(direction) @ size
        gap = min(_gap(z - jump, terms) for jump in jumps)
        if value < NEGLIGIBLE and not (self.loss == "perceptron" and z == 0):
            value, slope = 0.0, 0.0
        self_kernel = 1.0 + (CONSTANT**2 if self.fit_intercept else 0.0)
        return Row(self.t, weight, self_kernel, z, value, slope * direction), min(gap, rival_gap)

    # -- functions
    def columns(self, x):
        """The constant column and the gaussian kernel with every support vector."""
        if not self.points:
            return np.array([CONSTANT])
        squared_distance = ((np.asarray(self.points) - x) ** 2).sum(axis=1)
        return np.concatenate([[CONSTANT], np.exp(-self.gamma * squared_distance)])

    def predicting(self):
        """The last function, or the plain mean of all of them."""
        if not self.average:
            return self._full(self.f)
        total = np.zeros((1 + len(self.points), self.f.shape[1]))
        for f in self.functions:
            total[: f.shape[0], : f.shape[1]] += f
        return total / len(self.functions)

    def decision(self, X):
        return np.array([self.columns(x) @ self.predicting() for x in np.asarray(X, np.float64)])

    def clear_rows(self, tolerance):
        """The number of rows before the first decision that an error of `tolerance` could turn."""
        close = np.flatnonzero(np.array(self.gaps) < tolerance)
        return int(close[0]) if len(close) else len(self.gaps)

    def _full(self, f):
        """Room for points that wait for the end of their mini-batch."""
        return np.pad(f, ((0, 1 + len(self.points) - len(f)), (0, 0)))

    def _know(self, label):
        missing = label + 1 - self.f.shape[1]
        if missing > 0:
            self.f = np.pad(self.f, ((0, 0), (0, missing)))


def _gap(difference, terms):
    """How clear a comparison is, relative to its terms; a sum without terms is exact in any arithmetic."""
    return np.inf if terms == 0 else abs(difference) / (1 + terms)
