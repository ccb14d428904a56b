"""The competition of kernels and λ on some rows: second-order learners, compared by their loss on the later half."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.special import xlogy

from onkel.choice.again import surely_better
from onkel.choice.contest import SLACK, Judge, climb, compete, has_lost
from onkel.choice.relevances import (
    SPREAD,
    WILD,
    Search,
    learned_kernels,
    rows_looked_at,
    searches,
    spreads,
    varying,
)
from onkel.choice.rows import Rows, loss_of, median_distance
from onkel.learner import Learner
from onkel.parts import (
    RBF,
    CallableKernel,
    GaussianPrior,
    GrowingDictionary,
    Kernel,
    Laplacian,
    LogLoss,
    SecondOrder,
    SquaredError,
)
from onkel.parts.metric import Quantiles
from onkel.utils.threads import together

Floats = NDArray[np.float64]
Metric = RBF | Laplacian

WIDTHS = range(-5, 4)  # the first candidates: powers of two, in units of one over the median squared distance
FARTHEST = 30  # the largest power of two
LAMS = 2  # half decades on either side of the default λ
# The budget of a competitor is that of the learner, but at most this; the second number is for second-order learners.
BUDGETS = (200, 2000)
SIDE_BY_SIDE = 256  # rows; competitors over fewer of them are done before another thread has woken
PIECES = 4  # of the later half of the rows; after each of them a competitor may be seen to have lost


class Entry(NamedTuple):
    """What makes a competitor: its kernel, its λ, and the learner's budget over its own."""

    kernel: Kernel
    lam: float
    share: int


Run = tuple[Learner, Floats, int]  # the competitor, its losses, and the number of rows that it has learned from


class Competition:
    """The rows, all of a stream or its latest ones, and the learner whose kernel and λ are in question."""

    def __init__(self, own: Learner, rows: Rows, n_classes: int, has_all_rows: bool = True) -> None:
        self.own, self.rows, self.n_classes = own, rows, n_classes
        self.has_all_rows = has_all_rows
        self.recipe = _competitor(own)
        self.most = BUDGETS[isinstance(own.recipe, SecondOrder)]
        self.learned_from = 0  # the number of rows that all competitors have learned from
        self._runs: dict[Entry, Learner] = {}  # the competitors that have learned from all rows, and their losses
        self._losses: dict[Entry, Floats] = {}
        self._seen: dict[tuple[Quantiles, ...], Any] = {}  # the rows with the ranks of their features
        self._ahead: dict[tuple[Entry, Entry | None], Run] = {}  # runs that were not asked for yet, and against whom

    @property
    def lam(self) -> float:
        """The λ of the competitors, where λ is not chosen."""
        assert isinstance(self.recipe.prior, GaussianPrior)
        return self.recipe.prior.lam

    def loss_of(self, kernel: Kernel, lam: float, share: int = 1) -> float:
        """Return the sum of the losses on the later half of the rows."""
        return float(self.losses_of(kernel, lam, share).sum())

    def losses_of(self, kernel: Kernel, lam: float, share: int) -> Floats:
        """Return the losses on the later half of the rows, each predicted before it is learned from, of a learner with
        this kernel and λ; its budget is the learner's own over ``share``."""
        entry = Entry(kernel, lam, share)
        self._run([entry])
        return self._losses[entry]

    @property
    def _n_threads(self) -> int:
        """How many competitors run side by side; a kernel of the user's own is not called by two threads at once."""
        alone = any(isinstance(kernel, CallableKernel) for kernel in self.own.kernels)
        return 1 if alone or len(self.rows) < SIDE_BY_SIDE else self.own.n_jobs

    def _judge(self, entry_of: Callable[[int], Entry]) -> Judge:
        """A judge of options each of which is one competitor."""

        def judge(options: Sequence[int], best: int | None) -> list[float]:
            entries = [entry_of(option) for option in options]
            return [float(each.sum()) for each in self._run(entries, None if best is None else entry_of(best))]

        return judge

    def _run(self, entries: Sequence[Entry], best: Entry | None = None) -> list[Floats]:
        """Return the losses of competitors. One that has lost to the best of them learns from no further row, and its
        losses on these are taken to exceed those of the best one by as much as they did so far."""
        found = self._ran([entry for entry in entries if entry not in self._losses], best)
        for entry, (competitor, losses, n_rows) in found.items():
            self.learned_from += n_rows
            if n_rows == len(self.rows):
                self._runs[entry], self._losses[entry] = competitor, losses
        return [found[entry][1] if entry in found else self._losses[entry] for entry in entries]

    def _ran(self, entries: Sequence[Entry], best: Entry | None) -> dict[Entry, Run]:
        """Let competitors learn, side by side, but for those that have been looked at ahead."""
        against = None if best is None else self._losses[best]
        new = [entry for entry in entries if (entry, best) not in self._ahead]
        n_jobs = self.own.n_jobs if len(new) == 1 else 1  # else each has a thread of its own
        runs = together([partial(self._run_one, entry, against, n_jobs) for entry in new], self._n_threads)
        ahead = {entry: self._ahead[entry, best] for entry in entries if entry not in new}
        return dict(zip(new, runs, strict=True)) | ahead

    def _look_ahead(self, entries: Sequence[Entry], best: Entry) -> None:
        """Let competitors learn side by side that may be asked for next. Nothing else depends on it, so that the number
        of threads changes nothing."""
        if self._n_threads > 1 and len(entries) > 1:
            self._run([best])
            try:
                found = self._ran([entry for entry in entries if entry not in self._losses], best)
            except ArithmeticError:  # one has diverged, which matters only if it is asked for
                return
            self._ahead |= {(entry, best): run for entry, run in found.items()}

    def _run_one(self, entry: Entry, against: Floats | None, n_jobs: int) -> Run:
        """Let a competitor learn; return it, its losses, and the number of rows that it has learned from."""
        own, rows, half = self.own, self.rows, len(self.rows) // 2
        competitor = own.blank(
            recipe=replace(self.recipe, prior=GaussianPrior(entry.lam)),
            kernel=entry.kernel,
            budget=self.most if own.budget is None else max(1, min(self.most, own.budget) // entry.share),
            average=self.recipe.average,
            fit_intercept=True,
            n_classes=self.n_classes,
            n_jobs=n_jobs,
        )
        losses = np.empty(0)
        ends = [half, *(half + (len(rows) - half) * (i + 1) // PIECES for i in range(PIECES))]
        for begin, end in zip([0, *ends], ends, strict=False):
            piece = rows[begin:end]
            scores = competitor.learn_rows(piece.rows, piece.y, piece.weight, scores=True)
            assert scores is not None
            if begin >= half:
                losses = np.concatenate([losses, piece.weight * loss_of(own.task)(scores, piece.y)])
            if begin >= half and against is not None and end < len(rows):
                so_far, to_come = np.split(against, [len(losses)])
                if has_lost(losses, so_far):
                    return competitor, np.concatenate([losses, to_come + np.mean(losses - so_far)]), end
        return competitor, losses, len(rows)

    def learned_by(self, fresh: Learner, lam: float) -> Learner:
        """Return a learner like this one that has learned from the rows: the competitor, if there was an equal one, or
        for a sum the sum of such competitors."""
        kernels = fresh.kernels
        runs = [self._runs.get(Entry(kernel, lam, len(kernels))) for kernel in kernels]
        terms = [run for run in runs if run is not None and self._is_like(run, fresh)]
        if len(terms) == len(kernels):
            equal = np.full(len(terms), 1 / len(terms))
            winner = terms[0] if len(terms) == 1 else fresh.join(terms, equal, begins=True)
            winner.n_jobs = fresh.n_jobs  # it may have run beside another one
            return winner
        fresh.learn_rows(self.rows.rows, self.rows.y, self.rows.weight)
        return fresh

    def _is_like(self, run: Learner, fresh: Learner) -> bool:
        """Whether a competitor equals the learner, or a term of it."""
        names = set(Learner.NAMES) - {"kernel", "budget"}
        same = all(getattr(run, name) == getattr(fresh, name) for name in names)
        return same and run.budget == fresh.settings.budget_of_a_function

    def seen(self, ranks: tuple[Quantiles, ...]) -> Any:
        """Return the rows with the ranks of their features."""
        if not ranks:
            return self.rows.rows
        if ranks not in self._seen:
            self._seen[ranks] = RBF(ranks=ranks).metric.of(self.rows.rows)
        return self._seen[ranks]

    def middle(self, relevances: Floats, ranks: tuple[Quantiles, ...]) -> float:
        """Return the width in the middle of the candidates: one over the median squared distance."""
        rows, scales = self.seen(ranks), np.sqrt(relevances)
        if (scales != 1).any():
            rows = csr_array(rows.multiply(scales)) if issparse(rows) else rows * scales
        return 1.0 / median_distance(rows)

    def over_spread(self, ranks: tuple[Quantiles, ...]) -> Floats:
        """One over the squared spread of each feature, scaled to a mean of 1; features that do not vary have 1."""
        inverse, known = spreads(self.seen(ranks)) ** -2.0, varying(self.rows.rows)
        return np.where(known, inverse / inverse[known].mean(), 1.0) if known.any() else np.ones(len(inverse))

    def start(self, ranks: tuple[Quantiles, ...]) -> Floats:
        """Return relevances to start from: equal ones, or one over each feature's squared spread if that is better.

        The latter suits features with different units, the former columns that are rarely anything but 0.
        """
        equal, spread = np.ones(self.rows.rows.shape[1]), self.over_spread(ranks)
        kernels = [gaussian(self.middle(each, ranks), each, ranks) for each in (equal, spread)]
        entries = [Entry(kernel, GaussianPrior().lam, 2) for kernel in kernels]
        as_they_came, over_spread = (losses.sum() for losses in self._run(entries))
        return spread if over_spread < (1 - SLACK) * as_they_came else equal

    # -- the first choices: the previous winner has no advantage--------------------------------------------------------

    def chosen(
        self, kernel: Kernel, lam: float, chosen: Collection[str], widths: Sequence[int], share: int
    ) -> tuple[Kernel, float]:
        """Return the kernel and the λ that are best for the rows, near those given.

        Among those whose loss is within 1 % of the smallest, the narrowest width wins, since narrower kernels are
        better for more rows and points, and the λ nearest to that of the prior.
        """
        if "gamma" in chosen:
            assert isinstance(kernel, RBF | Laplacian)
            start: Metric = kernel
            found = self._compete(lambda e: Entry(times(start, e), lam, share), widths, FARTHEST)
            kernel = times(start, max(e for e in found if found[e] <= (1 + SLACK) * min(found.values())))
        if "lam" in chosen:
            options = range(-LAMS, LAMS + 1) if len(widths) > 1 else [step_of(lam)]
            found = self._compete(lambda e: Entry(kernel, lam_at(e), share), options, LAMS)
            near = (e for e in found if found[e] <= (1 + SLACK) * min(found.values()))
            lam = lam_at(min(near, key=abs))
        return kernel, lam

    def _compete(self, entry_of: Callable[[int], Entry], options: Sequence[int], farthest: int) -> dict[int, float]:
        """Return the losses of the options, and of the neighbours of the option if there is only one."""
        if len(options) == 1:
            return self._climb(entry_of, options[0], farthest)
        return compete(self._judge(entry_of), options, farthest)

    def _climb(
        self, entry_of: Callable[[int], Entry], start: int, farthest: int, directions: Sequence[int] = (1, -1)
    ) -> dict[int, float]:
        neighbours = [entry_of(start + step) for step in directions if step * start < farthest]
        self._look_ahead(neighbours, entry_of(start))
        return climb(self._judge(entry_of), start, farthest, directions)

    def learned(self, isotropic: RBF, lam: float, kernel: type[Kernel] | None, rows: Rows) -> list[Metric]:
        """Return the kernels with the relevances learned from the rows; none if there are too many features."""
        relevances = isotropic.relevances_of(rows.rows.shape[1])
        ranks = isotropic.ranks
        width = 0.5 * self.middle(relevances, ranks)
        if self.says_something(isotropic, lam):
            width = max(width, isotropic.gamma)  # the search widens a kernel more easily than it narrows one
        starts = [np.sqrt(width * relevances)]
        spread = spreads(self.seen(ranks))
        if spread.max() > WILD * spread.min() and (relevances == 1).all():
            over_spread = self.over_spread(ranks)
            starts.append(np.sqrt(self.middle(over_spread, ranks) * over_spread))
        kinds = searches(self.own.task, kernel, rows_looked_at(rows))
        found = self._searched(rows, ranks, starts, kinds, lam)
        # In regression both kernels are used without a competition, and a competition for their widths gained less than
        # it cost.
        return found if self.own.task == "regression" else [self._narrowed(each, lam) for each in found]

    def _narrowed(self, kernel: Metric, lam: float) -> Metric:
        """Return the narrowest kernel within 1 % of the best, starting from this one: wider kernels are better for
        functions of few points, such as those of the search, than for a learner."""
        found = self._climb(lambda e: Entry(times(kernel, e), lam, 2), 0, FARTHEST, (1,))
        return times(kernel, max(e for e in found if found[e] <= (1 + SLACK) * min(found.values())))

    def says_something(self, kernel: Kernel, lam: float) -> bool:
        """Whether the competitor with this kernel had a smaller loss than the best constant."""
        share = min(2, len(self.own.kernels))
        rows, later = self.rows, slice(len(self.rows) // 2, None)
        y, weight = rows.y[later], rows.weight[later]
        if self.own.task == "regression":
            least = float(np.sum(weight * (y - np.average(y, weights=weight)) ** 2))
        else:
            counts = np.bincount(y.astype(np.intp), weight)
            least = float(-np.sum(xlogy(counts, counts / counts.sum())))
        return self.loss_of(kernel, lam, share) < (1 - SLACK) * least

    def _searched(
        self,
        rows: Rows,
        ranks: tuple[Quantiles, ...],
        starts: Sequence[Floats],
        kinds: Sequence[Search],
        lam: float,
    ) -> list[Metric]:
        """Return the kernels with the relevances learned from the rows, the best of each kind."""
        found = learned_kernels(rows, ranks, self.own.task, self.n_classes, kinds, starts, self.own.n_jobs)
        return [self._best(kernels, lam) for kernels in found]

    def _best(self, kernels: Sequence[Metric], lam: float) -> Metric:
        if len(kernels) == 1:
            return kernels[0]
        losses = [each.sum() for each in self._run([Entry(kernel, lam, 2) for kernel in kernels])]
        return kernels[losses.index(min(losses))]

    # -- later choices: whoever replaces another must be better by more than 1 %, and than chance allows ---------------

    # Wider kernels and a larger λ are better for few rows than for many. So where the learner has seen more rows than
    # take part in the competition, a wider kernel or a larger λ that is better on these proves nothing, and only a
    # change in the other direction may take over.

    def better_width(self, kernel: Metric, lam: float, share: int, after_change: bool) -> Metric:
        """Return the kernel, or one of another width: after a change it may be a very different one, and need not be
        significantly better, since then nothing favours the one in use."""

        def entry_of(power: int) -> Entry:
            return Entry(times(kernel, power), lam, share)

        if after_change and isinstance(kernel, RBF):
            middle = self.middle(kernel.relevances_of(self.rows.rows.shape[1]), kernel.ranks)
            options = {0} | {power + round(math.log2(middle / kernel.gamma)) for power in WIDTHS}
            found = self._compete(entry_of, sorted(options), FARTHEST)
        else:
            found = self._climb(entry_of, 0, FARTHEST, (1, -1) if self.has_all_rows else (1,))
        best = times(kernel, min(found, key=found.__getitem__))
        return best if self._is_better(best, lam, kernel, lam, share, not after_change) else kernel

    def better_relevances(self, kernel: Metric, lam: float, rows: Rows) -> Metric:
        """Return the kernel, or one with relevances learned from these rows."""
        base = kernel.base
        scales = (kernel.gamma * kernel.relevances_of(rows.rows.shape[1])) ** (1 / base.power)
        found = self._searched(rows, kernel.ranks, [scales], [Search(type(kernel), SPREAD)], lam)
        better = [each for each in found if self._is_better(each, lam, kernel, lam, 2)]
        return min(better, key=lambda each: self.loss_of(each, lam, 2), default=kernel)

    def better_lam(self, kernel: Kernel, lam: float, share: int) -> float:
        """Return the λ, or another one."""
        directions = (1, -1) if self.has_all_rows else (-1,)
        found = self._climb(lambda e: Entry(kernel, lam_at(e), share), step_of(lam), LAMS, directions)
        best = lam_at(min(found, key=found.__getitem__))
        return best if self._is_better(kernel, best, kernel, lam, share) else lam

    def _is_better(
        self, challenger: Kernel, its_lam: float, incumbent: Kernel, lam: float, share: int, surely: bool = True
    ) -> bool:
        its, own = self.losses_of(challenger, its_lam, share), self.losses_of(incumbent, lam, share)
        return its.sum() < (1 - SLACK) * own.sum() and (not surely or surely_better(own, its))


def gaussian(gamma: float, relevances: Floats, ranks: tuple[Quantiles, ...]) -> RBF:
    """Return a gaussian kernel; relevances that are all 1 are omitted."""
    return RBF(gamma, () if (relevances == 1).all() else tuple(relevances.tolist()), ranks)


def times(kernel: Metric, power: int) -> Metric:
    """Return a kernel that is narrower by this power of two."""
    return replace(kernel, gamma=kernel.gamma * 2.0**power)


def lam_at(step: int) -> float:
    """Return the λ that is this many half decades from the default."""
    return GaussianPrior().lam * math.pow(10.0, step / 2)


def step_of(lam: float) -> int:
    """Return by how many half decades a chosen λ differs from the default."""
    return round(2 * math.log10(lam / GaussianPrior().lam))


def _competitor(own: Learner) -> SecondOrder:
    """The recipe of the competitors: second-order, and equal to that of the learner where that is second-order."""
    regression = own.task == "regression"
    loss = SquaredError() if regression else LogLoss()
    if isinstance(own.recipe, SecondOrder):
        return replace(own.recipe, loss=loss)
    return SecondOrder(loss, dictionary=GrowingDictionary(easy_slope=0.0 if regression else 0.1))
