"""POLK (Koppel, Warnell, Stump and Ribeiro 2019): Algorithm 2, with Algorithm 1 (KOMP) or Remark 6 (random pruning)."""

from dataclasses import dataclass

import numpy as np

from reference.budget import Gradient
from reference.projecting import Projecting


@dataclass
class POLK(Gradient, Projecting):
    eta: float = 0.5
    lam: float = 1e-3
    parsimony: float = 0.1
    eps: float | None = None
    prune: str = "komp"
    schedule: str = "constant"

    def eta_at(self, step):
        return self.eta if self.schedule == "constant" else self.eta / (1 + self.eta * self.lam * step)

    def shrink(self, step):
        return 1 - self.eta_at(step) * self.lam

    def coefficient(self, row, probability):
        return -self.eta_at((row.t - 1) // self.batch_size + 1) * row.weight * row.g

    def settle(self, newcomers):
        step = (self.t - 1) // self.batch_size + 1
        if self.schedule == "constant":
            radius = self.parsimony * self.eta**1.5 if self.eps is None else self.eps
        else:
            radius = (self.parsimony if self.eps is None else self.eps / self.eta**2) * self.eta_at(step) ** 2
        most = radius**2
        if self.prune == "komp":
            self.komp(self.enrol(newcomers), most)
        else:
            self.drop_at_random(most)

    def within_budget(self):
        return self.budget is None or len(self.alive()) <= self.budget

    def komp(self, moved, most):
        while self.alive():
            member, cost = self.least(self.alive(), self.costs(self.alive()))
            if self.within_budget():
                self.close_call(abs(moved + cost - most) / most)
                if moved + cost > most:
                    return
            moved += cost
            self.project_out(member)

    def drop_at_random(self, most):
        stay, leave, index = self.alive(), [], 0
        while stay:
            member = stay[int(self.draw(index) * len(stay))]
            index += 1
            gone = [*leave, member]
            a = np.array([m.a for m in gone])
            distance = np.sum(a * (self.gram(gone) @ a))
            if self.budget is None or len(stay) <= self.budget:
                self.close_call(abs(distance - most) / most)
                if distance > most:
                    break
            leave = gone
            stay.remove(member)
        for member in leave:
            self.leave(member)
