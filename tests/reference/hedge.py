"""Several kernels at once (SPA paper, Algorithms 2, 3 and 4): a reference learner each, and weights on their votes."""

from __future__ import annotations

import numpy as np

from onkel import _core


class Hedge:
    """The hedge over `learners`, references that differ in their kernel and stream number.

    `budget` is one for all of them with the combinations "stochastic" and "spa"; with the others the learners have
    their own.
    """

    def __init__(
        self, learners, combination, discount=0.99, smoothing=0.001, budget=None, share=None, at_zero="mistake"
    ):
        self.learners, self.combination = learners, combination
        self.discount, self.smoothing, self.budget = discount, smoothing, budget
        self.share = share if share is not None else 1e-4 if combination == "sum" else 0.0
        self.zero_votes = at_zero == "vote"
        self.log_weights = np.zeros(len(learners))
        self.t, self.low, self.high = 0, np.inf, -np.inf
        self.scores, self.gaps, self.history = [], [], []
        self.losses = []  # of a sum

    @property
    def weights(self):
        weights = np.exp(self.log_weights - self.log_weights.max())
        return weights / weights.sum()

    @property
    def task(self):
        return self.learners[0].task

    def learn(self, X, y, weight=None):
        weight = np.ones(len(X)) if weight is None else weight
        for x, label, w in zip(np.asarray(X, np.float64), y, weight, strict=True):
            if w != 0 and self.task == "multiclass":
                for learner in self.learners:
                    learner._know(int(label))
            self.scores.append(self.vote(x))
            self.gaps.append(self.vote_gap(x))
            if w != 0:
                self.update(x, label, w)
        return self

    def update(self, x, label, weight):
        self.t += 1
        self.low, self.high = min(self.low, label), max(self.high, label)
        theta = self.weights
        chance = (1 - self.smoothing) * theta / theta.max() + self.smoothing
        visited = np.ones(len(self.learners), bool)
        if self.combination == "stochastic":
            draws = np.array([_core.uniform(learner.seed, learner.stream, self.t, 3) for learner in self.learners])
            visited = draws < chance
            self.close_call(np.abs(draws - chance).min())
        faults = np.array([self.fault(learner, x, label) for learner in self.learners])
        slopes = self.slopes(x, label) if self.combination == "sum" else None
        for learner, seen, p in zip(self.learners, visited, chance, strict=True):
            if not seen:
                continue
            learner.gate = p if self.combination == "spa" else 1.0
            learner.position = self.t - 1
            if self.combination in ("stochastic", "spa") and self.budget is not None:
                others = sum(size(other) for other in self.learners if other is not learner)
                learner.budget = self.budget - others
                if learner.budget == 0:
                    learner.gate = 0.0
            learner.learn(x[None], [label], [weight], scores=False)
            self.close_call(learner.gaps[-1])
        if self.combination == "sum":
            self.move(slopes, weight)
        elif self.combination != "uniform":
            self.log_weights = self.log_weights + visited * weight * faults * np.log(self.discount)
            self.divide_share()
        self.history.append(self.weights)

    def slopes(self, x, label):
        """The derivatives of the sum's loss by the weights, less what all have in common."""
        each = [learner.columns(x) @ learner._full(learner.f) for learner in self.learners]
        total = sum(theta * f for theta, f in zip(self.weights, each, strict=True))
        terms = (
            theta * (np.abs(learner.columns(x)) @ np.abs(learner._full(learner.f)))
            for theta, learner in zip(self.weights, self.learners, strict=True)
        )
        row, gap = self.learners[0]._judge(total, sum(terms), label, 1.0, x)
        self.close_call(gap)
        self.losses.append(row.loss)
        unit = 2 * np.mean(self.losses) if self.task == "regression" else 1.0  # for the squared error, its mean square
        return np.array([row.g @ (f - total) / unit if unit else 0.0 for f in each])

    def move(self, slopes, weight):
        """Exponentiated gradient with the step 0.1."""
        self.log_weights = self.log_weights - 0.1 * np.clip(weight * slopes, -10, 10)
        self.divide_share()

    def divide_share(self):
        """Fixed share (Herbster and Warmuth 1998)."""
        if self.share > 0:
            self.log_weights = np.log((1 - self.share) * self.weights + self.share / len(self.learners))

    def fault(self, learner, x, label):
        f = learner.columns(x) @ learner._full(learner.f)
        if self.task == "binary":
            margin = (2 * label - 1) * f[0]
            return float(margin < 0 or (margin == 0 and not self.zero_votes))
        if self.task == "multiclass":
            return float(any(f[int(label)] <= f[c] for c in range(len(f)) if c != label))
        reach = self.high - self.low
        return min(1.0, ((f[0] - label) / reach) ** 2) if reach > 0 else 0.0

    def vote(self, x):
        votes = 0.0
        for theta, learner in zip(self.weights, self.learners, strict=True):
            f = learner.columns(x) @ learner.predicting()
            if self.combination == "sum":
                pass
            elif self.task == "binary":
                f = np.where((f == 0) & self.zero_votes, -1.0, np.sign(f))
            elif self.task == "multiclass":
                f = np.eye(len(f))[int(np.argmax(f))] * bool(f.any())
            votes = votes + theta * f
        return votes

    def vote_gap(self, x):
        """How clear every learner's own choice is, of its last function and of the one that predicts."""
        if self.task == "regression":
            return np.inf
        gaps = [np.inf]
        for learner in self.learners:
            for function in (learner._full(learner.f), learner.predicting()):
                columns = learner.columns(x)
                f, terms = columns @ function, np.abs(columns) @ np.abs(function)
                # of two classes' scores, or of the only one and 0; without terms a comparison is exact
                rivals = [(0, None)] if len(f) == 1 else [(c, f.argmax()) for c in range(len(f)) if c != f.argmax()]
                for c, best in rivals:
                    size = terms[c] + (0 if best is None else terms[best])
                    if size > 0:
                        gaps.append(abs(f[c] - (0 if best is None else f[best])) / size)
        return min(gaps)

    def close_call(self, gap):
        self.gaps[-1] = min(self.gaps[-1], gap)

    def clear_rows(self, tolerance):
        close = np.flatnonzero(np.array(self.gaps) < tolerance)
        return int(close[0]) if len(close) else len(self.gaps)


def size(learner):
    """The support vectors of a learner's last function."""
    return len(learner.alive()) if hasattr(learner, "alive") else len(learner.points)
