"""A learner whose width, or λ, the first rows of its stream choose (:mod:`onkel.choice.first_rows` says how)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from onkel.choice.competition import Competition
from onkel.choice.first_rows import Choice, FirstRows
from onkel.choice.relevances import FIRST
from onkel.contents import Contents
from onkel.learner import Array, Csr, Floats, Learner
from onkel.parts import RBF, GaussianPrior, Hedge, Kernel, SecondOrder
from onkel.state import Stateful
from onkel.utils.turns import in_turn
from onkel.utils.validation import check_choice, check_flag


class ChoosingLearner(Stateful):
    """An object around a learner, with the same verbs: it keeps the first rows, and replaces the learner as they ask.

    Parameters
    ----------
    learner : Learner
        It has learned nothing yet. What is chosen takes the place of its own.
    chosen : collection of {"gamma", "lam", "relevances", "kernel"}
        "gamma" is the width of a gaussian kernel, "lam" the λ of a second-order learner's prior, "relevances" those of
        the features, "kernel" whether the relevances' kernel is gaussian or, in regression, Laplacian.

    Attributes
    ----------
    current : Learner
        The learner with what is chosen so far.

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
        made = isinstance(learner.kernel, RBF | Hedge) if started else isinstance(learner.kernel, RBF)
        if "gamma" in chosen and not made:
            raise ValueError(f"gamma='stream' chooses the width of kernel 'rbf', and the kernel is {learner.kernel!r}")
        if "relevances" in chosen and "gamma" not in chosen:
            raise ValueError("relevances='stream' are chosen with a width: gamma must be 'stream', too")
        if "lam" in chosen and not isinstance(learner.recipe, SecondOrder):
            raise ValueError(
                f"lam='stream' chooses the λ of a SecondOrder recipe, and the recipe is {learner.recipe!r}"
            )
        self.current = learner
        self.chosen = tuple(chosen)
        self.first: FirstRows | None = None  # kept until the last choice
        self.complete = False  # the last choice was made

    # -- rows ----------------------------------------------------------------------------------------------------------

    def learn(self, x: ArrayLike, y: float) -> None:
        """Learn from one row."""
        if self.complete:
            self.current.learn(x, y)
        else:
            row = np.ascontiguousarray(x, dtype=self.current.dtype)
            self.learn_rows(row[None], np.array([y], dtype=np.float64))

    @in_turn  # the rows that are kept are those that were learned from
    def learn_rows(
        self, X: Array, y: Floats, weight: Floats | None = None, *, scores: bool = False, block_rows: int = 48
    ) -> Floats | None:
        """Learn from rows in order; with ``scores`` return each row's scores made before learning from it."""
        pieces: list[Floats | None] = []
        counts = np.ones(len(y), bool) if weight is None else weight != 0
        begin = 0
        while not self.complete and begin < len(y):
            wanted = self._kept_for(X).until_choice
            ahead = np.flatnonzero(counts[begin:])[:wanted]
            full = len(ahead) == wanted
            piece = slice(begin, begin + int(ahead[-1]) + 1 if full else len(y))
            part = None if weight is None else weight[piece]
            pieces.append(self._learn_and_keep(X[piece], y[piece], part, scores, block_rows))
            if full:
                self._choose()
            begin = piece.stop
        if begin < len(y) or not len(y):
            rest = None if weight is None else weight[begin:]
            pieces.append(self.current.learn_rows(X[begin:], y[begin:], rest, scores=scores, block_rows=block_rows))
        arrays = [piece for piece in pieces if piece is not None]
        if not scores:
            return None
        width = max(piece.shape[1] for piece in arrays)
        return np.concatenate([np.pad(piece, ((0, 0), (0, width - piece.shape[1]))) for piece in arrays])

    def _kept_for(self, X: Any) -> FirstRows:
        """The rows that are kept, of which there may be none yet."""
        if self.first is None:
            self.current.started_for(X)
            shape, dtype = (0, X.shape[1]), self.current.dtype
            rows = csr_array(shape, dtype=dtype) if self.current.sparse else np.empty(shape, dtype)
            self.first = FirstRows(rows, np.empty(0), np.empty(0))
        return self.first

    def _learn_and_keep(self, X: Array, y: Floats, weight: Floats | None, scores: bool, block_rows: int) -> Any:
        assert self.first is not None
        learner, before = self.current, self.current.t
        try:
            return learner.learn_rows(X, y, weight, scores=scores, block_rows=block_rows)
        finally:  # also after an interruption: what was learned from is kept, no more and no less
            weight = np.ones(len(y)) if weight is None else weight
            learned = np.flatnonzero(weight)[: learner.t - before]
            rows = csr_array(X, dtype=learner.dtype) if learner.sparse else learner.as_core_rows(X)
            self.first = self.first.extended(rows[learned], y[learned], weight[learned])

    def _choose(self) -> None:
        """Start anew with the kernel and the λ that the rows so far ask for."""
        first, own = self.first, self.current
        assert first is not None
        n_classes = own.n_outputs if own.task == "multiclass" else 1
        competition = Competition(own, first, n_classes)
        kernel, lam = self._chosen(competition, first)
        if first.complete:
            self.first, self.complete = None, True
        recipe = own.recipe
        if isinstance(recipe, SecondOrder):
            recipe = replace(recipe, prior=GaussianPrior(lam))
        if kernel == own.kernel and recipe == own.recipe:
            return
        fresh = own.blank(recipe=recipe, kernel=kernel, n_classes=n_classes)
        fresh.learn_rows(first.rows, first.y, first.weight)
        self.current = fresh

    def _chosen(self, competition: Competition, first: FirstRows) -> tuple[Kernel, float]:
        """The kernel, or the sum of two, and the λ."""
        own = self.current
        relevances = np.ones(first.rows.shape[1])
        if "relevances" in self.chosen and first.compete:
            relevances = competition.start(relevances)

        def gaussian(choice: Choice) -> RBF:
            return RBF(choice.gamma) if (relevances == 1).all() else RBF(choice.gamma, tuple(relevances.tolist()))

        def kernel_at(choice: Choice) -> Kernel:
            return gaussian(choice) if "gamma" in self.chosen else own.kernel

        lam = GaussianPrior().lam if "lam" in self.chosen else competition.lam
        width = competition.middle(relevances) if "gamma" in self.chosen else 1.0
        before = own.kernels[0]
        last = None
        if isinstance(before, RBF) and (before.relevances_of(len(relevances)) == relevances).all():
            last = Choice(before.gamma, competition.lam)
        choice = first.best(
            Choice(width, lam), self.chosen, lambda choice: competition.losses_of(kernel_at(choice), choice.lam), last
        )
        isotropic = kernel_at(choice)
        if "relevances" not in self.chosen or len(first) < FIRST:
            return isotropic, choice.lam
        learned = competition.learned(gaussian(choice), choice.lam, None if "kernel" in self.chosen else RBF)
        if learned is None:
            return isotropic, choice.lam
        if isinstance(own.recipe, SecondOrder):  # the rows to come decide how much each of them counts
            return Hedge((isotropic, learned), "sum", start=len(first)), choice.lam
        return min((isotropic, learned), key=lambda kernel: competition.loss_of(kernel, choice.lam)), choice.lam

    def learn_csr(self, rows: Csr, y: Floats, weight: Floats | None = None, *, scores: bool = False) -> Floats | None:
        """Learn from sparse rows as the core takes them (see `Learner.learn_csr`)."""
        if self.complete:
            return self.current.learn_csr(rows, y, weight, scores=scores)
        matrix = csr_array(rows, shape=(len(rows[2]) - 1, self.current.n_features))
        return self.learn_rows(matrix, y, weight, scores=scores)

    def reach(self, n_features: int) -> None:
        """Take sparse rows of so many features from now on (see `Learner.reach`)."""
        self.current.reach(n_features)
        if self.first is not None and self.first.rows.shape[1] < n_features:
            self.first = self.first.widened(n_features)

    def score(self, x: ArrayLike) -> float | Floats:
        """Return the decision value of one row; with several classes one value a class."""
        return self.current.score(x)

    def score_rows(self, X: Array, *, each: bool = False, block_rows: int = 48) -> Floats:
        """Return the scores of rows, one column an output."""
        return self.current.score_rows(X, each=each, block_rows=block_rows)

    def score_csr(self, rows: Csr) -> Floats:
        """Return the scores of sparse rows as the core takes them."""
        return self.current.score_csr(rows)

    def flush(self) -> None:
        """End a mini-batch under way."""
        self.current.flush()

    # -- facts and state -----------------------------------------------------------------------------------------------

    @property
    def t(self) -> int:
        """Rows learned from so far."""
        return self.current.t

    @property
    def nbytes(self) -> int:
        """Bytes of the model, and of the rows that are kept."""
        return self.current.nbytes + sum(part.nbytes for part in self._kept_arrays().values())

    def _kept_arrays(self) -> dict[str, NDArray[Any]]:
        return {} if self.first is None else self.first.arrays()

    def state(self) -> dict[str, Array]:
        """Return everything learned so far as named arrays (empty before the first row)."""
        return self.current.state() | {f"first.{name}": values for name, values in self._kept_arrays().items()}

    def __onkel_contents__(self) -> Contents:
        contents: Contents = self.current.__onkel_contents__()
        return replace(contents, estimator=self)

    def __onkel_with_learner__(self, learner: Learner) -> Learner:
        return learner  # whose function has its width

    def __repr__(self) -> str:
        return f"ChoosingLearner({self.current!r}, {list(self.chosen)!r})"

    def _saved_fields(self) -> dict[str, Any]:
        kept = self._kept_arrays() if self.first is not None else None
        return {"current": self.current, "chosen": list(self.chosen), "complete": self.complete, "first": kept}

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
        if kept is not None:
            choosing.first = FirstRows.from_arrays(kept, learner)
        if (kept is None) != (complete or learner.n_features is None):
            raise ValueError("the first rows must be there from the first row on, until the last choice")
        return choosing
