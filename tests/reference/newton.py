"""The second-order learner of docs/newton.md in orthonormal coordinates of the dictionary's span, one row at a time.

Features z(x) = L^-1 k(D, x), with K = L L' and the constant column in front; mean w, information H = sum v z z' beside
that of the prior N(0, I / lam), so that the covariance is P = (lam I + H)^-1. There is one such posterior for each
memory; the function is their mean, weighted by fixed share.
"""

import sys
from dataclasses import dataclass, field

import numpy as np

from onkel import _core
from reference.budget import Budgeted
from reference.common import CONSTANT, LOSSES, NEGLIGIBLE
from reference.deviation import ALL_PLACED, MEAN_CURVATURE, PLACED_OF, Deviation

TOLERANCE = 1e-4  # of a point's squared length: what must lie outside of the span
RESERVOIR = 32
STEPS, STEPS_OF_TARGETS = 3, 10
RESIDUALS = 255  # of the latest rows, which losses have their units of
MOST_CERTAIN = 1e10  # what a row's weight may divide the prior's variance by
LARGE = 1e3  # scores of several classes beyond it are held on to the less
MEMORIES = ((1000, 2, 150), (100, 4, 70), (10, 10, 30))  # rows, the share of the points, and at most
SHARE = 1e-3
LEAST_LIKELIHOOD = 1e-2
LEAST_WEIGHT = 0.01  # of a memory that does not rest
EASY = 4  # the purpose of the draw of an easy row


@dataclass
class Posterior:
    """What one memory believes of the function."""

    learner: "Newton"
    forget: float
    room: float = np.inf
    order: list = field(default_factory=list)  # its points, as they joined
    next_exchange: int = 0

    def __post_init__(self):
        fixed = self.fixed
        self.L = np.zeros((0, 0))
        self.w = np.zeros((fixed, self.learner.f.shape[1]))
        self.H = np.zeros((fixed, fixed))
        self.local = np.zeros(fixed)  # the local logarithm of the noise

    @property
    def fixed(self):
        return 1 if self.learner.fit_intercept else 0

    @property
    def memory(self):
        return np.inf if self.forget == 1 else round(1 / (1 - self.forget), 9)

    @property
    def period(self):
        return max(1, int((1 + 1e-9) / (5 * (1 - self.forget))))

    @property
    def P(self):
        return np.linalg.inv(self.learner.lam * np.eye(len(self.H)) + self.H)

    def inside(self, x):
        return np.linalg.solve(self.L, self.learner.kernel(x, self.order)) if self.order else np.zeros(0)

    def z(self, x):
        constant = [CONSTANT] if self.learner.fit_intercept else []
        return np.concatenate([constant, self.inside(x)])

    def coefficients(self):
        """Of the constant, where there is one, and of the points."""
        return np.linalg.solve(self.lower.T, self.w)

    @property
    def lower(self):
        """L of all coordinates, the constant's among them."""
        return np.block(
            [
                [np.eye(self.fixed), np.zeros((self.fixed, len(self.L)))],
                [np.zeros((len(self.L), self.fixed)), self.L],
            ]
        )

    def join(self, member, new):
        row = self.inside(member.x)
        self.L = np.block([[self.L, np.zeros((len(row), 1))], [row[None], np.sqrt(new)]])
        self.order.append(member)
        self.local = np.append(self.local, 0.0)
        self.w = np.vstack([self.w, np.zeros(self.w.shape[1])])
        self.H = np.pad(self.H, (0, 1))

    def costs(self):
        a = self.coefficients()[self.fixed :]
        return (a**2).sum(axis=1) / np.diag(self.A)[self.fixed :]

    @property
    def A(self):
        """The covariance of the coefficients."""
        return np.linalg.solve(self.lower.T, np.linalg.solve(self.lower.T, self.P).T)

    def leave(self, member):
        """Its coefficient is 0 from now on; rows are known by their projections on the points that stay."""
        j = self.fixed + next(i for i, other in enumerate(self.order) if other is member)
        a, A, lower = self.coefficients(), self.A, self.lower
        local = np.linalg.solve(lower.T, self.local)
        a, local = (np.delete(own - np.multiply.outer(A[:, j], own[j]) / A[j, j], j, axis=0) for own in (a, local))
        rows = np.delete(lower, j, axis=0)
        self.order = [other for other in self.order if other is not member]
        self.L = np.linalg.cholesky(rows @ rows.T)[self.fixed :, self.fixed :]
        M = np.linalg.solve(self.lower, rows)
        self.H, self.w, self.local = M @ self.H @ M.T, self.lower.T @ a, self.lower.T @ local

    def least_needed(self):
        costs = self.costs()
        return self.learner.cheapest(self.order, costs, costs)

    def fade(self, t):
        """Every fifth of the memory, counted in rows of the stream: H <- rho^m H, and w stays."""
        if self.forget < 1 and t % self.period == 0:
            self.H = self.forget**self.period * self.H


@dataclass
class Newton(Budgeted):
    lam: float = 0.01
    loss: str = "log_loss"
    epsilon: float = 1.345
    spread: float = 8.0
    forget: float | str = "stream"

    def __post_init__(self):
        super().__post_init__()
        self.reservoir = []  # (key, member)
        self.deviations = Deviation()
        self.noise, self.steps, self.due, self.heaviest = 0.0, 0, 0.0, 0.0
        self.residuals = []  # absolute, of the latest rows
        if self.forget == "stream":
            budget = sys.maxsize if self.budget is None else self.budget
            self.posteriors = [Posterior(self, 1.0)] + [
                Posterior(self, 1 - 1 / rows, min(most, max(1, budget // share))) for rows, share, most in MEMORIES
            ]
        else:
            self.posteriors = [Posterior(self, self.forget)]
        self.weights = np.full(len(self.posteriors), 1 / len(self.posteriors))
        self.rows, self.means, self.squares = 0.0, np.zeros(len(self.weights)), np.zeros(len(self.weights))

    @property
    def first(self):
        """The longest memory, which stands on all points."""
        return self.posteriors[0]

    # what tests ask of a learner with one memory
    order = property(lambda self: self.first.order)
    w = property(lambda self: self.first.w)
    H = property(lambda self: self.first.H)
    P = property(lambda self: self.first.P)

    def z(self, x):
        return self.first.z(x)

    def apart(self, x):
        """The variance between the functions of the posteriors, in units of the noise."""
        noise = (self.noise / self.steps if self.noise else np.inf) if self.task == "regression" else 1.0
        f = np.array([posterior.z(x) @ posterior.w for posterior in self.posteriors])
        return self.weights @ ((f - self.weights @ f) ** 2).sum(axis=1) / noise if len(f) > 1 else 0.0

    def deviation(self, x):
        z, inside = self.first.z(x), self.first.inside(x)
        outside = (1 - inside @ inside) / self.lam
        return self.deviations.at(z @ self.first.local, z @ self.first.P @ z + self.apart(x), outside)

    def variance(self, x):
        zs = [posterior.z(x) for posterior in self.posteriors]
        inside = sum(u * (z @ b.P @ z) for u, z, b in zip(self.weights, zs, self.posteriors, strict=True))
        outside = 1 - self.first.inside(x) @ self.first.inside(x)
        return inside + outside / self.lam + self.apart(x)

    @property
    def self_kernel(self):
        return 1 + (CONSTANT**2 if self.fit_intercept else 0.0)

    # -- a row
    def _update(self, x, label, weight):
        self.t += 1
        _, gap = self._look(self.columns(x), label, weight, x)
        self.gaps.append(gap)
        f, draw = self.columns(x) @ self._full(self.f), _core.uniform(self.seed, 0, self.t, EASY)
        if self.task == "regression":
            self.residuals = [*self.residuals, abs(f[0] - label)][-RESIDUALS - 1 :]
        value, gradient, information, _ = self.at(f, label, 1.0)
        slope = np.abs(gradient).max()
        square, bend = (2 * value, information[0]) if self.task == "regression" else (slope**2, 1.0)

        def multiplicity(posterior, slope):
            """An easy row is learned from with probability p = slope / 0.1, and then counts 1/p times, unless that is
            more than a thousandth of the memory."""
            p = 1.0 if self.task == "regression" else min(1.0, slope / 0.1)
            if p < 1:
                self.close_call(abs(draw - p))
            return 1 / p if draw < p and 1 / p <= max(1.0, posterior.memory / 1000) else 0.0

        several = len(self.posteriors) > 1
        apart = self.apart(x)
        if several:
            part = self.weigh(x, label, weight)
            self.observe(self.columns(x) @ self._full(self.f), label, part)
        times = multiplicity(self.first, slope)
        if times:
            self.offer(x, slope, weight)
        self.grow()
        most = MOST_CERTAIN * self.lam / self.self_kernel
        z, P = self.first.z(x), self.first.P
        outside = (1 - self.first.inside(x) @ self.first.inside(x)) / self.lam
        variance = 0.0
        for posterior, share in zip(self.posteriors, self.weights, strict=True):
            own = np.abs(self.at(posterior.z(x) @ posterior.w, label, 1.0)[1]).max() if several else slope
            if not self.rests(posterior) and multiplicity(posterior, own):
                if several and posterior is not self.first:
                    self.exchange(posterior, x)
                variance += share * self.step(posterior, x, label, min(multiplicity(posterior, own) * weight, most))
        own_weight = weight
        if times:
            weight = min(times * weight, most)
            self.noise += weight * square / (1 + weight * bend * variance)
            self.steps += 1
        self.residuals = self.residuals[-RESIDUALS:]
        if self.task == "regression" and self.loss not in ("quantile", "poisson"):
            placed = self.t <= ALL_PLACED or self.t % PLACED_OF == 0
            slope, curvature = self.deviations.learn(
                f[0] - label, z @ self.first.local, z @ P @ z + apart, outside if placed else None, own_weight
            )
            gain = 1 / MEAN_CURVATURE
            self.first.local = self.first.local - P @ z * gain * slope / (1 + curvature * gain * (z @ P @ z))
        for posterior in self.posteriors:
            if not self.rests(posterior):
                posterior.fade(self.t)
        self.publish()
        for member in self._columns_in_order():
            member.total = member.total + member.a
        self._show()

    def publish(self):
        """The function is the mean of the posteriors."""
        columns = ([self.constant] if self.fit_intercept else []) + self.order
        for member in columns:
            member.a = np.zeros(self.f.shape[1])
        for posterior, share in zip(self.posteriors, self.weights, strict=True):
            own = ([self.constant] if self.fit_intercept else []) + posterior.order
            for member, a in zip(own, posterior.coefficients(), strict=True):
                member.a = member.a + share * a

    # -- the memories
    def weigh(self, x, label, weight):
        """Fixed share (Herbster and Warmuth) on the likelihood of what each memory predicted."""
        logs = np.array([self.log_likelihood(posterior.z(x) @ posterior.w, label) for posterior in self.posteriors])
        self.heaviest = max(self.heaviest, weight)
        rate = weight / self.heaviest
        logs = rate * logs
        shares = self.weights * np.exp(logs - logs.max())
        self.weights = (1 - rate * SHARE) * shares / shares.sum() + rate * SHARE / len(logs)
        winner = self.posteriors[int(np.argmax(self.weights))]
        if self.budget is not None and len(self.order) >= self.budget:
            apart = np.sort(self.weights)
            self.close_call(apart[-1] - apart[-2])
            self.due = min(1.0, self.due + 1 / winner.memory)
        return rate

    def log_likelihood(self, f, label):
        value, *_ = self.at(f, label, 1.0)
        if self.task == "regression":
            value = value / (self.noise / self.steps) if self.noise > 0 else 0.0
        return max(-value, np.log(LEAST_LIKELIHOOD))

    def observe(self, f, label, part):
        """How the function has done of late: means over each memory of the loss 1 - likelihood, and of its square."""
        self.rows += part
        loss = 1 - np.exp(self.log_likelihood(f, label))
        rates = part * np.maximum(1 / self.rows, [1 / posterior.memory for posterior in self.posteriors])
        self.means += rates * (loss - self.means)
        self.squares += rates * (loss**2 - self.squares)

    def rests(self, posterior):
        """Whether a memory counts for little while the function does as well as over the next longer one."""
        e = next(i for i, other in enumerate(self.posteriors) if other is posterior)
        if e == 0:
            return False
        deviation = np.sqrt(max(0.0, self.squares[e - 1] - self.means[e - 1] ** 2) / (2 * posterior.memory - 1))
        above = self.means[e] - self.means[e - 1] - deviation / 2
        self.close_call(abs(self.weights[e] - LEAST_WEIGHT))
        if self.weights[e] >= LEAST_WEIGHT or self.rows < 10 * posterior.memory:
            return False
        self.close_call(abs(above))
        return above <= 0

    def renew(self, x):
        """At a full budget a hard row takes the place of the point that is needed least, once in a memory."""
        if self.due < 1 - 1e-9 or self.novelty(x) <= TOLERANCE:
            return
        self.due = 0.0
        costs = dict.fromkeys(map(id, self.order), 0.0)
        for posterior, share in zip(self.posteriors, self.weights, strict=True):
            for member, cost in zip(posterior.order, posterior.costs(), strict=True):
                costs[id(member)] += share * cost
        totals = [costs[id(member)] for member in self.order]
        leaver = self.cheapest(self.order, totals, totals)
        for posterior in self.posteriors:
            if any(member is leaver for member in posterior.order):
                posterior.leave(leaver)
        self.publish()
        self.leave(leaver)
        self.join(self.enter(x, self.t - 1, np.zeros(self.f.shape[1])))

    def exchange(self, posterior, x):
        """A full posterior takes in the nearest of all points, for the one that it needs least."""
        if len(posterior.order) < posterior.room or self.t < posterior.next_exchange:
            return
        near = self.kernel(x, self.order)
        apart = np.sort(near)
        nearest = self.order[int(np.argmax(near))]
        if len(near) > 1 and len(posterior.order) < len(self.order):
            self.close_call(apart[-1] - apart[-2])
        if any(member is nearest for member in posterior.order):
            return
        posterior.next_exchange = self.t + 5 * posterior.period
        posterior.leave(posterior.least_needed())
        posterior.join(nearest, 1 - np.sum(posterior.inside(nearest.x) ** 2))

    # -- the dictionary
    def novelty(self, x):
        new = 1 - np.sum(self.first.inside(x) ** 2)
        self.close_call(0.01 * abs(new / TOLERANCE - 1))
        return new

    def offer(self, x, slope, weight):
        """Weighted reservoir sampling: keep the rows with the largest u^(1/q)."""
        budget = np.inf if self.budget is None else self.budget
        room = min(RESERVOIR, budget - len(self.order))
        if room <= 0:
            self.renew(x)
            return
        new = self.novelty(x)
        if new <= TOLERANCE:
            return
        with np.errstate(divide="ignore"):  # a slope of 0
            key = np.log1p(-_core.uniform(self.seed, 0, self.t, 0)) / (weight * slope**2 * np.sqrt(new))
        if not np.isfinite(key):
            return
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
            if not self.join(best[1]):
                self.leave(best[1])

    def join(self, member):
        """The point joins every posterior that has room for it."""
        if self.novelty(member.x) <= TOLERANCE:
            return False
        for posterior in self.posteriors:
            if len(posterior.order) < posterior.room:
                posterior.join(member, 1 - np.sum(posterior.inside(member.x) ** 2))
        return True

    # -- the step
    def at(self, f, label, weight):
        """Loss, gradient, the diagonal of the second derivative at the scores f, and the bound on a step's."""
        if self.loss in ("huber", "quantile", "poisson"):
            return tuple(weight * np.asarray(each) for each in self.of_target(f[0], label))
        if self.task == "multiclass":
            others = [c for c in range(len(f)) if c != label]
            if not others:
                return 0.0, np.zeros(1), np.zeros(1), 0.0
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
        bound = diagonal.max() if self.loss == "log_loss" else diagonal.sum()
        return weight * value, weight * g, weight * diagonal, weight * bound

    def within(self, share):
        """The smallest distance that so many of the latest residuals do not exceed."""
        return sorted(self.residuals)[max(1, int(np.ceil(share * len(self.residuals)))) - 1] or np.mean(self.residuals)

    def of_target(self, f, y):
        """The same for the losses of a regression that are no parabolas, in units of the latest residuals. The bound is
        the slope over the distance from the minimum."""
        scale, z = 1.4826 * self.within(0.5), f - y
        if self.loss == "huber":
            far = self.epsilon * scale
            self.close_call(abs(abs(z) / far - 1))
            value, slope, _ = LOSSES["huber"](z, far)
            bend, least = float(abs(z) <= far), 0.0
        elif self.loss == "quantile":
            q, h = self.quantile, self.within(min(self.quantile, 1 - self.quantile))
            if abs(z) != h:  # a row's own residual may be the width
                self.close_call(abs(abs(z) / h - 1))
            smooth = z * z / (2 * h) + h / 2 if abs(z) < h else abs(z)  # of |z|
            value = scale * (smooth / 2 + (0.5 - q) * z - h * q * (1 - q))
            slope = scale * (np.clip(z / h, -1, 1) / 2 + 0.5 - q)
            bend, least = scale * (abs(z) <= h) / (2 * h), (2 * q - 1) * h
        else:
            value, slope, _ = LOSSES["poisson"](f, y)
            bend, z, least = np.exp(f), f, np.log(y) if y > 0 else -np.inf
        if value < NEGLIGIBLE:
            value, slope = 0.0, 0.0
        bound = slope / (z - least) if np.isfinite(least) and slope != 0 else bend
        return value, np.array([slope]), np.array([bend]), bound

    def step(self, posterior, x, label, weight):
        """A few Newton steps on |f' - f|^2 / (2 s) + loss(f'), then H += v z z'. Returns s."""
        z, P = posterior.z(x), posterior.P
        m, s = z @ posterior.w, z @ P @ z
        b = np.zeros(len(m))
        value, g, diagonal, v = self.at(m, label, weight)
        for _ in range(1 if self.loss == "squared_error" else STEPS if self.task != "regression" else STEPS_OF_TARGETS):
            to = (v * s * b - g) / (1 + v * s)
            for _ in range(20):  # halved until it helps
                reached = self.at(m + s * to, label, weight)[0] + s * to @ to / 2
                if reached <= value * (1 + 1e-9) or self.loss == "squared_error":
                    break
                to = (b + to) / 2
            b = to
            value, g, diagonal, v = self.at(m + s * b, label, weight)
            value += s * b @ b / 2
        v = diagonal.sum() / max(1, len(m) - 1)
        if len(m) > 2:
            v /= max(1.0, np.abs(m + s * b).max() / LARGE) ** 2
        posterior.w = posterior.w + np.outer(P @ z, b)
        posterior.H = posterior.H + v * np.outer(z, z)
        return s

    def _know(self, label):
        super()._know(label)
        for posterior in self.posteriors:
            posterior.w = np.pad(posterior.w, ((0, 0), (0, self.f.shape[1] - posterior.w.shape[1])))
