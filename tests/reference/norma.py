"""NORMA (Kivinen, Smola and Williamson 2004), equations 10 and 11: shrink, step, and the oldest point is cut off."""

from dataclasses import dataclass

from reference.budget import Budgeted, Gradient


@dataclass
class NORMA(Gradient, Budgeted):
    eta: float = 0.5
    lam: float = 1e-3

    def settle(self, newest):
        while self.too_many():
            self.leave(min(self.alive(), key=lambda m: m.born))
