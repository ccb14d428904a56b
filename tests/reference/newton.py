"""The second-order learner of docs/newton.md in orthonormal coordinates of the dictionary's span, one row at a time.

Features z(x) = L^-1 k(D, x), with K = L L' and the constant column in front; mean w, information H = sum v z z' beside
that of the prior N(0, I / lam), so that the covariance is P = (lam I + H)^-1.
"""

from dataclasses import dataclass

import numpy as np

from onkel import _core
from reference.budget import Budgeted
from reference.common import CONSTANT, LOSSES, NEGLIGIBLE

TOLERANCE = 1e-4  # of a point's squared length: what must lie outside of the span
RESERVOIR = 32
STEPS = 3
MOST_CERTAIN = 1e10  # what a row's weight may divide the prior's variance by


@dataclass
class Newton(Budgeted):
    lam: float = 0.01
    loss: str = "log_loss"
    spread: float = 8.0
    forget: float = 1.0

    def __post_init__(self):
        super().__post_init__()
        fixed = 1 if self.fit_intercept else 0
        self.order = []  # the dictionary, as it grew
        self.reservoir = []  # (key, member)
        self.L = np.zeros((0, 0))
        self.w = np.zeros((fixed, self.f.shape[1]))
        self.H = np.zeros((fixed, fixed))
        self.noise, self.steps = 0.0, 0

    @property
    def P(self):
        return np.linalg.inv(self.lam * np.eye(len(self.H)) + self.H)

    # -- coordinates
    def inside(self, x):
        return np.linalg.solve(self.L, self.kernel(x, self.order)) if self.order else np.zeros(0)

    def z(self, x):
        constant = [CONSTANT] if self.fit_intercept else []
        return np.concatenate([constant, self.inside(x)])

    def variance(self, x):
        z = self.z(x)
        return z @ self.P @ z + (1 - self.inside(x) @ self.inside(x)) / self.lam

    @property
    def self_kernel(self):
        return 1 + (CONSTANT**2 if self.fit_intercept else 0.0)

    # -- a row
    def _update(self, x, label, weight):
        self.t += 1
        row, gap = self._look(self.columns(x), label, weight, x)
        self.gaps.append(gap)
        slope, threshold = np.abs(row.g).max(), 0.0 if self.task == "regression" else 0.1
        if threshold:
            self.close_call(abs(slope - threshold))
        if slope > threshold:
            self.offer(x, slope, weight)
        self.grow()
        if slope > threshold:
            self.step(x, label, min(weight, MOST_CERTAIN * self.lam / self.self_kernel), slope)
        if self.forget < 1:
            self.fade()
        for member, a in zip(self.order, self.coefficients(), strict=True):
            member.a = a
        if self.fit_intercept:
            self.constant.a = self.w[0]
        for member in self._columns_in_order():
            member.total = member.total + member.a
        self._show()

    def coefficients(self):
        fixed = 1 if self.fit_intercept else 0
        return np.linalg.solve(self.L.T, self.w[fixed:]) if self.order else np.zeros((0, self.w.shape[1]))

    # -- the dictionary
    def newness(self, x):
        new = 1 - np.sum(self.inside(x) ** 2)
        self.close_call(0.01 * abs(new / TOLERANCE - 1))
        return new

    def offer(self, x, slope, weight):
        """Weighted reservoir sampling: keep the rows with the largest u^(1/q)."""
        budget = np.inf if self.budget is None else self.budget
        room = min(RESERVOIR, budget - len(self.order))
        new = self.newness(x)
        if room <= 0 or new <= TOLERANCE:
            return
        key = np.log1p(-_core.uniform(self.seed, 0, self.t, 0)) / (weight * slope**2 * np.sqrt(new))
        for other, _ in self.reservoir:
            self.close_call(abs(key - other) / abs(key + other))
        if len(self.reservoir) >= room:
            worst = min(self.reservoir, key=lambda entry: entry[0])
            if key <= worst[0]:
                return
            self.reservoir.remove(worst)
            self.leave(worst[1])
        self.reservoir.append((key, self.enter(x, self.t - 1, np.zeros(self.f.shape[1]))))

    def grow(self):
        room = np.inf if self.budget is None else self.budget
        while len(self.order) < min(self.t, np.sqrt(self.t / self.spread * room)) and self.reservoir:
            best = max(self.reservoir, key=lambda entry: entry[0])
            self.reservoir.remove(best)
            member, row, new = best[1], self.inside(best[1].x), self.newness(best[1].x)
            if new <= TOLERANCE:
                self.leave(member)
                continue
            self.L = np.block([[self.L, np.zeros((len(row), 1))], [row[None], np.sqrt(new)]])
            self.order.append(member)
            self.w = np.vstack([self.w, np.zeros(self.w.shape[1])])
            self.H = np.pad(self.H, (0, 1))

    # -- the step
    def at(self, f, label, weight):
        """Loss, gradient and the diagonal of the second derivative at the scores f."""
        if self.task == "multiclass":
            others = [c for c in range(len(f)) if c != label]
            if not others:
                return 0.0, np.zeros(1), np.zeros(1)
            rival = max(others, key=lambda c: f[c])
            direction = np.zeros(len(f))
            direction[int(label)], direction[rival] = 1.0, -1.0
            z = f[int(label)] - f[rival]
            if self.loss == "log_loss":
                share = np.exp(f[others] - f[rival])
                z -= np.log(share.sum())
                direction[others] = -share / share.sum()
        elif self.task == "binary":
            direction = np.array([2.0 * label - 1])
            z = direction[0] * f[0]
        else:
            direction, z = np.ones(1), f[0] - label
        value, slope, _ = LOSSES[self.loss](z, self.epsilon)
        if value < NEGLIGIBLE:
            value, slope = 0.0, 0.0
        g = slope * direction
        if self.loss == "log_loss":
            diagonal = np.abs(g) * (1 - np.abs(g))
        else:
            diagonal = {"squared_error": 1.0, "squared_hinge": 2.0 * (z < 1)}[self.loss] * direction**2
        return weight * value, weight * g, weight * diagonal

    def step(self, x, label, weight, slope):
        """A few Newton steps on |f' - f|^2 / (2 s) + loss(f'), then H += v z z'."""
        z, P = self.z(x), self.P
        m, s = z @ self.w, z @ P @ z
        b = np.zeros(len(m))
        value, g, diagonal = self.at(m, label, weight)
        for _ in range(1 if self.task == "regression" else STEPS):
            v = diagonal.max()
            to = (v * s * b - g) / (1 + v * s)
            for _ in range(20):  # halved until it helps
                reached = self.at(m + s * to, label, weight)[0] + s * to @ to / 2
                if reached <= value * (1 + 1e-9) or self.task == "regression":
                    break
                to = (b + to) / 2
            b = to
            value, g, diagonal = self.at(m + s * b, label, weight)
            value += s * b @ b / 2
        v = diagonal.sum() / max(1, len(m) - 1)
        self.w = self.w + np.outer(P @ z, b)
        self.H = self.H + v * np.outer(z, z)
        self.noise += weight * slope**2 / (1 + weight * s)
        self.steps += 1

    def fade(self):
        """Every tenth of the memory, counted in rows of the stream: H <- rho^m H, and w stays."""
        m = max(1, int((1 + 1e-9) / (10 * (1 - self.forget))))
        if self.t % m == 0:
            self.H = self.forget**m * self.H

    def _know(self, label):
        super()._know(label)
        self.w = np.pad(self.w, ((0, 0), (0, self.f.shape[1] - self.w.shape[1])))
