"""Budgeted stochastic gradient descent (Wang, Crammer and Vucetic 2012): Pegasos with removal or merging.

Merging: z = h s_m + (1 - h) s_n, a_z = a_m k^((1-h)^2) + a_n k^(h^2), with the h in [0, 1] that maximises |a_z|^2,
found among all the zeros of its derivative on a grid.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from reference.budget import EQUAL, Budgeted, Pegasos


def best_h(L, A, B, C):
    """The maximum of |a_z|^2; of two equal ones that nearer to n."""

    def slope(h):
        m, n = np.exp(-L * (1 - h) ** 2), np.exp(-L * h * h)
        return A * (1 - h) * m * m + C * (1 - 2 * h) * m * n - B * h * n * n

    def height(h):
        m, n = np.exp(-L * (1 - h) ** 2), np.exp(-L * h * h)
        return A * m * m + 2 * C * m * n + B * n * n

    grid = np.linspace(0, 1, 202)  # without 1/2, where equals have a zero of their own
    signs = np.sign(slope(grid))
    zeros = [brentq(slope, grid[i], grid[i + 1], xtol=1e-15) for i in np.flatnonzero(signs[:-1] != signs[1:])]
    zeros = zeros or [0.0]  # at the ends only where the kernel value underflows: the slope is positive at 0
    best = max(height(h) for h in zeros)
    return next(h for h in zeros if height(h) >= best * (1 - 1e-13))


@dataclass
class BSGD(Pegasos, Budgeted):
    lam: float = 0.01
    maintenance: str = "remove"

    def settle(self, newest):
        while self.too_many():
            m = self.smallest(self.alive())
            if self.maintenance == "merge":
                self.merge(m)
            self.leave(m)

    def merge(self, m):
        partners = []
        for n in self.alive():
            cosine = n.a @ m.a / np.sqrt((n.a @ n.a) * (m.a @ m.a))
            if n is not m and abs(cosine) > 1e-11:
                self.close_call(abs(cosine))
                partners += [n] if cosine > EQUAL else []
        if not partners:
            return
        losses, plans = [], []
        for n, k in zip(partners, self.kernel(m.x, partners), strict=True):
            L, A, B, C = -np.log(min(k, 1.0)), m.a @ m.a, n.a @ n.a, m.a @ n.a
            h = best_h(L, A, B, C)
            a = m.a * np.exp(-L * (1 - h) ** 2) + n.a * np.exp(-L * h * h)
            losses.append(A + B + 2 * k * C - a @ a)
            # of equals at L = 2 the maximum parts into two: there h turns a corner
            plans.append((h * m.x + (1 - h) * n.x, a, (L - 2) ** 2 + (1 - A / B) ** 2))
        n = self.cheapest(partners, losses, [m.a @ m.a] * len(partners))
        x, a, gap = plans[partners.index(n)]
        self.close_call(gap)
        if not self.average:
            n.x, n.a = x, a
            return
        self.enter(x, n.born, a)
        self.leave(n)
