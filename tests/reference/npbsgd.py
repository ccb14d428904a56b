"""NPBSGD: BSGD whose budget grows by one instead with probability 1 - min(1, beta T / t).

The smallest point is removed, or projected on the five points nearest to it: those nearer first, and none that lies in
the span of the nearer ones.
"""

from dataclasses import dataclass

import numpy as np

from reference.budget import Pegasos
from reference.projecting import Projecting

FEW = 5


@dataclass
class NPBSGD(Pegasos, Projecting):
    lam: float = 0.01
    beta: float = 0.5
    horizon: int | None = None
    maintenance: str = "remove"

    def settle(self, newcomers):
        index = 0
        while self.too_many():
            if self.horizon is None or self.draw(index) < self.beta * self.horizon / self.t:
                leaver = self.smallest(self.alive())
                if self.maintenance == "project":
                    self.project(leaver)
                self.leave(leaver)
            else:
                self.budget += 1
            index += 1

    def project(self, leaver):
        others = [m for m in self.alive() if m is not leaver]
        distances = 1 - self.kernel(leaver.x, others)
        order = np.argsort(distances, kind="stable")
        if len(others) > FEW:  # kernel values are known to more digits than what was learned
            self.close_call(100 * (distances[order[FEW]] - distances[order[FEW - 1]]))
        members = []
        for i in order[:FEW]:
            if self.look(others[i].x, members)[2]:
                members.append(others[i])
        d = self.look(leaver.x, members)[0]
        for m, share in zip(members, d, strict=True):  # whether one becomes exactly 0, and no ghost later, is rounding
            terms = np.abs(m.a).max() + np.abs(share * leaver.a).max()
            self.close_call(np.abs(m.a + share * leaver.a).max() / max(terms, 1e-300))
        self.add(members, d, leaver.a)
