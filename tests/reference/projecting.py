"""What the references of projecting learners share: projections by dense solves, costs of leaving.

Whether a point may be a member at all is the library's own rule (the papers have none), repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference.budget import Budgeted, Member
from reference.common import CONSTANT

TOLERANCE = 1e-5  # least squared distance from the span of the others, relative to k(x, x)


@dataclass
class Projecting(Budgeted):
    """Answers `settle` (after a step; the newcomers are points already) and may answer `absorb` (before)."""

    def absorb(self, row, x, change):
        """What to insert, or None where the row was taken in or left alone."""
        return change

    def settle(self, newcomers):
        raise NotImplementedError

    # -- geometry
    def gram(self, members, others=None):
        a = np.array([m.x for m in members])
        b = a if others is None else np.array([m.x for m in others])
        return np.exp(-self.gamma * ((a[:, None] - b) ** 2).sum(axis=2))

    def look(self, x, members):
        """The coefficients of x's projection on the members, its squared distance, and whether it may join them."""
        if not members:
            return np.empty(0), 1.0, True
        K = self.gram(members)
        k = self.gram([Member(x, 0, None, None)], members)[0]
        P = np.linalg.inv(K)
        d = P @ k
        s = 1 - k @ d
        growth = TOLERANCE * d**2 / max(s, 1e-300)
        near = TOLERANCE * P.diagonal() + growth
        crowded = (near >= 1) & (growth >= 0.01)
        # rounding of kernel values is as large, relative to the smallest eigenvalue, as that of the projection
        self.close_call(np.linalg.eigvalsh(K)[0] / 50)
        self.close_call(abs(s - TOLERANCE))
        for i in range(len(members)):
            if growth[i] > 0.001:
                self.close_call(max(abs(near[i] - 1), abs(growth[i] - 0.01)))
        return d, s, s > TOLERANCE and not crowded.any()

    def add(self, members, d, c):
        for m, share in zip(members, d, strict=True):
            m.a = m.a + share * c

    def enrol(self, newcomers):
        """Newcomers in the span of the members before them are replaced by their projections on all members."""
        members = [m for m in self.alive() if m not in newcomers]
        inside = []
        for m in newcomers:
            (members if self.look(m.x, members)[2] else inside).append(m)
        if not inside:
            return 0.0
        K = self.gram(members)
        shares = np.linalg.solve(K, self.gram(members, inside))
        rests = self.gram(inside) - self.gram(inside, members) @ shares
        a = np.array([m.a for m in inside])
        for m, d in zip(inside, shares.T, strict=True):
            self.add(members, d, m.a)
            self.leave(m)
        return max(0.0, np.sum(a * (rests @ a)))

    def costs(self, members):
        """|a|^2 times the squared distance from the span of all the others."""
        P = np.linalg.inv(self.gram(members))
        return np.array([m.a @ m.a for m in members]) / P.diagonal()

    def project_out(self, member):
        others = [m for m in self.alive() if m is not member]
        if others:
            k = self.gram([member], others)[0]
            self.add(others, np.linalg.solve(self.gram(others), k), member.a)
        self.leave(member)

    def least(self, members, prices):
        best = int(np.argmin(prices))
        for i, price in enumerate(prices):
            if i != best:
                self.close_call((price - prices[best]) / max(price, 1e-300))
        return members[best], prices[best]

    # -- the loop
    def _update(self, x, label, weight):
        self.t += 1
        row, gap = self._look(self.columns(x), label, weight, x)
        p = self.probability(row)
        self.gaps.append(gap)
        if self.batch_size == 1:
            self._scale()
        if p > 0:
            change = self.coefficient(row, p) / self.batch_size
            if change.any():
                change = self.absorb(row, x, change)
                if change is not None:
                    self.waiting.append((self.enter(x, self.t - 1, np.zeros(self.f.shape[1])), change))
        if self.t % self.batch_size == 0:
            if self.batch_size > 1:
                self._scale()
            self._commit()
        for member in self._columns_in_order():
            member.total = member.total + member.a
        self._show()

    def _scale(self):
        factor = self.shrink((self.t - 1) // self.batch_size + 1)
        for member in self._columns_in_order():
            member.a = member.a * factor

    def _commit(self):
        for member, change in self.waiting:
            change = np.pad(change, (0, len(member.a) - len(change)))
            member.a = member.a + change
            self.move_constant(change)
        newcomers, self.waiting = [m for m, _ in self.waiting], []
        self.settle(newcomers)

    def move_constant(self, change):
        if self.fit_intercept:
            self.constant.a = self.constant.a + change * CONSTANT
