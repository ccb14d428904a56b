"""Sparse passive-aggressive learning (Lu, Sahoo, Zhao and Hoi 2018), Algorithm 1 and Proposition 1.

rho_t = min(alpha, l_t) / beta;  tau_t = min(eta / rho_t, l_t / (|g|^2 k(x, x))), where |g|^2 is 2 for several classes.
"""

from dataclasses import dataclass

import numpy as np

from reference.common import Reference


@dataclass
class SPA(Reference):
    eta: float = 1.0
    alpha: float = 1.0
    beta: float = 1.0

    def probability(self, row):
        return min(1.0, min(self.alpha, row.weight * row.loss) / self.beta)

    def coefficient(self, row, probability):
        reach = row.g @ row.g * row.self_kernel
        return -min(self.eta * row.weight / probability, row.loss / reach) * row.g


@dataclass
class PacedSPA(SPA):
    """beta_t = s_t (T - t + 1) / (B - N_t), s_t the mean of min(alpha, l) so far, where rows weigh by their number."""

    points_wanted: int = 1  # B
    horizon: int = 1  # T

    def __post_init__(self):
        super().__post_init__()
        self.capped = []  # min(alpha, l) of each row

    def probability(self, row):
        self.capped.append(min(self.alpha, row.weight * row.loss))
        unspent = self.points_wanted - len(self.points)
        if self.capped[-1] == 0 or unspent == 0:
            return 0.0
        mean = np.average(self.capped, weights=np.arange(1, len(self.capped) + 1))
        beta = mean * max(1, self.horizon - row.t + 1) / unspent
        return min(1.0, self.capped[-1] / beta)
