"""Projectron and Projectron++ (Orabona, Keshet and Caputo 2008, 2009).

A mistake whose step lies no further than eta from the span of the points, or any once the budget is full, is replaced
by its projection. Projectron++ also takes a step of tau along the projection where 0 < z < 1. With several classes
y k(x, .) becomes -g k(x, .), of squared length 2 k(x, x).
"""

from dataclasses import dataclass

import numpy as np

from reference.projecting import Projecting


@dataclass
class Projectron(Projecting):
    eta: float = 0.1
    aggressive: bool = False
    rule: str = "2009"

    def __post_init__(self):
        super().__post_init__()
        self.loss = "hinge" if self.aggressive else "perceptron"

    def probability(self, row):
        return 1.0 if row.g.any() else 0.0

    def coefficient(self, row, probability):
        return -row.weight * row.g

    def absorb(self, row, x, change):
        members = self.alive()
        d, s, independent = self.look(x, members)
        delta = np.sqrt(max(0.0, s))
        if self.aggressive and row.z > 0:
            self.margin_error(row, members, d, delta)
            return None
        full = self.budget is not None and len(members) >= self.budget
        eta = self.eta if self.rule == "2009" else 0.0
        away = np.linalg.norm(change) * delta
        if not full and self.rule == "2009":
            self.close_call(abs(away - eta))
        if independent and not full and away > eta:
            return change
        self.take_in(members, d, change)
        return None

    def margin_error(self, row, members, d, delta):
        reach = row.g @ row.g * (row.self_kernel - delta**2)  # |P k|^2
        away = np.linalg.norm(row.g) * delta
        B = self.budget
        U = 1 / self.eta if B is None else np.sqrt((B + 1) / np.log(B + 1)) / 4
        if reach <= 0:
            return
        if self.rule == "2009":
            self.close_call(abs(row.loss - U * away))
            if row.loss <= U * away:
                return
            tau = min(row.loss / reach, 2 * (row.loss - U * away) / reach, row.weight)
        else:
            tau = min(row.loss / reach, row.weight)
            self.close_call(abs(2 * row.loss - tau * reach - 2 * U * away))
            if 2 * row.loss - tau * reach - 2 * U * away < 0:
                return
        self.take_in(members, d, -tau * row.g)

    def take_in(self, members, d, change):
        self.add(members, d, change)
        self.move_constant(change)

    def settle(self, newcomers):
        pass
