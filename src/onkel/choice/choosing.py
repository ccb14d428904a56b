"""A learner whose kernel or λ is chosen from its stream.

The latest rows are kept. After 4 and 16 rows the width is ``1 / median |x - x'|^2``. After 64, 256, 1024 and 4096
several widths compete, and then several λ (:mod:`onkel.choice.competition`); after 1024 and 4096 relevances are
learned (:mod:`onkel.choice.relevances`). Each time the learner starts anew and learns from the rows so far again.

A second-order learner with ``forget="stream"`` goes on choosing: whenever the number of rows has doubled, and when the
loss has risen (:mod:`onkel.choice.change`), from then on counting rows from the change. The neighbours of the width and
of the λ compete over the latest 1024 rows, and whenever the number of rows is four times as large relevances are
learned from those kept. A choice that is better by more than 1 % becomes a challenger: another learner, which starts
from the rows kept, each of them counted once, and then learns from the same rows as the incumbent. It takes over if it
is significantly better on the rows that follow.

All of this is a function of the rows alone, so it does not depend on how they were cut into calls.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from onkel.choice import stages
from onkel.choice.again import MAX_LOSS, PERIOD, Trial, Watch, bounded_losses, check_losses
from onkel.choice.competition import WIDTHS, Competition, gaussian
from onkel.choice.relevances import first_searched
from onkel.choice.rows import Rows, Window
from onkel.inside import Inside
from onkel.learner import Array, Csr, Floats, Learner
from onkel.parts import RBF, GaussianPrior, Hedge, Kernel, Laplacian, SecondOrder, StreamMemory
from onkel.state import Stateful
from onkel.utils.turns import in_turn, turn_of
from onkel.utils.validation import check_choice, check_flag, check_number


class ChoosingLearner(Stateful):
    """An object around a learner, with the same methods, which keeps rows and chooses the learner by them.

    Parameters
    ----------
    learner : Learner
        It must not have learned from any row. The chosen values replace its own.
    chosen : collection of {"gamma", "lam", "relevances", "kernel"}
        "gamma" is the width of a gaussian kernel, "lam" the λ of a second-order learner's prior, "relevances" those of
        the features, "kernel" whether the relevances' kernel is gaussian or, in regression, Laplacian.

    Attributes
    ----------
    current : Learner
        The learner with the values chosen so far.
    changes : list of int
        The numbers of rows after which another kernel or λ took over, after the first 4096 rows; at most the last 256.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> from onkel.choice import ChoosingLearner
    >>> learner = ChoosingLearner(onkel.Learner(onkel.recipes.OGD()), ["gamma"])
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> learner.learn_rows(X, np.float64(X[:, 0] > 0))
    >>> learner.t, learner.current.kernel.gamma < 1
    (300, True)
    """

    def __init__(self, learner: Learner, chosen: Collection[str]) -> None:
        for name in chosen:
            check_choice("what is chosen", name, ("gamma", "lam", "relevances", "kernel"))
        started = learner.t > 0 and "relevances" in chosen
        has_width = isinstance(learner.kernel, RBF | Hedge) if started else isinstance(learner.kernel, RBF)
        if "gamma" in chosen and not has_width:
            raise ValueError(f"gamma='stream' chooses the width of kernel 'rbf', and the kernel is {learner.kernel!r}")
        if "relevances" in chosen and "gamma" not in chosen:
            raise ValueError("relevances='stream' are chosen with a width: gamma must be 'stream', too")
        if "lam" in chosen and not isinstance(learner.recipe, SecondOrder):
            raise ValueError(
                f"lam='stream' chooses the λ of a SecondOrder recipe, and the recipe is {learner.recipe!r}"
            )
        self.current = learner
        self.chosen = tuple(chosen)
        self.window: Window | None = None  # the rows kept
        self.complete = False  # whether the last choice was made
        self.begun = 0  # the number of rows of the stream before its last change
        self.spent = 0  # the number of rows that competitors have learned from after the first choices
        self.changes: list[int] = []
        self.watch = Watch(learner.task)
        self.trial: Trial | None = None
        self._due: int | None = None  # the row after which something is due, where that is known

    # -- rows ----------------------------------------------------------------------------------------------------------

    def learn(self, x: ArrayLike, y: float) -> None:
        """Learn from one row."""
        if self.complete:
            self.current.learn(x, y)
        else:
            row = np.ascontiguousarray(x, dtype=self.current.dtype)
            self.learn_rows(row[None], np.array([y], dtype=np.float64))

    @in_turn  # the rows kept must be those that were learned from
    def learn_rows(
        self, X: Array, y: Floats, weight: Floats | None = None, *, scores: bool = False, block_rows: int = 48
    ) -> Floats | None:
        """Learn from rows in order; with ``scores`` return each row's scores from before it was learned from."""
        if self._is_plain(y, weight) and not self.current.sparse:
            return self._learn_one(self.current.as_core_rows(X), y, scores)
        pieces: list[Floats | None] = []
        counts = np.ones(len(y), bool) if weight is None else weight != 0
        begin = 0
        while not self.complete and begin < len(y):
            self._keep_rows_like(X)
            wanted = self._until_something_is_due()
            ahead = np.flatnonzero(counts[begin : begin + wanted] if weight is None else counts[begin:])[:wanted]
            full = len(ahead) == wanted
            piece = slice(begin, begin + int(ahead[-1]) + 1 if full else len(y))
            rows = X if len(y) == 1 else X[piece]
            part = None if weight is None else weight[piece]
            pieces.append(self._learn_and_keep(rows, y[piece], part, scores, block_rows))
            if full:
                self._act()
            begin = piece.stop
        if begin < len(y) or not len(y):
            rest = None if weight is None else weight[begin:]
            pieces.append(self.current.learn_rows(X[begin:], y[begin:], rest, scores=scores, block_rows=block_rows))
        arrays = [piece for piece in pieces if piece is not None]
        if not scores:
            return None
        width = max(piece.shape[1] for piece in arrays)
        return np.concatenate([np.pad(piece, ((0, 0), (0, width - piece.shape[1]))) for piece in arrays])

    def _keep_rows_like(self, X: Any) -> None:
        if self.window is None:
            own = self.current
            own.started_for(X)
            self.window = Window(Rows.none(X.shape[1], own.dtype, own.sparse))

    def _learn_and_keep(self, X: Array, y: Floats, weight: Floats | None, scores: bool, block_rows: int) -> Any:
        learner, before, watching, done = self.current, self.current.t, self._is_watching, False
        judged = watching or self.trial is not None
        weight = np.ones(len(y)) if weight is None else weight
        try:
            predicted = learner.learn_rows(X, y, weight, scores=scores or judged, block_rows=block_rows)
            if judged:
                self._judge(X, y, weight, predicted, watching)
            done = True
            return predicted if scores else None
        finally:  # also after an interruption: exactly the rows that were learned from are kept
            if not done:
                self.watch.clear()
                self.trial = self._due = None
            n = learner.t - before
            learned = slice(None) if n == len(y) else np.flatnonzero(weight)[:n]
            rows = csr_array(X, dtype=learner.dtype) if learner.sparse else learner.as_core_rows(X)
            assert self.window is not None
            self.window.add(Rows(rows[learned], y[learned], weight[learned]).copied(), self._most_kept)

    def _judge(self, X: Array, y: Floats, weight: Floats, scores: Any, watching: bool) -> None:
        """Record the losses of the learner, and of the challenger where there is one, on some rows."""
        own, counts = self.current, weight != 0
        if watching:
            self.watch.add(scores[counts], y[counts])
        if self.trial is not None:
            challenger = self.trial.challenger
            challenger.n_jobs, challenger.in_order = own.n_jobs, own.in_order
            predicted = challenger.learn_rows(X, y, weight, scores=True)
            assert predicted is not None
            lost = (bounded_losses(own.task, each, y) for each in (scores, predicted))
            self.trial.add(*(np.minimum(weight * each, MAX_LOSS)[counts] for each in lost))

    @property
    def _most_kept(self) -> int:
        own = self.current
        return stages.KEPT if self.t <= stages.KEPT else stages.kept(own.n_features or 1, own.sparse)

    # -- what is due ---------------------------------------------------------------------------------------------------

    @property
    def _chooses_again(self) -> bool:
        """Whether the memory is chosen from the stream: a learner that takes over knows only the rows kept."""
        recipe = self.current.recipe
        return isinstance(recipe, SecondOrder) and isinstance(recipe.memory, StreamMemory)

    @property
    def _is_first(self) -> bool:
        """Whether the first choices are not complete; until then all rows of the stream are kept."""
        return self.begun == 0 and self.t <= stages.KEPT

    @property
    def _is_watching(self) -> bool:
        """Whether the loss is monitored, which starts at the first check after enough rows."""
        return self._chooses_again and self.t // PERIOD * PERIOD >= self.begun + stages.LATEST

    def _stage(self, rows: int) -> int:
        return self.begun + stages.next_stage(rows - self.begun, stages.AGAIN if self.begun > 0 else 0)

    def _until_something_is_due(self) -> int:
        t = self.t
        if self._due is None or self._due <= t:
            due = [self._stage(t)]
            if self._chooses_again and t - self.begun >= stages.LATEST - PERIOD:
                due.append((t // PERIOD + 1) * PERIOD)
            if self.trial is not None:
                due.append(self.trial.end)
            self._due = min(due)
        return self._due - t

    def _act(self) -> None:
        """Do what is due after the present number of rows."""
        t, self._due = self.t, None
        if self.trial is not None and t == self.trial.end:
            if self.trial.is_won:
                self.current = self.trial.challenger
                self.changes = [*self.changes, t][-256:]
            self.trial = None
        if t == self._stage(t - 1):
            self._choose() if self._is_first else self._challenge(0 < t - self.begun == stages.AGAIN)
        if t % PERIOD == 0:
            self._check_loss()

    def _check_loss(self) -> None:
        """Start a new count of rows if the loss has risen."""
        if not self._is_watching:
            return self.watch.clear()
        assert self.window is not None
        rows = self.watch.check(self.current.noise_variance)
        if rows is not None:
            self.begun = self.t - min(rows, len(self.window))
            self.window.cut(self.t - self.begun)
            self.watch, self.trial = Watch(self.current.task), None
            if len(self.window) >= stages.AGAIN:
                self._challenge(after_change=True)

    # -- the first choices ---------------------------------------------------------------------------------------------

    @property
    def _n_classes(self) -> int:
        return self.current.n_outputs if self.current.task == "multiclass" else 1

    def _choose(self) -> None:
        """Start anew with the kernel and the λ that are best for the rows so far."""
        own, rows = self.current, self._rows()
        competition = Competition(own, rows, self._n_classes)
        kernel, lam = self._chosen(competition, rows)
        if len(rows) == stages.KEPT and not self._chooses_again:
            self.window, self.complete = None, True
        fresh = self._with(kernel, lam)
        if (fresh.kernel, fresh.recipe) != (own.kernel, own.recipe):
            self.current = competition.learned_by(fresh, lam)

    def _rows(self) -> Rows:
        assert self.window is not None
        return self.window.rows

    def _with(self, kernel: Kernel, lam: float) -> Learner:
        """An unfitted learner with this kernel and λ."""
        recipe = self.current.recipe
        if isinstance(recipe, SecondOrder):
            recipe = replace(recipe, prior=GaussianPrior(lam))
        return self.current.blank(recipe=recipe, kernel=kernel, n_classes=self._n_classes)

    def _chosen(self, competition: Competition, rows: Rows) -> tuple[Kernel, float]:
        """The kernel, or the sum of several, and the λ."""
        own, n = self.current, len(rows)
        lam = GaussianPrior().lam if "lam" in self.chosen else competition.lam
        before, relevances = own.kernels[0], np.ones(rows.rows.shape[1])
        if "relevances" in self.chosen and n >= stages.COMPETE:
            relevances = competition.start() if n < stages.KEPT else before.relevances_of(len(relevances))
        kernel: Kernel = before
        widths: Sequence[int] = WIDTHS
        if "gamma" in self.chosen:
            kernel = gaussian(competition.middle(relevances), relevances)
            assert isinstance(before, RBF)
        if n > stages.AGAIN and (
            "gamma" not in self.chosen or (before.relevances_of(len(relevances)) == relevances).all()
        ):
            kernel, lam, widths = before, competition.lam, [0]
        if n >= stages.COMPETE:
            share = min(2, len(own.kernels))  # the terms of a sum share the budget
            kernel, lam = competition.chosen(kernel, lam, self.chosen, widths, share)
        if "relevances" not in self.chosen or not stages.learns_relevances(n):
            return kernel, lam
        assert isinstance(kernel, RBF)
        learned = competition.learned(kernel, lam, None if "kernel" in self.chosen else RBF, first_searched(rows))
        if not learned:
            return kernel, lam
        if isinstance(own.recipe, SecondOrder):  # their weights are learned from the rows that follow
            return Hedge((kernel, *learned), "sum", start=n), lam
        return min((kernel, *learned), key=lambda kernel: competition.loss_of(kernel, lam, 2)), lam

    # -- later ones ----------------------------------------------------------------------------------------------------

    def _challenge(self, after_change: bool) -> None:
        """Create a challenger if another choice is better on the latest rows."""
        own, rows, n = self.current, self._rows(), self.t - self.begun
        if self.spent > self.t:
            return
        latest = rows[-stages.LATEST :]
        competition = Competition(own, latest, self._n_classes, has_all_rows=n <= len(latest))
        earlier = rows[: -stages.LATEST // 2][-stages.KEPT // 2 :] if stages.learns_relevances(n) else rows[:0]
        kernel, lam = self._better(competition, earlier, after_change)
        self.spent += competition.learned_from
        challenger = self._with(kernel, lam)
        if (challenger.kernel, challenger.recipe) == (own.kernel, own.recipe):
            return
        challenger.started_for(rows.rows).begin_after(self.t - len(rows))
        challenger.learn_rows(rows.rows, rows.y, rows.weight)
        self.trial = Trial(challenger, self.t + min(n // 4, stages.LONGEST_TRIAL))

    def _better(self, competition: Competition, earlier: Rows, after_change: bool) -> tuple[Kernel, float]:
        """The kernel, or the sum of several, and the λ: those in use, or better ones; relevances are learned from the
        earlier rows, if there are any."""
        own, lam, share = self.current, competition.lam, len(self.current.kernels)
        kernels = list(own.kernels)
        if "gamma" in self.chosen:
            kernels = [
                competition.better_width(kernel, lam, share, after_change)
                for kernel in kernels
                if isinstance(kernel, RBF | Laplacian)  # all of them are, in this case
            ]
        if "lam" in self.chosen:
            lam = competition.better_lam(kernels[0], lam, share)
        if len(earlier) and "relevances" in self.chosen:
            isotropic, *others = kernels
            learned = [kernel for kernel in others if isinstance(kernel, RBF | Laplacian)]
            if learned:
                kernels[1:] = [competition.better_relevances(kernel, lam, earlier) for kernel in learned]
            elif isinstance(isotropic, RBF):
                kernels += competition.learned(isotropic, lam, None if "kernel" in self.chosen else RBF, earlier)
        if kernels == list(own.kernels):
            return own.kernel, lam
        if len(kernels) == 1:
            return kernels[0], lam
        return Hedge(tuple(kernels), "sum", start=len(self._rows())), lam

    def learn_csr(self, rows: Csr, y: Floats, weight: Floats | None = None, *, scores: bool = False) -> Floats | None:
        """Learn from sparse rows as the core takes them (see `Learner.learn_csr`)."""
        if self.complete:
            return self.current.learn_csr(rows, y, weight, scores=scores)
        with turn_of(self):
            if self._is_plain(y, weight):
                return self._learn_one(rows, y, scores)
            matrix = csr_array(rows, shape=(len(rows[2]) - 1, self.current.n_features))
            return self.learn_rows(matrix, y, weight, scores=scores)

    def _is_plain(self, y: Floats, weight: Floats | None) -> bool:
        """Whether this is one row after which nothing is due."""
        plain = len(y) == 1 and weight is None and self.trial is None and self.window is not None
        return plain and self._until_something_is_due() > 1

    def _learn_one(self, row: Array | Csr, y: Floats, scores: bool) -> Floats | None:
        """Learn from such a row in the core's format: the same as `learn_rows`, without what only several rows need."""
        assert self.window is not None
        own, watching, before, predicted = self.current, self._is_watching, self.t, None
        learn: Any = own.learn_csr if isinstance(row, tuple) else own.learn_rows
        y = y.copy()
        try:
            predicted = learn(row, y, scores=scores or watching)
            if watching:
                self.watch.add(predicted.copy() if scores else predicted, y)
        except BaseException:
            self.watch.clear()
            raise
        finally:
            if own.t > before:
                self.window.add_one(row, y, self._most_kept)
        return predicted if scores else None

    def reach(self, n_features: int) -> None:
        """Accept sparse rows with this number of features from now on (see `Learner.reach`)."""
        wider = n_features > (self.current.n_features or 0)
        self.current.reach(n_features)
        if self.window is not None and wider:
            self.window.widen(n_features)
        if self.trial is not None:
            self.trial.challenger.reach(n_features)

    def score(self, x: ArrayLike) -> float | Floats:
        """Return the decision value of one row; with several classes one value per class."""
        return self.current.score(x)

    def score_rows(self, X: Array, *, each: bool = False, block_rows: int = 48) -> Floats:
        """Return the scores of rows, one column per output."""
        return self.current.score_rows(X, each=each, block_rows=block_rows)

    def score_csr(self, rows: Csr) -> Floats:
        """Return the scores of sparse rows as the core takes them."""
        return self.current.score_csr(rows)

    def flush(self) -> None:
        """End the current mini-batch."""
        self.current.flush()

    # -- facts and state -----------------------------------------------------------------------------------------------

    @property
    def t(self) -> int:
        """Number of rows learned from so far."""
        return self.current.t

    @property
    def nbytes(self) -> int:
        """Number of bytes of the model, of the rows kept, and of a challenger."""
        return self.current.nbytes + sum(part.nbytes for part in self._own_arrays().values())

    def _own_arrays(self) -> dict[str, NDArray[Any]]:
        """The state besides the learner: the rows kept, and what later choices need."""
        if self.window is None:
            return {}
        named = {"first": self.window.rows.arrays()}
        if self._chooses_again:
            named["again"] = self._again_arrays()
        if self.trial is not None:
            named["challenger"] = self.trial.challenger.state() | {"losses": self.trial.losses}
        return {f"{place}.{name}": values for place, arrays in named.items() for name, values in arrays.items()}

    def _again_arrays(self) -> dict[str, NDArray[Any]]:
        counts = {"counts": np.array([self.begun, self.spent]), "changes": np.array(self.changes, np.int64)}
        return counts | self.watch.arrays()

    def state(self) -> dict[str, Array]:
        """Return everything learned so far as named arrays (empty before the first row)."""
        return self.current.state() | self._own_arrays()

    def __onkel_inside__(self) -> Inside:
        return Inside(self, self.current)

    def __onkel_facts__(self) -> dict[str, Any]:
        return self.current.__onkel_facts__()

    def __onkel_with_learner__(self, learner: Learner) -> Learner:
        return learner  # whose kernel has its own width

    def __repr__(self) -> str:
        return f"ChoosingLearner({self.current!r}, {list(self.chosen)!r})"

    def _saved_fields(self) -> dict[str, Any]:
        trial = self.trial
        return {
            "current": self.current,
            "chosen": list(self.chosen),
            "complete": self.complete,
            "first": None if self.window is None else self.window.rows.arrays(),
            "again": self._again_arrays(),
            "challenger": None if trial is None else trial.challenger,
            "trial": None if trial is None else {"end": np.array([trial.end]), "losses": trial.losses},
        }

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        learner, chosen, complete, kept = (fields[name] for name in ("current", "chosen", "complete", "first"))
        if not isinstance(learner, Learner):
            raise ValueError(f"learner must be a Learner, got {learner!r}")
        if not isinstance(chosen, list):
            raise ValueError(f"chosen must be a list of names, got {chosen!r}")
        choosing = cls(learner, chosen)
        check_flag("complete", complete)
        choosing.complete = complete
        if (kept is None) != (complete or learner.n_features is None):
            raise ValueError("the rows that are kept must be there from the first row on, until the last choice")
        choosing._go_on_from(fields.get("again"))
        if kept is not None:
            rows = Rows.from_arrays(kept, learner.n_features, learner.dtype, learner.sparse)
            choosing.window = Window(rows)
            most = learner.t - choosing.begun
            if (choosing._is_first and len(rows) != learner.t) or len(rows) > min(most, stages.KEPT):
                raise ValueError(f"{len(rows)} rows are kept after {learner.t} rows")
        choosing._try_again(fields.get("challenger"), fields.get("trial"))
        return choosing

    def _go_on_from(self, again: Any) -> None:
        if again is None:  # a file of an earlier version
            return
        if not isinstance(again, dict):
            raise ValueError("what another choice needs must be arrays")
        arrays = dict(again)
        counts, changes = arrays.pop("counts", None), arrays.pop("changes", None)
        for numbers in (counts, changes):
            if not isinstance(numbers, np.ndarray) or numbers.dtype != np.int64 or numbers.ndim != 1:
                raise ValueError("the changes of a stream must be whole numbers")
        if len(counts) != 2 or len(changes) > 256:
            raise ValueError("there must be two counts, and at most 256 changes of a stream")
        self.begun, self.spent = counts.tolist()
        for row in (self.begun, *changes.tolist()):
            check_number("the row of a change", row, at_least=0, at_most=self.t, integer=True)
        check_number("the number of rows that competed", self.spent, at_least=0, integer=True)
        self.changes, self.watch = changes.tolist(), Watch.from_arrays(self.current.task, arrays)

    def _try_again(self, challenger: Any, trial: Any) -> None:
        if challenger is None and trial is None:
            return
        if not isinstance(challenger, Learner) or not isinstance(trial, dict) or set(trial) != {"end", "losses"}:
            raise ValueError("a challenger must be a Learner, with its trial")
        own, end, losses = self.current, trial["end"], trial["losses"]
        alike = ("task", "dtype", "sparse", "n_features", "t", "n_outputs", "budget")
        if any(getattr(own, name) != getattr(challenger, name) for name in alike):
            raise ValueError("the challenger must be a learner like the incumbent")
        if not isinstance(end, np.ndarray) or end.dtype != np.int64 or end.shape != (1,):
            raise ValueError("the end of a trial must be a whole number")
        check_number("the end of a trial", int(end[0]), at_least=self.t + 1, integer=True)
        check_number("the end of a trial", int(end[0]), at_most=self.t + stages.LONGEST_TRIAL, integer=True)
        self.trial = Trial(challenger, int(end[0]), check_losses(losses, (2, np.shape(losses)[-1])))
