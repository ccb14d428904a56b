"""The self-tuned Forgetron (Dekel, Shalev-Shwartz and Singer 2008), figure 3.

The largest phi in (0, 1] with Psi(sigma phi, phi mu) + Q <= 15/32 M, Psi(s, m) = s^2 + 2 s (1 - m): sought as a root.
"""

from dataclasses import dataclass

import numpy as np

from reference.budget import Budgeted, OnMistake


@dataclass
class Forgetron(OnMistake, Budgeted):
    loss: str = "perceptron"

    def __post_init__(self):
        super().__post_init__()
        self.M, self.Q = 0, 0.0

    def settle(self, newest):
        self.M += 1
        while self.too_many():
            oldest = min(self.alive(), key=lambda m: m.born)
            self._show()
            f = self.columns(oldest.x) @ self.f  # with the newcomer in it
            sigma = np.abs(oldest.a).max()
            u = oldest.a / sigma
            mu = u @ f

            def psi(phi, sigma=sigma, u=u, mu=mu):
                return u @ u * (sigma * phi) ** 2 + 2 * sigma * phi * (1 - phi * mu)

            bound = 15 / 32 * self.M - self.Q
            phi = 1.0
            if psi(1.0) > bound:
                roots = np.roots([u @ u * sigma**2 - 2 * sigma * mu, 2 * sigma, -bound])
                phi = max(r.real for r in roots if abs(r.imag) < 1e-12 and 0 < r.real <= 1)
            self.Q += psi(phi)
            for member in self._columns_in_order():
                member.a = member.a * phi
            self.leave(oldest)
