"""What the references of budget learners share: points that leave, the slots they leave behind, and their ghosts.

Support vectors come in slot order: a newcomer takes the first free slot. A point that leaves frees its slot, unless the
average was asked for and remembers it. A learner's reference answers one more question: what happens after an insertion
(`settle`)?
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onkel import _core
from reference.common import CONSTANT, Reference

EQUAL = 1e-9  # norms that differ by less count as equal: the oldest of them is the smallest


@dataclass(eq=False)
class Member:
    """A support vector, or the ghost of one."""

    x: np.ndarray
    born: int
    a: np.ndarray  # coefficients in the last function
    total: np.ndarray  # and summed over all functions so far
    alive: bool = True


@dataclass
class Budgeted(Reference):
    def __post_init__(self):
        super().__post_init__()
        width = self.f.shape[1]
        self.slots = []  # a Member or None each
        self.constant = Member(None, -1, np.zeros(width), np.zeros(width))
        self.features = []  # Members too: the coefficients of random features, where a learner has some

    def settle(self, newest: Member) -> None:
        raise NotImplementedError

    # -- what rules are made of
    def alive(self):
        return [m for m in self.slots if m is not None and m.alive]

    def too_many(self):
        return self.budget is not None and len(self.alive()) > self.budget

    def leave(self, member):
        member.a = np.zeros_like(member.a)
        member.alive = False
        if not (self.average and member.total.any()):
            self.slots[self.slots.index(member)] = None

    def enter(self, x, born, a):
        member = Member(x, born, a, np.zeros_like(a))
        if None in self.slots:
            self.slots[self.slots.index(None)] = member
        else:
            self.slots.append(member)
        return member

    def draw(self, index=0):
        return _core.uniform(self.seed, self.stream, self.t, 1, index)

    def close_call(self, gap):
        self.gaps[-1] = min(self.gaps[-1], gap)

    def cheapest(self, members, costs, sizes):
        """The first of the cheapest; `sizes` are those of the terms that the costs are sums of."""
        best = int(np.argmin(costs))
        for i, cost in enumerate(costs):
            if i != best:
                self.close_call((cost - costs[best]) / max(sizes[i], sizes[best], 1e-300))
        return members[best]

    def smallest(self, members):
        norms = np.array([m.a @ m.a for m in members])
        least = norms.min()
        for norm in norms[norms > least * (1 + 1e-11)]:
            self.close_call((norm - least) / max(norm, least))
        return min((m for m, n in zip(members, norms, strict=True) if n <= least * (1 + EQUAL)), key=lambda m: m.born)

    def kernel(self, x, others):
        return self._kernel(np.array([m.x for m in others]), x)

    # -- the loop
    def _update(self, x, label, weight):
        self.t += 1
        row, gap = self._look(self.columns(x), label, weight, x)
        p = self.probability(row)
        draw = _core.uniform(self.seed, self.stream, self.t, 0)
        self.gaps.append(min(gap, abs(draw - self.gate * p)))
        if p > 0 and draw < self.gate * p:
            change = self.coefficient(row, p) / self.batch_size
            if change.any():
                self.waiting.append((self.enter(x, self.born, np.zeros(self.f.shape[1])), change))
        if self.t % self.batch_size == 0:
            self.commit()
        for member in self._columns_in_order():
            member.total = member.total + member.a
        self._show()

    def commit(self):
        factor = self.shrink((self.t - 1) // self.batch_size + 1)
        for member in self._columns_in_order():
            member.a = member.a * factor
        for member, change in self.waiting:
            change = np.pad(change, (0, len(member.a) - len(change)))
            member.a = member.a + change
            if self.fit_intercept:
                self.constant.a = self.constant.a + change * CONSTANT
        arrived, self.waiting = self.waiting, []
        if arrived:
            self.settle(arrived[-1][0])

    def _columns_in_order(self):
        return [self.constant, *(m for m in self.slots if m is not None), *self.features]

    def _show(self):
        """As the other references show themselves."""
        members = [m for m in self.slots if m is not None]
        self.points = [m.x for m in members]
        self._stacked = np.empty((0, 0))  # points were replaced, not only added
        self.support = [m.born for m in members]
        self.f = np.array([m.a for m in self._columns_in_order()])

    def predicting(self):
        if not self.average:
            return self.f
        return np.array([m.total for m in self._columns_in_order()]) / (self.t + 1)

    def _full(self, f):
        return f

    def _know(self, label):
        missing = max(0, label + 1 - self.f.shape[1])
        for member in self._columns_in_order():
            member.a, member.total = np.pad(member.a, (0, missing)), np.pad(member.total, (0, missing))
        self._show()


class OnMistake:
    """The perceptrons: on a mistake, y."""

    def probability(self, row):
        return 1.0 if row.z <= 0 else 0.0

    def coefficient(self, row, probability):
        return -row.weight * row.g


class Gradient:
    """-eta g wherever the loss has a slope, after a shrink by 1 - eta lam."""

    def probability(self, row):
        return 1.0 if row.g.any() else 0.0

    def coefficient(self, row, probability):
        return -self.eta * row.weight * row.g

    def shrink(self, step):
        return 1 - self.eta * self.lam


class Pegasos(Gradient):
    """The same with eta_t = 1 / (lam t)."""

    def coefficient(self, row, probability):
        return -row.weight / (self.lam * ((row.t - 1) // self.batch_size + 1)) * row.g

    def shrink(self, step):
        return 1 - 1 / step
