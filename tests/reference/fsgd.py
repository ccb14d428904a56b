"""Functional stochastic gradient descent (Kivinen, Smola and Williamson 2004) with a constant or an O(1/t) step.

f <- (1 - eta_t lam) f - eta_t g k(x, .), eta_t = eta or eta / (1 + eta lam t).
"""

from dataclasses import dataclass

from reference.common import Reference


@dataclass
class FSGD(Reference):
    eta: float = 0.5
    lam: float = 1e-4
    schedule: str = "constant"

    def rate(self, step):
        return self.eta if self.schedule == "constant" else self.eta / (1 + self.eta * self.lam * step)

    def probability(self, row):
        return 1.0 if row.g.any() else 0.0

    def coefficient(self, row, probability):
        return -self.rate((row.t - 1) // self.batch_size + 1) * row.weight * row.g

    def shrink(self, step):
        return 1 - self.rate(step) * self.lam
