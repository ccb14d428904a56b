"""Passive-aggressive learning (Crammer, Dekel, Keshet, Shalev-Shwartz and Singer 2006), Figure 1.

tau = l / |x|^2 (PA), min(C, l / |x|^2) (PA-I), l / (|x|^2 + 1 / (2 C)) (PA-II); with several classes the change has
the length |g|^2 |x|^2 = 2 |x|^2. A row's weight multiplies C.
"""

from dataclasses import dataclass

from reference.common import Reference


@dataclass
class PA(Reference):
    C: float = 1.0
    variant: str = "PA-I"

    def probability(self, row):
        return 1.0 if row.loss > 0 else 0.0

    def coefficient(self, row, probability):
        reach = row.g @ row.g * row.self_kernel
        most = row.weight * self.C
        tau = {
            "PA": row.loss / reach,
            "PA-I": min(most, row.loss / reach),
            "PA-II": row.loss / (reach + 1 / (2 * most)),
        }
        return -tau[self.variant] * row.g
