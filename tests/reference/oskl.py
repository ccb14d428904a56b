"""Online sparse kernel learning (Zhang, Yi, Jin, Lin and He 2013), Algorithm 1.

Pr(Z_t = 1) = |l'| / G; f <- ball[f - eta sgn(l') Z_t G k(x, .)]. Beyond G a row is sure to join and the step is the
plain gradient's, so that its expectation is -eta l' k(x, .) everywhere. With several classes |l'| is the largest entry
of the gradient.
"""

from dataclasses import dataclass

import numpy as np

from reference.common import Reference


@dataclass
class OSKL(Reference):
    loss: str = "log_loss"
    G: float = 1.0
    eta: float = 0.9

    def probability(self, row):
        return min(1.0, row.weight * np.abs(row.g).max() / self.G)

    def coefficient(self, row, probability):
        if probability == 1 or self.task == "multiclass":
            return -self.eta * row.weight * row.g / probability
        return -self.eta * np.sign(row.g) * self.G
