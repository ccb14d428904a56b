"""BPA and BSGD with projection: PA-I or gradient steps, and one point too many is projected on all the rest.

BPA (Wang and Vucetic 2010): the old point whose projection costs least. BSGD (Wang, Crammer and Vucetic 2012): the
point of least |a|^2 k(s, s), the oldest of equals.
"""

from dataclasses import dataclass

import numpy as np

from reference.budget import Gradient
from reference.projecting import Projecting

EQUAL = 1e-9


@dataclass
class Leaving(Projecting):
    def absorb(self, row, x, change):
        members = self.alive()
        d, _, independent = self.look(x, members)
        if independent:
            return change
        self.add(members, d, change)
        self.move_constant(change)
        return None

    def settle(self, newcomers):
        if self.budget is not None and len(self.alive()) > self.budget:
            self.project_out(self.leaver(newcomers[-1]))


@dataclass
class BPAProject(Leaving):
    C: float = 1.0

    def probability(self, row):
        return 1.0 if row.loss > 0 else 0.0

    def coefficient(self, row, probability):
        return -min(self.C * row.weight, row.loss / (row.g @ row.g * row.self_kernel)) * row.g

    def leaver(self, newest):
        members = self.alive()
        costs = self.costs(members)
        old = [i for i, m in enumerate(members) if m is not newest]
        return self.least([members[i] for i in old], costs[old])[0]


@dataclass
class BSGDProject(Gradient, Leaving):
    eta: float = 0.5
    lam: float = 0.01

    def leaver(self, newest):
        members = self.alive()
        norms = np.array([m.a @ m.a for m in members])
        for norm in norms[norms > norms.min() * (1 + EQUAL)]:
            self.close_call((norm - norms.min()) / norm)
        equals = [m for m, norm in zip(members, norms, strict=True) if norm <= norms.min() * (1 + EQUAL)]
        return min(equals, key=lambda m: m.born)
