"""The one place where rows are learned from and choices are made: what estimators and River's classes share."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.choice.choosing import StreamChoice
from onkel.choice.rows import Rows
from onkel.learner import Csr, Learner
from onkel.utils.turns import turn_of

Array = NDArray[Any]
Floats = NDArray[np.float64]


class LearnerHolder:
    """A model that holds a learner and, where the stream chooses something about it, the choice.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> model = LearnerHolder()
    >>> model._begin_with(onkel.Learner(onkel.recipes.OGD()), ["gamma"])
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> model._learn_rows(X, np.float64(X[:, 0] > 0))
    >>> model._learner.t, model._learner.kernel.gamma < 1
    (300, True)
    """

    _learner: Learner
    _choice: StreamChoice | None = None

    def _begin_with(self, learner: Learner, chosen: Collection[str], budget: int | None = None) -> None:
        """Hold a learner that has learned nothing yet; the stream is to choose what `chosen` names, with so many points
        of all experts together."""
        self._learner = learner
        if chosen:
            self._choice = StreamChoice(learner, chosen, budget)

    def _check_choosable(self, rows: Any) -> None:
        """Refuse rows for which the stream cannot choose what it is to choose, before anything changes."""
        if self._choice is not None:
            self._choice.check(rows)

    def _learn_rows(
        self, X: Any, y: Floats, weight: Floats | None = None, *, scores: bool = False, into: Floats | None = None
    ) -> Floats | None:
        """Learn from rows in order, and choose what is due on the way; with ``scores`` return each row's scores from
        before it was learned from. ``into`` receives them, also where the call is interrupted: it is left alone then.
        """
        if into is None and (self._choice is None or self._choice.complete):
            return self._learner.learn_rows(X, y, weight, scores=scores)
        with turn_of(self):  # the rows kept must be those that were learned from
            self._learner.started_for(X)
            rows = self._learner.as_core_rows(X)
            if self._choice is None or self._choice.complete:
                self._learner.learn_prepared(rows, y, weight, into=into)
                return into
            return self._learn_and_choose(rows, y, weight, scores, into)

    def _learn_csr(self, rows: Csr, y: Floats, weight: Floats | None = None, *, scores: bool = False) -> Floats | None:
        """Learn from sparse rows as the core takes them (see `Learner.learn_csr`)."""
        if self._choice is None or self._choice.complete:
            return self._learner.learn_csr(rows, y, weight, scores=scores)
        with turn_of(self):
            return self._learn_and_choose(rows, y, weight, scores)

    def _learn_and_choose(
        self, rows: Array | Csr, y: Floats, weight: Floats | None, scores: bool, into: Floats | None = None
    ) -> Floats | None:
        predicted = self._learner.room_for_scores(y, weight) if scores and into is None else into
        counting = None if weight is None else np.flatnonzero(weight)
        begin = 0
        while True:
            choice = self._choose()  # also what an interrupted call has left to be done
            if begin == len(y):
                return predicted
            end = len(y) if choice.complete else self._end(choice, begin, counting, len(y))
            if choice.is_due(self._learner):  # what an interruption has undone
                continue
            piece = rows if end - begin == len(y) else _between(rows, begin, end)
            own = None if weight is None else weight[begin:end]
            received = None if predicted is None else predicted[begin:end]
            self._learn_piece(choice, piece, y[begin:end], own, received, shared=into is not None)
            begin = end

    def _choose(self) -> StreamChoice:
        """Do what is due; return the choice that goes on."""
        assert self._choice is not None
        if not self._choice.complete and self._choice.is_due(self._learner):
            learner, choice = self._choice.act(self._learner)
            self.__dict__.update(_learner=learner, _choice=choice)  # at once, whatever interrupts
        return self._choice

    def _choose_what_is_left(self) -> None:
        """Do what an interrupted call has left to be done."""
        if self._choice is not None:
            with turn_of(self):
                self._choose()

    def _end(self, choice: StreamChoice, begin: int, counting: NDArray[np.intp] | None, n: int) -> int:
        """Let the choice do what the rows from `begin` on carry; return where something is due. `counting` are the
        places of those that count, None means all."""
        if counting is None:
            return begin + choice.carry(self._learner, n - begin)
        first = int(np.searchsorted(counting, begin))
        if first == len(counting):
            return n
        return int(counting[first + choice.carry(self._learner, len(counting) - first) - 1]) + 1

    def _learn_piece(
        self,
        choice: StreamChoice,
        rows: Array | Csr,
        y: Floats,
        weight: Floats | None,
        into: Floats | None,
        shared: bool,
    ) -> None:
        """Learn from rows during which nothing is due; ``shared`` says that the choice may keep ``into``."""
        observed = None
        if not choice.ignores(self._learner.t):
            observed = choice.expect(self._learner, rows, y, weight, into if shared else None)
        self._learner.learn_prepared(rows, y, weight, into=into if observed is None else observed)
        if observed is not None and into is not None and observed is not into:
            into[:, : observed.shape[1]] = observed

    def _choose_ahead(self, rows: Any, y: Floats, weight: Floats | None, n_rows: int) -> None:
        """Choose on some rows before any of ``n_rows`` is learned from, which come in no order."""
        if self._choice is not None:
            counting = np.ones(len(y)) if weight is None else weight
            learner, choice = self._choice.ahead(self._learner, Rows(rows, y, counting), n_rows)
            self.__dict__.update(_learner=learner, _choice=choice)  # at once, whatever interrupts

    def _reach(self, n_features: int) -> None:
        """Accept sparse rows with this number of features from now on (see `Learner.reach`)."""
        if n_features > (self._learner.n_features or 0):
            if self._choice is not None:
                self._choice.reach(self._learner, n_features)
            self._learner.reach(n_features)

    @property
    def _settled(self) -> StreamChoice | None:
        """The choice, with all rows taken in."""
        return None if self._choice is None else self._choice.settled(self._learner)

    def _fingerprint(self) -> str:
        """A hash of all that was learned: equal exactly when every bit of it is."""
        choice = self._settled
        return self._learner.fingerprint() + ("" if choice is None else choice.fingerprint())

    @property
    def _nbytes(self) -> int:
        """Bytes of the learner, of the rows kept, and of a challenger."""
        choice = self._settled
        return self._learner.nbytes + (0 if choice is None else choice.nbytes)


def answer_at_once(model: LearnerHolder) -> None:
    """Put to use what is being chosen, where no more rows will come to carry the work."""
    with turn_of(model):
        while model._choice is not None and model._choice.job is not None:
            learner, choice = model._choice.at_once(model._learner)
            model.__dict__.update(_learner=learner, _choice=choice)


def _between(rows: Array | Csr, begin: int, end: int) -> Array | Csr:
    """Some of the rows, in the core's format."""
    if not isinstance(rows, tuple):
        return rows[begin:end]
    values, features, offsets = rows
    part = slice(int(offsets[begin]), int(offsets[end]))
    return values[part], features[part], offsets[begin : end + 1] - offsets[begin]
