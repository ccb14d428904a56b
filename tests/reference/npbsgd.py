"""NPBSGD: BSGD with removal, whose budget grows by one instead with probability 1 - min(1, beta T / t)."""

from dataclasses import dataclass

from reference.budget import Budgeted, Pegasos


@dataclass
class NPBSGD(Pegasos, Budgeted):
    lam: float = 0.01
    beta: float = 0.5
    horizon: int | None = None

    def settle(self, newest):
        index = 0
        while self.too_many():
            if self.horizon is None or self.draw(index) < self.beta * self.horizon / self.t:
                self.leave(self.smallest(self.alive()))
            else:
                self.budget += 1
            index += 1
