"""How a leaf is divided: conditions that are tried, and the experts of the two sides (``docs/experts.md``)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from onkel.choice.judging import slopes_of_scores
from onkel.choice.kept import Scored
from onkel.choice.rows import loss_of
from onkel.choice.search import Problem, Radial, categories
from onkel.choice.steps import Steps, each, learned, looked_through
from onkel.choice.targets import targets_of
from onkel.learner import Learner
from onkel.parts import RBF, FadingMemory, Laplacian, SecondOrder, StreamMemory
from onkel.regions import Condition, Region

Floats = NDArray[np.float64]
MEMORY = FadingMemory()  # of new experts, where the stream chooses that of the root: weights follow a change

SIDE = 0.2  # of the rows, at least, are on either side
CUTS = 15  # that are compared for each feature
BY_SLOPES, BY_SPREAD = 2, 1  # conditions that are tried: those of the largest gain, and of the widest features
TRIAL_ROWS, TRIAL_POINTS = 2048, 100
SEARCH_ROWS, SEARCH_POINTS = 1024, 150
FIRST_EVALUATIONS, EVALUATIONS = 3, 9  # from each kernel, and from the one that is best then
NARROWER = 1.3  # a kernel than the search finds it, which has fewer points
WEIGHTS = np.linspace(0.0, 0.95, 20)  # of a new expert: the one that is best on the later half of the rows
LEAST_WEIGHT = 0.05  # so that it can grow
GAIN = 0.005  # of the loss, by which a division must be better
NEAR = 0.01  # of the loss: a difference between trials that decides nothing


@dataclass
class Child:
    """One side: its expert, what it weighs beside the sum before, losses without and with it, and its rows with the
    scores of the sum with it."""

    expert: Learner
    weight: float
    before: float
    after: float
    kept: Scored

    def learn(self, more: Scored) -> None:
        """Learn from further rows of this side."""
        rows = more.rows
        scores = self.expert.learn_rows(rows.rows, rows.y, rows.weight, scores=True, positions=more.positions)
        assert scores is not None
        self.kept = Scored.joined([self.kept, _beside(more, self.weight, scores)])


@dataclass
class Division:
    """How a leaf is divided: the two sides, which learn from the rows that come until it is."""

    condition: Condition
    sides: list[Child]
    known: int = 0  # rows since

    def learn(self, rows: Scored, wanted: float) -> None:
        """Let both sides learn from the first rows since then, so many if there are as many."""
        end = int(min(wanted, len(rows.positions)))
        some, self.known = rows.of(slice(self.known, end)), max(self.known, end)
        lower = self.condition.lower(some.rows.rows)
        for side, own in zip(self.sides, (lower, ~lower), strict=True):
            if own.any():
                side.learn(some.of(own))

    def of(self, learner: Learner, leaf: Region) -> Learner:
        """Return the learner with this leaf divided."""
        weights = [np.append((1 - side.weight) * leaf.weights, side.weight) for side in self.sides]
        lower, upper = ([side.expert] for side in self.sides)
        return learner.divided(leaf.number, self.condition, lower, upper, weights=(weights[0], weights[1]))


def divided(
    own: Learner,
    nearest: dict[type[Radial], Radial],
    kept: Scored,
    budget: int,
    kinds: Sequence[type[Radial]],
) -> Steps[Division | None]:
    """Return how the leaf with these nearest kernels is divided in two, each side with an expert of its own that has
    learned the rows kept of it; None if that is not better on them."""
    for condition in (yield from best_conditions(own, kept, nearest)):
        lower = condition.lower(kept.rows.rows)
        calls = [_child(own, kept.of(side), nearest, budget, kinds) for side in (lower, ~lower)]
        low, high = sides = yield from each(calls, own.n_jobs)
        if low.after + high.after <= (1 - GAIN) * (low.before + high.before):
            return Division(condition, sides)
    return None


def nearest_kernels(learner: Learner, leaf: Region) -> dict[type[Radial], Radial]:
    """Return the kernel of each kind that is nearest to a leaf on its path, one with relevances if there is one."""
    path = [kernel for number in reversed(leaf.path) for kernel in learner.expert(number).kernels]
    radial = [kernel for kernel in path if isinstance(kernel, RBF | Laplacian)]
    found: dict[type[Radial], Radial] = {}
    for kernel in sorted(radial, key=lambda kernel: not kernel.relevances):  # a stable order: the nearest first
        found.setdefault(type(kernel), kernel)
    return found


# -- conditions --------------------------------------------------------------------------------------------------------


def best_conditions(learner: Learner, kept: Scored, nearest: dict[type[Radial], Radial]) -> Steps[list[Condition]]:
    """Return the condition whose sides gain the most from experts of their own with few points and the kernel of the
    leaf, and then the next best if it is near: experts with all points and kernels of their own may think otherwise."""
    some = kept.of(slice(-TRIAL_ROWS, None))
    kernel = nearest.get(RBF) or nearest[Laplacian]
    tried = dict.fromkeys([*_by_slopes(learner, some), *_by_spread(kernel, some)])
    yield 2 * looked_through(some.rows.rows.size, some.rows.rows.shape[1])
    calls = [_loss_of_trial(learner, some, condition, kernel) for condition in tried]
    losses = dict(zip(tried, (yield from each(calls)), strict=True))
    return [
        condition
        for condition in sorted(losses, key=losses.__getitem__)[:2]
        if losses[condition] <= (1 + NEAR) * min(losses.values())
    ]


def _by_slopes(learner: Learner, kept: Scored) -> list[Condition]:
    """The conditions whose sides have slopes that differ most, as in boosting: at most one for each feature or group
    of categories."""
    X, weight = kept.rows.rows, kept.rows.weight
    g, h = (weight * each for each in slopes_of_scores(learner.task, learner.recipe.loss, kept.scores, kept.rows.y))
    scale = h.sum() / len(X) / len(h)  # a unit of curvature
    groups = categories(np.asarray(X, np.float64))
    found = [*_cuts(X, g, h, groups, scale), *_sets(X, g, h, groups, scale)]
    found.sort(key=lambda each: -each[0])
    return [condition for _, condition in found[:BY_SLOPES]]


def _gains(g: Floats, h: Floats, scale: float) -> Floats:
    """The gain of each place at which bins, one column of sums each, are divided."""
    below, h_below = np.cumsum(g, axis=1)[:, :-1], np.cumsum(h, axis=1)[:, :-1]
    above, h_above = g.sum(axis=1, keepdims=True) - below, h.sum(axis=1, keepdims=True) - h_below
    return np.asarray((below**2 / (h_below + scale) + above**2 / (h_above + scale)).sum(axis=0))


def _allowed(counts: Floats) -> NDArray[np.bool_]:
    """Which places leave enough rows on either side."""
    share = np.cumsum(counts)[:-1] / counts.sum()
    return np.asarray((share >= SIDE) & (share <= 1 - SIDE))


def _best(
    bins: NDArray[np.intp], n_bins: int, g: Floats, h: Floats, order: NDArray[np.intp], scale: float
) -> tuple[float, int] | None:
    """The gain and the place of the best division of bins in this order."""
    sums = [np.array([np.bincount(bins, each, n_bins)[order] for each in part]) for part in (g, h)]
    allowed = _allowed(np.bincount(bins, minlength=n_bins)[order].astype(np.float64))
    if not allowed.any():
        return None
    gains = np.where(allowed, _gains(sums[0], sums[1], scale), -math.inf)
    place = int(gains.argmax())
    return float(gains[place]), place


def _cuts(X: Floats, g: Floats, h: Floats, groups: NDArray[np.intp], scale: float) -> Iterator[tuple[float, Condition]]:
    """The best condition on each number."""
    alone = np.bincount(groups, minlength=X.shape[1])[groups] == 1
    places = np.linspace(SIDE, 1 - SIDE, CUTS)
    for j in np.flatnonzero(alone & (np.ptp(X, axis=0) > 0)):
        cuts = np.unique(np.quantile(X[:, j], places, method="lower").astype(np.float32))
        bins = np.searchsorted(cuts, X[:, j], side="left")
        best = _best(bins, len(cuts) + 1, g, h, np.arange(len(cuts) + 1), scale)
        if best is not None:
            yield best[0], Condition((int(j),), (float(cuts[best[1]]),))


def _sets(X: Floats, g: Floats, h: Floats, groups: NDArray[np.intp], scale: float) -> Iterator[tuple[float, Condition]]:
    """The best set of each group of categories among those that are ahead when these are sorted by their slopes."""
    for group in np.unique(groups):
        columns = np.flatnonzero(groups == group)
        if len(columns) < 2:
            continue
        middle = (X[:, columns].max(axis=0) + X[:, columns].min(axis=0)) / 2
        bins = X[:, columns].argmax(axis=1)
        n = len(columns)
        sums = [np.array([np.bincount(bins, each, n) for each in part]) for part in (g, h)]
        most = int(np.abs(sums[0]).sum(axis=1).argmax())  # of several classes, the one that differs most
        order = np.argsort(sums[0][most] / (sums[1][most] + 10 * scale), kind="stable")
        best = _best(bins, n, g, h, order, scale)
        if best is not None:
            upper = np.sort(min(order[: best[1] + 1], order[best[1] + 1 :], key=len))  # in as few words as can be
            yield best[0], Condition(tuple(columns[upper].tolist()), tuple(middle[upper].tolist()))


def _by_spread(kernel: Radial, kept: Scored) -> list[Condition]:
    """The medians of the features that spread most in the metric of the kernel."""
    X, spread = kept.rows.rows, kernel.metric.of(kept.rows.rows).var(axis=0)
    cuts = (
        (j, float(np.float32(np.quantile(X[:, j], 0.5, method="lower")))) for j in np.argsort(-spread, kind="stable")
    )
    even = (Condition((int(j),), (cut,)) for j, cut in cuts if SIDE <= np.mean(X[:, j] <= cut) <= 1 - SIDE)
    return list(itertools.islice(even, BY_SPREAD))


def _loss_of_trial(learner: Learner, kept: Scored, condition: Condition, kernel: Radial) -> Steps[float]:
    """The loss on every other row of half the scores and half those of experts that have learned the rest."""
    lower, total = condition.lower(kept.rows.rows), 0.0
    for side in (lower, ~lower):
        own = kept.of(side)
        judged, expert = own.of(slice(1, None, 2)), _blank(learner, kernel, TRIAL_POINTS)
        yield from learned(expert, own.of(slice(0, None, 2)).rows)
        total += _loss(learner, judged, 0.5, _wide(expert.score_rows(judged.rows.rows), judged))
    return total


# -- experts -----------------------------------------------------------------------------------------------------------


def _child(
    learner: Learner,
    kept: Scored,
    nearest: dict[type[Radial], Radial],
    budget: int,
    kinds: Sequence[type[Radial]],
) -> Steps[Child]:
    """The expert of one side."""
    expert = _blank(learner, (yield from _searched(learner, kept, nearest, kinds)), budget)
    scores = yield from learned(expert, kept.rows, scores=True, positions=kept.positions)
    scores, half = _wide(scores, kept), len(kept.rows) // 2
    losses = [_loss(learner, kept.of(slice(half, None)), weight, scores[half:]) for weight in WEIGHTS]
    best = int(np.argmin(losses))
    weight = max(float(WEIGHTS[best]), LEAST_WEIGHT)
    return Child(expert, weight, losses[0], losses[best], _beside(kept, weight, scores))


def _searched(
    learner: Learner, kept: Scored, nearest: dict[type[Radial], Radial], kinds: Sequence[type[Radial]]
) -> Steps[Radial]:
    """The kernel that short searches find on the latest rows, one of each kind from the nearest one."""
    first = nearest.get(RBF) or nearest[Laplacian]
    rows = yield from targets_of(learner, kept.rows[-SEARCH_ROWS:])
    problem = Problem(rows, first.ranks, learner.task, learner.n_classes)
    yield looked_through(problem.X.size, problem.X.shape[1])
    starts = [
        problem.point_of(nearest[kind]) if kind in nearest else problem.as_laplacian(problem.point_of(first))
        for kind in kinds
        if kind in nearest or kind is Laplacian
    ]
    begun = yield from each([problem.go_on(start, FIRST_EVALUATIONS, points=SEARCH_POINTS) for start in starts])
    best = min(begun, key=lambda found: found.loss)
    best = yield from problem.go_on(best, EVALUATIONS, points=SEARCH_POINTS)
    shift = np.append(np.full(len(best.at) - 1, math.log(NARROWER) / best.kernel.base.power), 0.0)
    return problem.kernel_of(best._replace(at=best.at + shift))


def _blank(learner: Learner, kernel: Radial, budget: int) -> Learner:
    """An expert that has learned nothing, with the recipe of the learner."""
    assert isinstance(learner.recipe, SecondOrder)
    recipe = learner.recipe
    if isinstance(recipe.memory, StreamMemory):
        recipe = replace(recipe, memory=MEMORY)
    return learner.blank(recipe=recipe, kernel=kernel, budget=budget, n_jobs=1)


def _wide(scores: Floats, kept: Scored) -> Floats:
    """Scores with a column for each class."""
    return np.pad(scores, ((0, 0), (0, kept.scores.shape[1] - scores.shape[1])))


def _beside(kept: Scored, weight: float, scores: Floats) -> Scored:
    """The rows with the scores of a sum in which these scores have this weight."""
    n_outputs = max(kept.scores.shape[1], scores.shape[1])
    before, own = (np.pad(each, ((0, 0), (0, n_outputs - each.shape[1]))) for each in (kept.scores, scores))
    return kept._replace(scores=(1 - weight) * before + weight * own)


def _loss(learner: Learner, kept: Scored, weight: float, scores: Floats) -> float:
    """The loss of a sum in which these scores have this weight beside those kept."""
    both = (1 - weight) * kept.scores + weight * scores
    return float((kept.rows.weight * loss_of(learner.task, learner.recipe.loss)(both, kept.rows.y)).sum())
