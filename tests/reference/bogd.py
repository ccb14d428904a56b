"""Bounded online gradient descent (Zhao, Wang, Wu, Jin and Hoi 2012), Algorithm 1 with Equations (10) and (16).

Where (16) would be negative: p_i = max(0, 1 - w_i / tau) with the one tau that makes them add up to 1.
"""

from dataclasses import dataclass

import numpy as np

from reference.budget import Budgeted, Gradient


def leaving_probabilities(w):
    """Equation (16) with the repair, by trying how many of the heaviest stay for sure."""
    w = np.asarray(w, float)
    if (w == 0).any():
        return (w == 0) / (w == 0).sum()
    if len(w) == 1:
        return np.ones(1)
    ascending = np.sort(w)
    for free in range(len(w), 1, -1):
        tau = ascending[:free].sum() / (free - 1)
        if ascending[free - 1] <= tau:
            return np.maximum(0.0, 1 - w / tau)
    raise AssertionError("two weights are never above their sum")


@dataclass
class BOGD(Gradient, Budgeted):
    eta: float = 0.125
    lam: float = 1e-4
    cap: float = 16.0
    sampling: str = "weighted"

    def settle(self, newest):
        index = 0
        while self.too_many():
            old = [m for m in self.alive() if m is not newest]
            w = np.array([np.linalg.norm(m.a) * np.sqrt(self.kernel(m.x, [m])[0]) for m in old])
            p = np.full(len(old), 1 / len(old)) if self.sampling == "uniform" else leaving_probabilities(w)
            u = self.draw(index)
            edges = np.cumsum(p)
            self.close_call(np.abs(edges[:-1] - u).min(initial=1.0))
            drawn = old[min(int(np.searchsorted(edges, u, side="right")), len(old) - 1)]
            for member, leaving in zip(old, p, strict=True):
                if member is not drawn and np.linalg.norm(member.a) > 0:
                    member.a = member.a / (1 - leaving)
            for member in [*old, newest]:
                length = np.linalg.norm(member.a)
                if length > self.cap * self.eta:
                    member.a = member.a * (self.cap * self.eta / length)
            self.leave(drawn)
            index += 1
