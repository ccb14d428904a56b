"""Sparse passive-aggressive learning (Lu, Sahoo, Zhao and Hoi 2018), Algorithm 1 and Proposition 1.

rho_t = min(alpha, l_t) / beta;  tau_t = min(eta / rho_t, l_t / (|g|^2 k(x, x))), where |g|^2 is 2 for several classes.
"""

from dataclasses import dataclass

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
