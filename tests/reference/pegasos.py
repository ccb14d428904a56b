"""Pegasos (Shalev-Shwartz, Singer and Srebro 2007), Figure 1 with one row a step.

eta_t = 1 / (lam t); f <- (1 - 1/t) f - eta_t g k(x, .); optionally f <- f min(1, 1 / (sqrt(lam) |f|)).
"""

from dataclasses import dataclass

from reference.common import Reference


@dataclass
class Pegasos(Reference):
    lam: float = 0.01
    project: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.project:
            self.R = self.lam**-0.5

    def probability(self, row):
        return 1.0 if row.g.any() else 0.0

    def coefficient(self, row, probability):
        step = (row.t - 1) // self.batch_size + 1
        return -row.weight * row.g / (self.lam * step)

    def shrink(self, step):
        return 1 - 1 / step
