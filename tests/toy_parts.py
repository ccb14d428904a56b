"""Parts in Python that do what built-in ones do."""

import math
from dataclasses import dataclass

import numpy as np

from onkel.parts.python import PythonAdmission, PythonEviction, PythonKernel, PythonLoss

# -- losses: the twin of each built-in one


class Perceptron(PythonLoss):
    piecewise_linear, starts = True, False

    def value(self, z):
        return max(0.0, -z)

    def slope(self, z):
        return -1.0 if z <= 0 else 0.0


class Hinge(PythonLoss):
    piecewise_linear = True

    def value(self, z):
        return max(0.0, 1 - z)

    def slope(self, z):
        return -1.0 if z < 1 else 0.0


class SquaredHinge(PythonLoss):
    smooth = True

    def value(self, z):
        return max(0.0, 1 - z) ** 2

    def slope(self, z):
        return -2 * max(0.0, 1 - z)

    def curvature(self, z):
        return 2.0 if z < 1 else 0.0


class Log(PythonLoss):
    logistic, smooth = True, True

    def value(self, z):
        return max(0.0, -z) + math.log1p(math.exp(-abs(z)))

    def slope(self, z):
        return -1 / (1 + math.exp(z)) if z < 0 else -math.exp(-z) / (1 + math.exp(-z))

    def curvature(self, z):
        return -self.slope(z) * (1 + self.slope(z))


class Exponential(PythonLoss):
    def value(self, z):
        return math.exp(min(-z, 700.0))

    def slope(self, z):
        return -self.value(z)

    def curvature(self, z):
        return self.value(z)


class SquaredError(PythonLoss):
    regression, smooth = True, True

    def value(self, z):
        return 0.5 * z * z

    def slope(self, z):
        return z

    def curvature(self, z):
        return 1.0


@dataclass(frozen=True)
class EpsilonInsensitive(PythonLoss):
    epsilon: float = 0.1
    regression = True
    piecewise_linear = True

    def value(self, z):
        return max(0.0, abs(z) - self.epsilon)

    def slope(self, z):
        return math.copysign(1.0, z) if abs(z) > self.epsilon else 0.0


@dataclass(frozen=True)
class Huber(PythonLoss):
    epsilon: float = 1.345
    regression = True
    smooth = True

    def value(self, z):
        return 0.5 * z * z if abs(z) <= self.epsilon else self.epsilon * (abs(z) - 0.5 * self.epsilon)

    def slope(self, z):
        return z if abs(z) <= self.epsilon else math.copysign(self.epsilon, z)

    def curvature(self, z):
        return 1.0 if abs(z) <= self.epsilon else 0.0


LOSSES = {
    "perceptron": Perceptron(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "log_loss": Log(),
    "exponential": Exponential(),
    "squared_error": SquaredError(),
    "epsilon_insensitive": EpsilonInsensitive(),
    "huber": Huber(),
}


# -- admissions


class OnGradient(PythonAdmission):
    def probability(self, row):
        return float(np.abs(row.gradient).max() > 0)


class LossSampling(PythonAdmission):
    needs_start = True

    def __init__(self, alpha=1.0, beta=1.0):
        self.alpha, self.beta = alpha, beta

    def probability(self, row):
        return min(1.0, min(self.alpha, row.weight * row.loss) / self.beta)


# -- evictions


class Stop(PythonEviction):
    evicts = False

    def absorb(self, points, row):
        return "insert" if len(points) < points.budget else "refuse"

    def restore_budget(self, points, row, newest):
        pass


class RemoveOldest(PythonEviction):
    def restore_budget(self, points, row, newest):
        while points.too_many:
            points.evict(points.slots[points.births.argmin()])


class RemoveRandom(PythonEviction):
    def restore_budget(self, points, row, newest):
        index = 0
        while points.too_many:
            old = points.slots[points.slots != newest]
            points.evict(old[int(points.uniform(index) * len(old))])
            index += 1


class Forget(PythonEviction):
    """The self-tuned Forgetron, with what it remembers."""

    row_by_row = True

    def __init__(self):
        self.mistakes, self.damage = 0, 0.0

    def restore_budget(self, points, row, newest):
        self.mistakes += 1
        while points.too_many:
            oldest = int(points.births.argmin())
            slot = points.slots[oldest]
            a = points.coefficients[oldest]
            f = points.kernel_row(slot) @ points.coefficients
            p, q = a @ a * points.self_kernel(slot) - 2 * a @ f, 2 * np.abs(a).max()
            left = max(0.0, 15 / 32 * self.mistakes - self.damage)
            phi = 1.0 if p + q <= left else 2 * left / (q + math.sqrt(q * q + 4 * p * left))
            self.damage += (p * phi + q) * phi
            points.scale(phi)
            points.evict(slot)

    def state(self):
        return {"mistakes": np.array([self.mistakes]), "damage": np.array([self.damage])}

    def set_state(self, state):
        self.mistakes, self.damage = int(state["mistakes"][0]), float(state["damage"][0])


class ProjectOldestOnNewcomer(PythonEviction):
    """With a budget of 1 there is one old point, and this is ProjectOnNewcomer."""

    reweights, row_by_row = True, True

    def restore_budget(self, points, row, newest):
        if points.too_many:
            oldest = int(points.births.argmin())
            slot = points.slots[oldest]
            k = points.kernel_row(slot)[points.slots == newest][0] / points.self_kernel(newest)
            points.add(newest, k * points.coefficients[oldest])
            points.evict(slot)


# -- kernels


@dataclass(frozen=True)
class RBF(PythonKernel):
    gamma: float = 1.0

    def matrix(self, X, S):
        return np.exp(-self.gamma * ((X - S) ** 2).sum(1))[None]
