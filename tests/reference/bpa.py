"""Budgeted passive-aggressive learning (Wang and Vucetic 2010): PA-I, then the cheapest old point is projected.

The projection of r on a set V of other points is solved for every r from the Gram matrix of V.
"""

from dataclasses import dataclass

import numpy as np

from reference.budget import Budgeted


@dataclass
class BPA(Budgeted):
    C: float = 1.0
    variant: str = "simple"

    def probability(self, row):
        return 1.0 if row.g.any() else 0.0

    def coefficient(self, row, probability):
        return -min(self.C * row.weight, row.loss / (row.g @ row.g * row.self_kernel)) * row.g

    def settle(self, newest):
        if not self.too_many():
            return
        old = [m for m in self.alive() if m is not newest]
        plans = [self.plan(r, newest, old) for r in old]
        sizes = [r.a @ r.a for r in old]
        costs = [size * distance for size, (_, _, distance) in zip(sizes, plans, strict=True)]
        r = self.cheapest(old, costs, sizes)
        onto, c, _ = plans[old.index(r)]
        for member, share in zip(onto, c, strict=True):
            member.a = member.a + share * r.a
        self.leave(r)

    def plan(self, r, newest, old):
        """What r is projected on, with what coefficients, and the squared distance."""
        onto = [newest]
        others = [m for m in old if m is not r]
        if self.variant == "nearest" and others:
            near = self.kernel(r.x, others)
            order = np.argsort(-near, kind="stable")
            if len(order) > 1 and not np.array_equal(others[order[0]].x, others[order[1]].x):
                self.close_call(near[order[0]] - near[order[1]])
            neighbour = others[order[0]]
            if self.kernel(newest.x, [neighbour])[0] ** 2 < 1 - 1e-10:
                onto.append(neighbour)
        gram = np.array([self.kernel(m.x, onto) for m in onto])
        self.close_call(np.linalg.det(gram))
        k = self.kernel(r.x, onto)
        c = np.linalg.solve(gram, k)
        return onto, c, 1 - c @ k
