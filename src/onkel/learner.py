"""The thin learner: rows in, scores out, without scikit-learn's validation. The estimators stand on it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel.expansion import Expansion, expansion_of, points_of
from onkel.parts import Hedge, Kernel, Recipe, SecondOrder
from onkel.settings import Settings
from onkel.stateful import Stateful
from onkel.utils.validation import check_flag, check_number

Array = NDArray[Any]
Floats = NDArray[np.float64]
Csr = tuple[Array, NDArray[np.int32], NDArray[np.int64]]


class Learner(Settings, Stateful):
    """A recipe at work on a stream: one row at a time, or many.

    Labels are class indices (0 or 1 for ``task="binary"``) or targets. Rows of another type than the learner's are
    converted; nothing else is checked, so that a call costs microseconds.

    Parameters
    ----------
    recipe : Recipe
        What to learn with, for example ``onkel.recipes.SPA()``.
    task : {"binary", "multiclass", "regression"}
        With "multiclass" the number of classes grows with the labels that appear.
    kernel : str, Kernel or callable, default="rbf"
        Several kernels at once are an `onkel.parts.Hedge`.
    gamma : float, default=1.0
        A width that the stream chooses is an `onkel.choice.ChoosingLearner` around this one.
    degree : int, default=3
    coef0 : float, default=0.0
    relevances : sequence of float, default=None
        What each feature's share of the distance is multiplied by, with the kernels "rbf" and "laplacian".
    budget : int, default=None
        The most support vectors to keep; None for no bound.
    average : bool, default=None
        Predict with the average of all functions so far rather than with the last; None is the recipe's own choice, and
        the last with several kernels.
    fit_intercept : bool, default=False
        Learn a constant term: the kernel becomes ``k + (5/16)^2``.
    n_classes : int, default=1
        With "multiclass": the classes known from the start.
    dtype : {"float64", "float32"}
        Of rows and kernel values; coefficients and scores are float64.
    seed : int, default=0
    n_jobs : int, default=1

    Examples
    --------
    >>> import onkel
    >>> learner = onkel.Learner(onkel.recipes.Perceptron())
    >>> learner.learn([0.0, 1.0], 1)
    >>> learner.score([0.0, 1.0])
    1.0
    >>> learner.n_support
    1
    """

    # -- rows ----------------------------------------------------------------------------------------------------------

    def learn(self, x: ArrayLike, y: float) -> None:
        """Learn from one row."""
        if self._core is not None:
            try:
                return self._core.learn_one(x, y)  # type: ignore[call-overload,no-any-return]
            except TypeError:  # not an array of this learner's type: convert and try again
                pass
        row = np.ascontiguousarray(x, dtype=self.dtype)
        if self.sparse:
            self.learn_rows(row[None], np.array([y], dtype=np.float64))
        else:
            self.started(row.shape[-1]).learn_one(row, y)

    def score(self, x: ArrayLike) -> float | Floats:
        """Return the decision value of one row; with several classes one value a class."""
        scores = self.score_rows(np.ascontiguousarray(x, dtype=self.dtype)[None])[0]
        return scores if self.task == "multiclass" else float(scores[0])

    def learn_rows(
        self, X: Array, y: Floats, weight: Floats | None = None, *, scores: bool = False, block_rows: int = 48
    ) -> Floats | None:
        """Learn from rows in order; with ``scores`` return each row's scores made before learning from it."""
        return self.started_for(X).learn(self.as_core_rows(X), y, weight, scores, self.n_jobs, block_rows)

    def score_rows(self, X: Array, *, each: bool = False, block_rows: int = 48) -> Floats:
        """Return the scores of rows, one column an output; with ``each`` so many columns for each kernel."""
        return self.started_for(X).score(self.as_core_rows(X), each, self.n_jobs, block_rows)

    # Sparse rows of which nothing is converted: (values, features, offsets), as the core takes them.

    def learn_csr(self, rows: Csr, y: Floats, weight: Floats | None = None, *, scores: bool = False) -> Floats | None:
        """Learn from sparse rows in order; the learner must have reached their features (see `reach`)."""
        assert self._core is not None
        return self._core.learn(rows, y, weight, scores, self.n_jobs, 48)

    def score_csr(self, rows: Csr) -> Floats:
        """Return the scores of sparse rows, one column an output."""
        assert self._core is not None
        return self._core.score(rows, False, self.n_jobs, 48)

    def reach(self, n_features: int) -> None:
        """Take sparse rows of so many features from now on; those that no row had yet were 0."""
        if self._core is None:
            self.started(n_features, sparse=True)
        elif n_features > (self.n_features or 0):
            wider = self.blank()
            wider.load_state(self.state(), n_features, sparse=True)
            self._core, self.n_features = wider._core, n_features

    def variance_rows(self, X: Array) -> tuple[Floats, float]:
        """Return how uncertain the last function is at rows, in units of the noise's variance, and that variance.

        For second-order recipes only.
        """
        core = self.started_for(X)
        return core.variance(self.as_core_rows(X)), core.noise_variance

    def flush(self) -> None:
        """End a mini-batch under way."""
        if self._core is not None:
            self._core.flush()

    # -- facts ---------------------------------------------------------------------------------------------------------

    @property
    def current(self) -> Learner:
        """This learner; of a `ChoosingLearner` the one that it has chosen."""
        return self

    @property
    def t(self) -> int:
        """Rows learned from so far."""
        return 0 if self._core is None else self._core.t

    @property
    def n_outputs(self) -> int:
        """Columns of a score: 1, or the number of classes known so far."""
        return 0 if self._core is None else self._core.n_outputs

    @property
    def n_support(self) -> int:
        """Number of support vectors."""
        return 0 if self._core is None else self._core.n_support

    @property
    def nbytes(self) -> int:
        """Bytes of the model."""
        return 0 if self._core is None else self._core.nbytes

    @property
    def norm(self) -> float:
        """RKHS norm of the last function."""
        return 0.0 if self._core is None else self._core.norm

    @property
    def kernel_weights(self) -> Floats:
        """Weights θ of the kernels' votes."""
        if self._core is None or not isinstance(self.kernel, Hedge):
            return np.full(len(self.kernels), 1 / len(self.kernels))
        return self._core.weights

    @property
    def kernel_weights_history(self) -> tuple[NDArray[np.int64], Floats]:
        """Numbers of rows, and the kernels' weights after so many."""
        if self._core is None:
            return np.empty(0, np.int64), np.empty((0, len(self.kernels)))
        return self._core.weight_history

    @property
    def n_support_per_kernel(self) -> NDArray[np.int64]:
        """Number of support vectors of each kernel."""
        return np.zeros(len(self.kernels), np.int64) if self._core is None else np.array(self._core.sizes, np.int64)

    # -- the function --------------------------------------------------------------------------------------------------

    def expansion(self) -> Expansion:
        """Return the function learned so far, as a value of its own."""
        if self.n_features is None:
            raise ValueError("the learner has learned nothing yet: it has no function")
        still = self.blank()  # another thread may be learning: a copy stands still
        still.load_state(self.state(), self.n_features, self.sparse)
        return expansion_of(still.started(self.n_features), self.kernels, self.combination, self.n_features)

    @property
    def combination(self) -> str:
        """How the functions make a prediction: the "sum" of the only one, or the "mean" or the "vote" of several."""
        if not isinstance(self.kernel, Hedge):
            return "sum"
        return "mean" if self.kernel.adds_up or self.task == "regression" else "vote"

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the predicting function, ``(n_kernels * n_outputs, n_support)``."""
        return np.empty((1, 0)) if self._core is None else self._core.coefficients()

    @property
    def constants(self) -> Floats:
        """The constant terms of the predicting function, one an output (0 without ``fit_intercept``)."""
        if self._core is None or not self.fit_intercept:
            return np.zeros(max(1, self.n_outputs))
        return self._core.constants()

    def support(self) -> tuple[Any, NDArray[np.int64]]:
        """Return the support vectors (dense or CSR, as the rows came) and their positions in the stream."""
        if self.n_features is None:
            return np.empty((0, 0), self.dtype), np.empty(0, np.int64)
        points, births, _ = points_of(self.state(), self.n_features)
        return points, births

    def set_expansion(self, expansion: Expansion) -> None:
        """Forget everything and go on from a function of one kernel, the learner's own."""
        expansion = expansion.in_order_of_joining
        term, known = expansion.only, expansion.information
        core = self.started(term.n_features, sparse=term.is_sparse)
        births = np.ascontiguousarray(term.births, dtype=np.int64)
        n_random = len(core.random_features()[1])
        last, average = (coefficients.with_features(n_random).core for coefficients in (term.last, term.average))
        core.set_expansion(self.as_core_rows(term.points), births, last, average, expansion.t)
        if known is not None and core.has_information:
            core.set_information(known.matrix, known.noise, known.steps)

    def add_information(self, expansion: Expansion, weight: float) -> None:
        """Take in what another second-order learner knows, of the same kernel and prior, on points of this span."""
        expansion = expansion.in_order_of_joining
        term, known = expansion.only, expansion.information
        assert self._core is not None
        assert known is not None
        births = np.arange(len(term), dtype=np.int64)
        rows = self.as_core_rows(term.points)
        self._core.add_information(rows, births, term.last.core, known.matrix, known.noise, known.steps, weight)

    def compress(self, eps: float, n_support: int) -> tuple[float, float | None]:
        """Let points leave within the distance ``eps``, and on to ``n_support``.

        For a learner with the eviction Stop and without average: others keep more than the function. Returns the
        distance moved, and by how much the loss of all rows has changed, where the learner can tell.
        """
        self.kernel.check_psd(needed_by="compress")
        if self._core is None:
            return 0.0, None
        if not self._core.has_information and not self.adds_up_knowledge:
            return self._core.compress(eps, n_support), None
        data, rkhs = self._core.eliminate(eps, n_support)
        return rkhs, data**2 / 2

    @property
    def adds_up_knowledge(self) -> bool:
        """Whether it is a sum of second-order learners."""
        return isinstance(self.kernel, Hedge) and self.kernel.adds_up and isinstance(self.recipe, SecondOrder)

    def keep_kernels(self, chosen: list[int]) -> None:
        """Go on with some of the kernels only."""
        assert isinstance(self.kernel, Hedge)
        kept = self.kernel.only(chosen)
        if self._core is not None:
            self._core.keep(chosen)
        if self.budget is not None and not kept.shares_budget:
            self.budget = self.budget_of_a_function * len(chosen)
        self.kernel = kept

    # -- state ---------------------------------------------------------------------------------------------------------

    def blank(self, **changes: Any) -> Learner:
        """Return a learner with the same settings (but for ``changes``) that has learned nothing."""
        made = object.__new__(Learner)
        vars(made).update({**vars(self), "_core": None, **changes})
        return made

    def state(self) -> dict[str, Array]:
        """Return everything learned so far as named arrays (empty before the first row)."""
        return {} if self._core is None else self._core.save()

    def load_state(self, state: dict[str, Array], n_features: int, sparse: bool) -> None:
        """Go on from the state of a learner like this one."""
        core = self.started(n_features, sparse, n_outputs=1)  # as many as the state holds come with it
        core.load(state)
        if self.task == "multiclass" and core.n_outputs < self.n_classes:
            raise ValueError(f"the state has {core.n_outputs} outputs, fewer than the {self.n_classes} classes")

    def _saved_fields(self) -> dict[str, Any]:
        # how many threads is the machine's business, not the model's
        settings = {name: getattr(self, name) for name in (*self.NAMES, "n_features", "sparse")}
        return settings | {"state": self.state()}

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        state, n_features, sparse = fields.pop("state"), fields.pop("n_features"), fields.pop("sparse")
        for name, kind in (("recipe", Recipe), ("kernel", Kernel)):
            if not isinstance(fields[name], kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {fields[name]!r}")
        made = cls(**fields)
        check_flag("sparse", sparse)
        if n_features is not None:
            check_number("n_features", n_features, at_least=1, below=2**31, integer=True)
        if not isinstance(state, dict) or not all(isinstance(values, np.ndarray) for values in state.values()):
            raise ValueError("state must hold arrays")
        if bool(state) != (n_features is not None):
            raise ValueError("a learner has arrays of state if, and only if, its number of features is known")
        if state:
            made.load_state(state, n_features, sparse)
        return made

    def __onkel_contents__(self) -> Any:
        from onkel.contents import Contents

        return Contents(self, self, {name: getattr(self, name) for name in self.NAMES}, self.facts())

    def __onkel_with_learner__(self, learner: Learner) -> Learner:
        return learner

    def facts(self) -> dict[str, Any]:
        """Return what is learned so far, for people to read; nothing before the first row."""
        if self.n_features is None:
            return {}
        return {"n_features": self.n_features, "rows": self.t, "n_support": self.n_support}

    def __repr__(self) -> str:
        return f"Learner({self.recipe!r}, task={self.task!r}, kernel={self.kernel!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_core": None, "state": self.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        state = saved.pop("state")
        vars(self).update(saved)
        if state:
            assert self.n_features is not None
            self.load_state(state, self.n_features, self.sparse)
