"""A sum over the path of a tree of regions: whole learners, and one row after the other."""

from __future__ import annotations

import numpy as np

STEP, SHARE, STEEPEST, KNOWN = 0.1, 1e-4, 10.0, 64


class Leaf:
    """The weights of a leaf, by the names of the experts on its path."""

    def __init__(self, weights, squares=0.0, moves=0):
        self.weights = dict(weights)
        self.squares, self.moves = squares, moves
        self.losses = []

    def divided(self, weights):
        """Of one of two sides, whose noise counts for a few rows."""
        known = min(self.moves, KNOWN)
        return Leaf(weights, self.squares / max(1, self.moves) * known, known)

    def move(self, scores, y, weight, task):
        """Exponentiated gradient on the loss of the sum, and the fixed share; returns the sum from before."""
        total = sum(self.weights[e] * f for e, f in scores.items())
        unit = 1.0
        if task == "regression":
            slope, loss = total - y, (total[0] - y) ** 2 / 2
            self.squares, self.moves = self.squares + (total[0] - y) ** 2, self.moves + 1
            unit = self.squares / self.moves
        elif task == "binary":
            slope = np.array([1 / (1 + np.exp(-total[0])) - y])
            loss = np.logaddexp(0, -(2 * y - 1) * total[0])
        else:
            odds = np.exp(total - total.max())
            slope = odds / odds.sum() - np.eye(len(total))[int(y)]
            loss = -np.log(odds[int(y)] / odds.sum())
        self.losses.append(loss)
        moved = {}
        for e, f in scores.items():
            by_weight = slope @ (f - total) / unit if unit > 0 else 0.0
            moved[e] = self.weights[e] * np.exp(-STEP * np.clip(weight * by_weight, -STEEPEST, STEEPEST))
        whole = sum(moved.values())
        self.weights = {e: (1 - SHARE) * w / whole + SHARE / len(moved) for e, w in moved.items()}


class Experts:
    """``learners`` by name; ``place`` returns the name of a row's leaf, and ``leaves`` are `Leaf` by their names."""

    def __init__(self, task, learners, place, leaves):
        self.task, self.learners, self.place, self.leaves = task, learners, place, leaves

    def score(self, x):
        weights = self.leaves[self.place(x)].weights
        return sum(w * np.atleast_1d(self.learners[e].score(x)) for e, w in weights.items())

    def learn(self, x, y, weight=1.0):
        leaf = self.leaves[self.place(x)]
        scores = {e: np.atleast_1d(self.learners[e].score(x)) for e in leaf.weights}
        if weight > 0:
            leaf.move(scores, y, weight, self.task)
            for e in scores:
                self.learners[e].learn_rows(x[None], np.array([y]), np.array([weight]))
