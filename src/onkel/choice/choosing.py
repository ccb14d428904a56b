"""What the stream chooses about a learner: its kernel, its λ.

A choice holds no learner. It takes in the rows that a learner has learned from, says after how many more something is
due, and then hands back the learner that goes on (:mod:`onkel.choice.holder` has the loop).

The latest rows are kept. After 4 and 16 rows the width is ``1 / median |x - x'|^2``. After 64, 256, 1024 and 4096
kernels are searched for (:mod:`onkel.choice.kernels`), and several λ compete (:mod:`onkel.choice.competition`), among
thousands of sparse features also with the linear kernel. Each time the learner starts anew and learns from the rows so
far again. A `fit` in random order chooses once, before it learns, on as many of its rows.

A second-order learner with ``forget="stream"`` goes on choosing: whenever the number of rows has doubled, and when the
loss has risen (:mod:`onkel.choice.change`), from then on counting rows from the change, and so it does after a `fit`.
A choice that is better by more than 1 % becomes a challenger: another learner, which starts from the rows kept, each of
them counted once, and then learns from the same rows as the incumbent. It takes over if it is significantly better on
the rows that follow.

No row waits for any of this: what is to be chosen is a job (:mod:`onkel.choice.job`), whose work the following rows
carry, and the old learner predicts until it is done. All of it is a function of the rows alone, so it does not depend
on how they were cut into calls.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Collection
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onkel.choice import stages
from onkel.choice.again import CHALLENGER, INCUMBENT, PERIOD, Trial, Watch
from onkel.choice.candidates import better_learner, chosen_learner
from onkel.choice.growth import Growth, as_one
from onkel.choice.job import BETTER, FIRST, Job
from onkel.choice.judging import unit
from onkel.choice.rows import Rows, Taken, Window, as_wide_as_one_another, learned_from, losses_of, rows_of, weights_of
from onkel.choice.steps import Steps, at_once, carried, row_work
from onkel.learner import Learner
from onkel.parts import RBF, Hedge, Laplacian, Linear, SecondOrder, StreamMemory
from onkel.utils.digest import Digest
from onkel.utils.validation import check_choice, check_flag, check_number

Array = NDArray[Any]
Floats = NDArray[np.float64]


LARGEST = 1e150  # number of a row, so that squared distances are finite
TOGETHER = 8  # rows that a challenger learns at a time
SETTLED = 256  # calls after which the rows taken are put together


class StreamChoice:
    """What the stream chooses about a learner.

    Parameters
    ----------
    learner : Learner
        It must not have learned from any row. The chosen values replace its own.
    chosen : collection of {"gamma", "lam", "relevances", "ranks", "kernel", "regions"}
        "gamma" is the width of a gaussian kernel, "lam" the λ of a second-order learner's prior, "relevances" those of
        the features, "ranks" the quantiles among which they are ranked, "kernel" whether the relevances' kernel is
        gaussian or, in regression, Laplacian, "regions" whether rows are divided among several experts.
    budget : int, default=None
        The largest number of points of all experts; None is for one.

    Attributes
    ----------
    due : int
        The number of rows after which something is to be done, but for what a job or a challenger has to do.
    changes : list of int
        The numbers of rows after which another kernel or λ took over, after the first 4096 rows; at most the last 256.
    """

    def __init__(self, learner: Learner, chosen: Collection[str], budget: int | None = None) -> None:
        for name in chosen:
            check_choice("what is chosen", name, ("gamma", "lam", "relevances", "ranks", "kernel", "regions"))
        started = learner.t > 0 and "relevances" in chosen
        has_width = (
            isinstance(learner.kernel, RBF | Laplacian | Linear | Hedge) if started else isinstance(learner.kernel, RBF)
        )
        if "gamma" in chosen and not has_width:
            raise ValueError(f"gamma='stream' chooses the width of kernel 'rbf', and the kernel is {learner.kernel!r}")
        for name in ("relevances", "ranks"):
            if name in chosen and "gamma" not in chosen:
                raise ValueError(f"{name}='stream' are chosen with a width: gamma must be 'stream', too")
        recipe = learner.recipe
        if "lam" in chosen and not isinstance(recipe, SecondOrder):
            raise ValueError(f"lam='stream' chooses the λ of a SecondOrder recipe, and the recipe is {recipe!r}")
        self.chosen = tuple(chosen)
        # A learner that takes over knows only the rows kept: that is for those whose memory the stream chooses, too.
        self.goes_on = isinstance(recipe, SecondOrder) and isinstance(recipe.memory, StreamMemory)
        self.task = learner.task
        self.window: Window | None = None  # the rows kept
        self.taken: list[Taken] = []  # rows after those
        self.complete = False  # whether the last choice was made
        self.begun = 0  # the number of rows of the stream before its last change
        self.changes: list[int] = []
        self.watch = Watch(learner.task)
        self.trial: Trial | None = None
        self.job: Job | None = None
        self.growth = Growth.of(learner, chosen, budget)
        self.stage = self._stage(learner.t)  # the row after which something is to be chosen next
        self.due = self._next_due(learner.t)

    def check(self, rows: Any) -> None:
        """Refuse rows that no width can be chosen for, in the core's format or CSR."""
        if self.complete or "gamma" not in self.chosen:
            return
        values = rows[0] if isinstance(rows, tuple) else rows.data if issparse(rows) else rows
        if max(float(values.max(initial=0)), -float(values.min(initial=0))) > LARGEST:
            first = int(np.flatnonzero(np.abs(values).ravel() > LARGEST)[0])
            if values is rows:
                row, column = divmod(first, values.shape[1])
            else:
                features, offsets = rows[1:] if isinstance(rows, tuple) else (rows.indices, rows.indptr)
                row, column = int(np.searchsorted(offsets, first, side="right")) - 1, int(features[first])
            raise ValueError(
                f"X contains {values.flat[first]:.3g} at row {row}, column {column}, and gamma='stream' chooses a "
                f"width by squared distances: expected numbers of at most {LARGEST:g}; scale the columns"
            )

    def ahead(self, learner: Learner, rows: Rows, n_rows: int) -> tuple[Learner, Self]:
        """Choose on some rows before the learner learns from any; return the learner that goes on, and the choice.

        Nothing but regions is due during the next ``n_rows``, which come in no order; a stream may follow.
        """
        after = copy.copy(self)
        if after.growth is not None and not after.growth.takes(rows.rows):
            after.growth = None
        after.begun, after.complete = n_rows, not self.goes_on and after.growth is None
        t = 0 if after.growth is not None else n_rows
        after.stage = after._stage(t)
        after.due = after._next_due(t)
        try:
            return at_once(chosen_learner(learner, rows, self.chosen)), after
        except ArithmeticError as error:
            warnings.warn(f"nothing was chosen: {error}", RuntimeWarning, stacklevel=2)
            return learner, after

    # -- observing -----------------------------------------------------------------------------------------------------

    def ignores(self, t: int) -> bool:
        """Whether the next rows are of no use: rows of a `fit` are not those of a stream, but may have regions."""
        return self.complete or (self.begun > t and self.growth is None)

    def expect(
        self, learner: Learner, rows: Any, y: Floats, weight: Floats | None, into: Floats | None = None
    ) -> Floats | None:
        """Be told what rows the learner is to learn from next, in the core's format; return the array that is to
        receive their scores, where these are needed: ``into``, if it has room for just these.

        Nothing else is needed, whatever ends that call: how many of the rows were learned from is known afterwards.
        """
        copied = tuple(part.copy() for part in rows) if isinstance(rows, tuple) else rows.copy()
        judged = self.trial is not None or self.growth is not None or self._is_watching(learner.t)
        scores = learner.room_for_scores(y, weight) if judged else None
        if scores is not None and into is not None and scores.shape == into.shape:
            scores = into
        own = None if weight is None else weight.copy()
        taken = Taken(copied, y.copy(), own, scores, learner.t, learner.n_outputs)
        came_to_nothing = bool(self.taken) and self.taken[-1].t == learner.t
        self.taken[len(self.taken) - came_to_nothing :] = [taken]
        return scores

    def settled(self, learner: Learner) -> Self:
        """Return this choice with all rows taken in that the learner has learned from."""
        after = copy.copy(self)
        after._settle(learner)
        return after

    def _settle(self, learner: Learner) -> None:
        taken, self.taken = learned_from(self.taken, learner.t), []
        if not taken:
            return
        if self.growth is not None:
            self._show(learner, taken)
        taken = [each for each in taken if each.t >= self.begun]  # rows of a `fit` are not those of a stream
        if not taken:
            return
        rows = rows_of(taken, learner.n_features)
        if self.window is None:
            self.window = Window(rows[:0])
        self.window = self.window.extended_by(rows, self._most(learner) if self.job is None else math.inf)
        judged = [(each, each.scores) for each in taken if each.scores is not None]
        if not judged:
            return
        known = np.repeat([each.n_outputs for each, _ in judged], [len(each.y) for each, _ in judged])
        y = np.concatenate([each.y for each, _ in judged])
        scores = as_wide_as_one_another([scores for _, scores in judged])
        losses = losses_of(self.task, learner.recipe.loss, scores, y, known)
        weight = weights_of([each for each, _ in judged])
        if self._is_watching(judged[0][0].t):
            self.watch = copy.copy(self.watch)
            self.watch.add(losses)
        if self.trial is not None:
            self.trial = self.trial.with_losses(INCUMBENT, weight * losses)

    @staticmethod
    def _most(learner: Learner) -> int:
        """The largest number of rows that are kept, but for those that come while something is being chosen."""
        return stages.KEPT if learner.t <= stages.KEPT else stages.kept(learner.n_features or 1, learner.sparse)

    def _show(self, learner: Learner, taken: list[Taken]) -> None:
        """Show the leaves what was learned from, where there may be regions."""
        assert self.growth is not None
        scored = [each.scores for each in taken if each.scores is not None]
        rows = rows_of(taken, learner.n_features)
        takes = self.growth.takes(rows.rows)
        busy = None if self.job is None else self.job.about
        scores = as_wide_as_one_another(scored)
        self.growth = self.growth.extended_by(learner, rows, scores, taken[0].t, busy) if takes else None

    def _let_challenger_follow(self, learner: Learner) -> None:
        """Let the challenger, a copy of it, learn from the rows that it has not learned from yet."""
        end = self._followed_until(learner.t)
        if self.trial is None or self.trial.challenger.t >= end:
            return
        assert self.window is not None
        challenger = copy.deepcopy(self.trial.challenger)
        known, first = challenger.n_outputs, len(self.window) - learner.t
        rows = self.window.between(first + challenger.t, first + end)
        challenger.n_jobs, challenger.in_order = learner.n_jobs, learner.in_order
        try:
            scores = challenger.learn_rows(rows.rows, rows.y, rows.weight, scores=True)
        except ArithmeticError:  # it has diverged, where the learner in use has not
            self.trial = None
            return
        assert scores is not None
        losses = rows.weight * losses_of(self.task, learner.recipe.loss, scores, rows.y, known)
        self.trial = Trial(challenger, self.trial.end, self.trial.losses).with_losses(CHALLENGER, losses)

    def _followed_until(self, t: int) -> int:
        """The row up to which a challenger has learned when the learner has learned so many."""
        return t if self.due <= t else t // TOGETHER * TOGETHER

    def reach(self, learner: Learner, n_features: int) -> None:
        """Accept sparse rows with this number of features from now on (see `Learner.reach`)."""
        after = self.settled(learner)
        if after.window is not None:
            after.window = after.window.widened(n_features)
        if after.trial is not None:
            challenger = copy.deepcopy(after.trial.challenger)
            challenger.reach(n_features)
            after.trial = Trial(challenger, after.trial.end, after.trial.losses)
        self.__dict__.update(vars(after))

    def __deepcopy__(self, _: Any) -> Self:
        """A choice that goes on by itself: what both have never changes in place."""
        other = copy.copy(self)
        other.taken, other.job = list(self.taken), copy.deepcopy(self.job)
        return other

    # -- jobs ----------------------------------------------------------------------------------------------------------

    def carry(self, learner: Learner, n: int) -> int:
        """Do the work that the next ``n`` rows carry; return after how many of them, at most, something is due."""
        if len(self.taken) > SETTLED:
            self.__dict__.update(vars(self.settled(learner)))
        due, job = self.due, self.job
        if job is not None:
            self._work(learner, n)
            if job.takeover is not None:
                self._replay(learner, learner.t + n)
                due = min(due, job.takeover)
        return min(n, due - learner.t)

    def at_once(self, learner: Learner) -> tuple[Learner, Self]:
        """Answer what is being chosen; return the learner that goes on, and the choice."""
        after = copy.deepcopy(self.settled(learner))
        assert after.job is not None
        after._work(learner, math.inf)
        after.job.takeover = learner.t
        return after._acted(learner), after

    def _work(self, learner: Learner, n: float) -> None:
        """Do the work of the job that the next ``n`` rows carry, but for the replay."""
        job = self.job
        assert job is not None
        job.carry(learner.t + n, self._allowed(learner), partial(self._steps, learner))
        if job.ended is not None and job.takeover is None:
            self._begin_replay(learner)

    def _allowed(self, learner: Learner) -> float:
        """The work that a row carries; in a `fit` it is done at once."""
        assert self.job is not None
        return math.inf if self.job.begun <= self.begun else carried(as_one(learner), self.job.n_features)

    def _asked(self, learner: Learner, about: int, n_rows: int) -> Job:
        return Job(about, learner.t, n_rows, learner.n_outputs, learner.n_features or 1)

    def _steps(self, learner: Learner) -> Steps[Any]:
        """The work of the job."""
        job = self.job
        assert job is not None
        own = as_one(learner).blank(n_classes=job.n_outputs if self.task == "multiclass" else 1, n_jobs=1)
        if job.about >= 0:
            assert self.growth is not None
            return self.growth.steps(learner, own, job)
        rows = self._rows_of(job)
        if job.about == FIRST:
            return chosen_learner(own, rows, self.chosen)
        return better_learner(own, learner.kernels, rows, self.chosen)

    def _rows_of(self, job: Job) -> Rows:
        """The rows that a question is about."""
        rows = self._window.between(0, job.n_rows)
        return rows.widened(job.n_features) if issparse(rows.rows) else rows

    def _begin_replay(self, learner: Learner) -> None:
        """Begin to let what was found learn from the rows, if anything was."""
        job = self.job
        assert job is not None and job.ended is not None
        if job.found is None:
            job.takeover = job.ended
        elif job.about >= 0:
            expert = job.found.sides[0].expert
            job.taken_over_after(0, self._allowed(learner) / row_work(expert, job.n_features))
        elif (job.found.kernel, job.found.recipe) == (learner.kernel, learner.recipe):
            job.found, job.takeover = None, job.ended
        else:
            core = job.found.started(job.n_features, sparse=learner.sparse)
            if job.begun > job.n_rows:
                core.begin_after(job.begun - job.n_rows)
            job.taken_over_after(job.n_rows, self._allowed(learner) / row_work(job.found, job.n_features))

    def _replay(self, learner: Learner, t: int) -> None:
        """Let what was found learn from as many rows as those up to row `t` carry, of those that are known."""
        job = self.job
        assert job is not None
        if job.found is None:
            return
        wanted = job.replayed(t)
        if job.about >= 0 or wanted > len(self._window):
            self.__dict__.update(vars(self.settled(learner)))
        try:
            if job.about >= 0:
                assert self.growth is not None
                job.found.learn(self.growth.leaves[job.about].all.since(job.begun), wanted)
            else:
                self._learn_until(job.found, wanted, job.begun - job.n_rows, learner)
        except ArithmeticError as error:
            job.found, job.error = None, error
        except BaseException:
            job.forget()
            raise

    def _learn_until(self, found: Learner, wanted: float, before: int, learner: Learner) -> None:
        """Let a learner learn from so many of the rows kept, of which the first comes after so many of the stream."""
        if found.n_features != learner.n_features:
            found.reach(learner.n_features or 0)
        rows = self._window.between(found.t - before, int(min(wanted, len(self._window))))
        if len(rows):
            found.learn_rows(rows.rows, rows.y, rows.weight)

    def _taken_over(self, learner: Learner) -> Learner:
        """Put to use what was found, which has learned from all rows."""
        job, t = self.job, learner.t
        assert job is not None
        self._replay(learner, t)
        self.job = None
        if job.error is not None and job.about < 0:  # for these rows it would come again
            message = f"nothing was chosen after {job.begun} rows: {job.error}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        if job.about >= 0:
            assert self.growth is not None
            learner, growth = self.growth.answered(learner, job.about, job.found)
            self.growth = growth if growth.has_room(learner) else None
        elif job.found is not None:
            job.found.n_jobs, job.found.in_order = learner.n_jobs, learner.in_order
            if job.about == FIRST:
                found: Learner = job.found
                return found
            self.trial = Trial(job.found, t + min((t - self.begun) // 4, stages.LONGEST_TRIAL))
        return learner

    # -- what is due ---------------------------------------------------------------------------------------------------

    def is_due(self, learner: Learner) -> bool:
        """Whether something is to be done before the next row."""
        trial, t = self.trial, learner.t
        if self.job is not None and self.job.is_lost:
            self._work(learner, 0)
        if self.due <= t or (self.job is not None and self.job.is_due(t)):
            return True
        return trial is not None and trial.challenger.t < self._followed_until(t)

    @property
    def _window(self) -> Window:
        assert self.window is not None
        return self.window

    def _is_watching(self, t: int) -> bool:
        """Whether the loss is monitored, which starts at the first check after enough rows."""
        return self.goes_on and t // PERIOD * PERIOD >= self.begun + stages.LATEST

    def _stage(self, rows: int) -> int:
        return self.begun + stages.next_stage(rows - self.begun, stages.AGAIN if self.begun > 0 else 0)

    def _next_due(self, t: int) -> int:
        due = [self.stage] if self.job is None else [self._stage(max(t, self.stage))]
        if self.goes_on and t - self.begun >= stages.LATEST - PERIOD:
            due.append((t // PERIOD + 1) * PERIOD)
        if self.growth is not None and self.job is None:
            due.append(self.growth.next_due(t))
        if self.trial is not None:
            due.append(self.trial.next_due(t))
        return min(due)

    def act(self, learner: Learner) -> tuple[Learner, Self]:
        """Do what is due: return the learner that goes on, and the choice that goes on with it.

        Neither the learner nor this choice changes, so that an interruption changes nothing.
        """
        after = self.settled(learner)
        after.watch = copy.deepcopy(after.watch)
        after._let_challenger_follow(learner)
        return after._acted(learner), after

    def _acted(self, learner: Learner) -> Learner:
        t, was = learner.t, self.job
        if self.trial is not None and (t == self.trial.end or self.trial.is_won_early):
            if self.trial.is_won:
                learner = copy.deepcopy(self.trial.challenger)
                self.changes = [*self.changes, t][-256:]
                self.growth = None if self.growth is None else self.growth.begun_again(t)
                self.job = None  # it was about another learner
            self.trial = None
        if self.job is not None and self.job.is_due(t):
            learner = self._taken_over(learner)
        if t % PERIOD == 0:
            self._check_loss(learner)
        if was is not None and self.job is None:
            self.window = None if self.window is None else self.window.latest(self._most(learner))
            self.growth = None if self.growth is None else self.growth.latest(learner.n_features or 1)
        if self.job is None and t >= self.stage:
            self._ask_at_stage(learner)
        if self.growth is not None and (was is not None or t == self.growth.next_due(t - 1)):
            learner = self._divided(learner)
        if self.stage > stages.KEPT and self.job is None and not self.goes_on and self.growth is None:
            self.window, self.complete = None, True
        self.due = self._next_due(t)
        return learner

    def _divided(self, learner: Learner) -> Learner:
        """Begin to divide a leaf that is due; in a `fit`, divide all."""
        while self.growth is not None and self.job is None:
            leaf = self.growth.due_leaf(learner)
            if leaf is None:
                break
            self.job = self._asked(learner, leaf, self.growth.n_kept(leaf))
            if learner.t <= self.begun:
                self._work(learner, 1)
                learner = self._taken_over(learner)
        return learner

    def _ask_at_stage(self, learner: Learner) -> None:
        """Begin what is to be chosen at this stage."""
        if self.begun == 0 and self.stage <= stages.KEPT:
            self.job = self._asked(learner, FIRST, len(self._window))
        elif self.goes_on and (len(learner.experts) == 1 or self.begun > 0):  # else regions choose for themselves
            self.job = self._asked(learner, BETTER, len(self._window))
        self.stage = self._stage(learner.t)

    def _check_loss(self, learner: Learner) -> None:
        """Start a new count of rows if the loss has risen."""
        if not self._is_watching(learner.t):
            return self.watch.clear()
        rows = self.watch.check(unit(learner.recipe.loss, learner.noise_variance))
        if rows is not None:
            kept = self._window.last(min(rows, len(self._window)))
            self.begun = learner.t - len(kept)
            self.window = Window(kept)
            self.watch, self.trial, self.job, self.stage = Watch(self.task), None, None, self._stage(learner.t)
            if len(kept) >= stages.AGAIN:
                self.job = self._asked(learner, BETTER, len(kept))

    # -- state, of a choice that is `settled` --------------------------------------------------------------------------

    def arrays(self) -> dict[str, Array]:
        """Return the rows kept and what later choices need, but for a challenger, as named arrays; nothing after the
        last choice."""
        if self.window is None and self.growth is None:
            return {}
        named = {"due": {"row": np.array([self.due, self.stage])}}
        if self.window is not None:
            named["rows"] = self.window.rows.arrays()
        if self.goes_on:
            named["again"] = self._again_arrays()
        if self.trial is not None:
            named["trial"] = self.trial.arrays()
        if self.job is not None:
            named["job"] = {"question": self.job.array()}
        if self.growth is not None:
            named["regions"] = self.growth.arrays()
        return {f"{place}.{name}": values for place, arrays in named.items() for name, values in arrays.items()}

    @property
    def nbytes(self) -> int:
        """Number of bytes of the rows kept, and of a challenger."""
        challenger = 0 if self.trial is None else self.trial.challenger.nbytes
        return challenger + sum(values.nbytes for values in self.arrays().values())

    def fingerprint(self) -> str:
        """Return a hash of the state: equal exactly when every bit of it is; nothing after the last choice."""
        if self.window is None and self.growth is None:
            return ""
        digest = Digest()
        digest.take(self.arrays())
        if self.trial is not None:
            self.trial.challenger.show_state(digest)
        return digest.hex()

    def _again_arrays(self) -> dict[str, NDArray[Any]]:
        counts = {"counts": np.array([self.begun]), "changes": np.array(self.changes, np.int64)}
        return counts | self.watch.arrays()

    def saved(self) -> dict[str, Any]:
        """Return the state as values that a file can contain."""
        return {
            "chosen": list(self.chosen),
            "complete": self.complete,
            "due": None if self.complete else self.due,
            "stage": None if self.complete else self.stage,
            "job": None if self.job is None else self.job.array(),
            "rows": None if self.window is None else self.window.rows.arrays(),
            "again": self._again_arrays(),
            "trial": None if self.trial is None else self.trial.saved(),
            "regions": None if self.growth is None else self.growth.saved(),
        }

    @classmethod
    def from_saved(cls, learner: Learner, values: Any) -> Self:
        """Restore the choice about a learner from `saved`; refuse values that it cannot have returned."""
        names = {"chosen", "complete", "due", "stage", "job", "rows", "again", "trial", "regions"}
        if not isinstance(values, dict) or set(values) != names:
            raise ValueError(f"a choice has {', '.join(sorted(names))}")
        chosen, complete, kept = values["chosen"], values["complete"], values["rows"]
        if not isinstance(chosen, list):
            raise ValueError(f"chosen must be a list of names, got {chosen!r}")
        choice = cls(learner, chosen)
        check_flag("complete", complete)
        choice.complete = complete
        choice._go_on_from(values["again"], learner.t)
        if (kept is None) != (complete or learner.n_features is None or choice.begun >= learner.t):
            raise ValueError("the rows that are kept must be there from the first row on, until the last choice")
        if kept is not None:
            rows = Rows.from_arrays(kept, learner.n_features, learner.dtype, learner.sparse)
            choice.window = Window(rows)
            choice._check_rows(values["job"], len(rows), learner.t)
        if values["trial"] is not None:
            choice.trial = Trial.from_saved(values["trial"], learner, len(choice._window))
        regions = values["regions"]
        choice.growth = None if regions is None else Growth.from_saved(learner, regions, choice.job)
        choice._check_due(values["due"], values["stage"], learner.t)
        return choice

    def _check_rows(self, job: Any, n_rows: int, t: int) -> None:
        """Restore the job; refuse another number of rows than are kept."""
        self.job = None if job is None else Job.from_array(job, t)
        before = t if self.job is None else self.job.begun
        most = min(before - self.begun, stages.KEPT) + t - before
        if (self.begun == 0 and before <= stages.KEPT and n_rows != t) or n_rows > most:
            raise ValueError(f"{n_rows} rows are kept after {t} rows")
        if self.job is not None and self.job.about < 0 and n_rows != self.job.n_rows + t - before:
            raise ValueError(f"{n_rows} rows are kept of a question about {self.job.n_rows}, {t - before} rows later")

    def _check_due(self, due: Any, stage: Any, t: int) -> None:
        self.stage = self._stage(t)
        self.due = self._next_due(t)
        if not self.complete:  # nothing is due then
            check_number("the row of the next choice", stage, at_least=0, at_most=self.stage, integer=True)
            latest, self.stage = self._stage(max(t, stage)), int(stage)
            check_number("the row after which something is due", due, at_least=t, at_most=latest, integer=True)
            self.due = int(due)

    def _go_on_from(self, again: Any, t: int) -> None:
        if not isinstance(again, dict):
            raise ValueError("what another choice needs must be arrays")
        arrays = dict(again)
        counts, changes = arrays.pop("counts", None), arrays.pop("changes", None)
        for numbers in (counts, changes):
            if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64 or numbers.ndim != 1:
                raise ValueError("the changes of a stream must be whole numbers")
        if len(counts) != 1 or len(changes) > 256:
            raise ValueError("there must be one count, and at most 256 changes of a stream")
        self.begun = int(counts[0])
        for row in changes.tolist():
            check_number("the row of a change", row, at_least=0, at_most=t, integer=True)
        check_number("the row of a change", self.begun, at_least=0, integer=True)
        self.changes, self.watch = changes.tolist(), Watch.from_arrays(self.task, arrays)
