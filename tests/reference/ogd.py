"""Online gradient descent in the kernel's space (Kivinen, Smola and Williamson 2004, equation 10).

f <- (1 - eta lam) f - eta g k(x, .)
"""

from dataclasses import dataclass

from reference.common import Reference


@dataclass
class OGD(Reference):
    eta: float = 0.5
    lam: float = 0.0

    def probability(self, row):
        return 1.0 if row.g.any() else 0.0

    def coefficient(self, row, probability):
        return -self.eta * row.weight * row.g

    def shrink(self, step):
        return 1 - self.eta * self.lam
