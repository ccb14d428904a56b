"""The thin learner: rows in, scores out, without scikit-learn's validation. The estimators stand on it."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from onkel import _core
from onkel.utils.validation import check_choice, check_flag, check_number, check_sparse_width
from onkel.parts import (
    RBF,
    CallableKernel,
    FirstOrder,
    GaussianPrior,
    GrowingDictionary,
    Hedge,
    Kernel,
    LogLoss,
    MoveIntoFeatures,
    Recipe,
    SecondOrder,
    SquaredError,
    Stop,
    kernel_named,
)
from onkel.choice.first_rows import BUDGETS, Choice, FirstRows, loss_of

Array = NDArray[Any]
Csr = tuple[Array, NDArray[np.int32], NDArray[np.int64]]
UNBOUNDED = 2**62


class Learner:
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
    gamma : float or "stream", default=1.0
        "stream" chooses the width of kernel "rbf" on the first 4096 rows (see :mod:`onkel.choice.first_rows`).
    lam : "stream", default=None
        "stream" chooses the λ of a Newton step in the same way; None is the recipe's own.
    degree : int, default=3
    coef0 : float, default=0.0
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

    def __init__(
        self,
        recipe: Recipe,
        *,
        task: str = "binary",
        kernel: str | Kernel | Callable[[Any, Any], Any] = "rbf",
        gamma: float | str = 1.0,
        lam: str | None = None,
        degree: int = 3,
        coef0: float = 0.0,
        budget: int | None = None,
        average: bool | None = None,
        fit_intercept: bool = False,
        n_classes: int = 1,
        dtype: str = "float64",
        seed: int = 0,
        n_jobs: int = 1,
    ) -> None:
        if not isinstance(recipe, Recipe):
            raise ValueError(f"recipe must be a Recipe, for example onkel.recipes.SPA(), got {recipe!r}")
        check_choice("task", task, ("binary", "multiclass", "regression"))
        check_choice("dtype", dtype, ("float64", "float32"))
        check_flag("fit_intercept", fit_intercept)
        check_number("n_classes", n_classes, at_least=1, at_most=2**20, integer=True)
        check_number("n_jobs", n_jobs, at_least=1, integer=True)
        check_number("seed", seed, at_least=0, at_most=2**64 - 1, integer=True)
        if budget is not None:
            check_number("budget", budget, at_least=1, integer=True)
        if average is not None:
            check_flag("average", average)
        if recipe.loss.regression != (task == "regression"):
            raise ValueError(f"loss {recipe.loss.name!r} does not fit task {task!r}")
        self._first: FirstRows | None = None  # kept while something is being chosen on them
        if isinstance(gamma, str):
            check_choice("gamma", gamma, ("stream",))
            if kernel != "rbf" and not isinstance(kernel, RBF):
                raise ValueError(f"gamma='stream' chooses the width of kernel 'rbf', and the kernel is {kernel!r}")
            self.gamma = gamma
            gamma = 1.0
        if lam is not None:
            check_choice("lam", lam, ("stream",))
            if not isinstance(recipe, SecondOrder):
                raise ValueError(f"lam='stream' chooses the λ of a SecondOrder recipe, and the recipe is {recipe!r}")
            self.lam = lam
        self._chooses = bool(self._chosen)  # it will, from the first row on
        made = kernel_named(kernel, gamma=gamma, degree=degree, coef0=coef0)
        eviction = recipe.eviction if isinstance(recipe, FirstOrder) else Stop()
        for each in made.kernels if isinstance(made, Hedge) else (made,):
            if eviction.needs_gaussian and not isinstance(each, RBF):
                raise ValueError(f"{type(eviction).__name__} needs the gaussian kernel, and the kernel is {each.name}")
        if isinstance(made, Hedge):
            if isinstance(eviction, MoveIntoFeatures):
                raise ValueError("MoveIntoFeatures makes features of one kernel, and there are several kernels")
            if budget is not None and budget < len(made.kernels) and not made.shares_budget:
                raise ValueError(
                    f"budget must be at least {len(made.kernels)}, one support vector for each kernel, got {budget}"
                )
        self.recipe = recipe
        self.task = task
        self.kernel = made
        self.budget = budget
        # Several kernels vote with their last functions, as in the paper.
        self.average = recipe.average and not isinstance(made, Hedge) if average is None else bool(average)
        self.fit_intercept = bool(fit_intercept)
        self.n_classes = n_classes
        self.dtype = dtype
        self.seed = int(seed)
        self.n_jobs = n_jobs
        self.n_features: int | None = None
        self.sparse = False
        self._core: _core.Learner | None = None

    # -- learning -----------------------------------------------------------------------------------------------------

    def learn(self, x: ArrayLike, y: float) -> None:
        """Learn from one row."""
        if self._core is not None and self._first is None:
            try:
                return self._core.learn_one(x, y)  # type: ignore[call-overload,no-any-return]
            except TypeError:  # not an array of this learner's type: convert and try again
                pass
        row = np.ascontiguousarray(x, dtype=self.dtype)
        if self.sparse or self._chosen:
            self.learn_rows(row[None], np.array([y], dtype=np.float64))
        else:
            self._started(row.shape[-1]).learn_one(row, y)

    def score(self, x: ArrayLike) -> float | NDArray[np.float64]:
        """Return the decision value of one row; with several classes one value a class."""
        row = np.ascontiguousarray(x, dtype=self.dtype)
        scores = self.score_rows(row[None])[0]
        return scores if self.task == "multiclass" else float(scores[0])

    def learn_rows(
        self,
        X: Array,
        y: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        *,
        scores: bool = False,
        block_rows: int = 48,
    ) -> NDArray[np.float64] | None:
        """Learn from rows in order; with ``scores`` return each row's scores made before learning from it."""
        core = self._started_for(X)
        if self._first is not None:
            return self._learn_first_rows(X, y, weight, scores, block_rows)
        return core.learn(self._rows(X), y, weight, scores, self.n_jobs, block_rows)

    def _learn_first_rows(
        self, X: Array, y: NDArray[np.float64], weight: NDArray[np.float64] | None, scores: bool, block_rows: int
    ) -> NDArray[np.float64] | None:
        """Learn while the width or λ is being chosen: up to the next choice, and so on."""
        made: list[NDArray[np.float64]] = []
        counts = np.ones(len(y), bool) if weight is None else weight != 0
        begin = 0
        while self._first is not None and begin < len(y):
            ahead = np.flatnonzero(counts[begin:])[: self._first.until_choice]
            full = len(ahead) == self._first.until_choice
            piece = slice(begin, begin + int(ahead[-1]) + 1 if full else len(y))
            part = self._learn_piece(X[piece], y[piece], None if weight is None else weight[piece], scores, block_rows)
            made += [] if part is None else [part]
            if full:
                self._choose()
            begin = piece.stop
        if begin < len(y):
            rest = None if weight is None else weight[begin:]
            part = self.learn_rows(X[begin:], y[begin:], rest, scores=scores, block_rows=block_rows)
            made += [] if part is None else [part]
        if not scores:
            return None
        width = max(part.shape[1] for part in made)
        return np.concatenate([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in made])

    def _learn_piece(
        self, X: Array, y: NDArray[np.float64], weight: NDArray[np.float64] | None, scores: bool, block_rows: int
    ) -> NDArray[np.float64] | None:
        assert self._core is not None
        assert self._first is not None
        before = self._core.t
        try:
            return self._core.learn(self._rows(X), y, weight, scores, self.n_jobs, block_rows)
        finally:  # also after an interruption: what was learned from is kept, no more and no less
            weight = np.ones(len(y)) if weight is None else weight
            learned = np.flatnonzero(weight)[: self._core.t - before]
            rows = csr_array(X, dtype=self.dtype) if self.sparse else self._rows(X)
            self._first = self._first.extended(rows[learned], y[learned], weight[learned])

    def _choose(self) -> None:
        """Start anew with the width and the λ that the rows so far ask for."""
        first, n_classes = self._first, self.n_outputs
        assert first is not None
        regression, loss = self.task == "regression", loss_of(self.task)
        own = self.recipe
        rival_recipe = own if isinstance(own, SecondOrder) else _second_order(self.task)
        most = BUDGETS[rival_recipe is own]

        def kernel_at(choice: Choice) -> Kernel:
            return RBF(choice.gamma) if "gamma" in self._chosen else self.kernel

        def losses_at(choice: Choice) -> NDArray[np.float64]:
            rival = Learner(
                replace(rival_recipe, loss=SquaredError() if regression else LogLoss(), prior=GaussianPrior(choice.lam)),
                task=self.task,
                kernel=kernel_at(choice),
                budget=most if self.budget is None else min(most, self.budget),
                fit_intercept=True,
                n_classes=n_classes,
                dtype=self.dtype,
                seed=self.seed,
            )
            scores = rival.learn_rows(first.rows, first.y, first.weight, scores=True)
            assert scores is not None
            return loss(scores, first.y)

        last = Choice(getattr(self.kernel, "gamma", 1.0), rival_recipe.prior.lam)
        start = last._replace(lam=GaussianPrior().lam) if "lam" in self._chosen else last
        choice = first.best(start, self._chosen, losses_at)
        if first.complete:
            self._first = None
        if choice == last:
            return
        fresh = self.blank(
            recipe=replace(own, prior=GaussianPrior(choice.lam)) if isinstance(own, SecondOrder) else own,
            kernel=kernel_at(choice),
            n_classes=n_classes if self.task == "multiclass" else 1,
        )
        fresh.learn_rows(first.rows, first.y, first.weight)
        self.recipe, self.kernel, self._core = fresh.recipe, fresh.kernel, fresh._core

    def score_rows(self, X: Array, *, each: bool = False, block_rows: int = 48) -> NDArray[np.float64]:
        """Return the scores of rows, one column an output; with ``each`` so many columns for each kernel."""
        core = self._started_for(X)
        return core.score(self._rows(X), each, self.n_jobs, block_rows)

    # -- sparse rows of which nothing is converted: (values, features, offsets), as the core takes them

    def learn_csr(
        self, rows: Csr, y: NDArray[np.float64], weight: NDArray[np.float64] | None = None, *, scores: bool = False
    ) -> NDArray[np.float64] | None:
        """Learn from sparse rows in order; the learner must have reached their features (see `reach`)."""
        if self._first is not None or self._chooses:
            return self.learn_rows(self._matrix(rows), y, weight, scores=scores)
        assert self._core is not None
        return self._core.learn(rows, y, weight, scores, self.n_jobs, 48)

    def score_csr(self, rows: Csr) -> NDArray[np.float64]:
        """Return the scores of sparse rows, one column an output."""
        assert self._core is not None
        return self._core.score(rows, False, self.n_jobs, 48)

    def _matrix(self, rows: Csr) -> csr_array:
        return csr_array(rows, shape=(len(rows[2]) - 1, self.n_features))

    def reach(self, n_features: int) -> None:
        """Take sparse rows of so many features from now on; those that no row had yet were 0."""
        if self._core is None:
            self._started(n_features, sparse=True)
        elif n_features > (self.n_features or 0):
            wider = self.blank()
            wider._load(self.state(), n_features, sparse=True)
            self._core, self._first, self.n_features = wider._core, wider._first, n_features

    def variance_rows(self, X: Array) -> tuple[NDArray[np.float64], float]:
        """Return how uncertain the last function is at rows, in units of the noise's variance, and that variance.

        For second-order recipes only.
        """
        core = self._started_for(X)
        return core.variance(self._rows(X)), core.noise_variance

    def flush(self) -> None:
        """End a mini-batch under way."""
        if self._core is not None:
            self._core.flush()

    def _rows(self, X: Any) -> Any:
        """Rows as the core takes them, in the container and type that the first call fixed."""
        if not self.sparse:
            return np.ascontiguousarray(X.toarray() if issparse(X) else X, dtype=self.dtype)
        rows = csr_array(X, dtype=self.dtype)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int64, copy=False)

    def _started_for(self, X: Any) -> _core.Learner:
        if issparse(X):
            check_sparse_width(X.shape[1])
        return self._started(X.shape[1], sparse=issparse(X))

    def _started(self, n_features: int, sparse: bool = False) -> _core.Learner:
        if self._core is None:
            self.n_features = n_features
            kernels = self.kernels
            self.sparse = sparse and not any(isinstance(kernel, CallableKernel) for kernel in kernels)
            if self._chooses:
                none = (
                    csr_array((0, n_features), dtype=self.dtype)
                    if self.sparse
                    else np.empty((0, n_features), self.dtype)
                )
                self._first = FirstRows(none, np.empty(0), np.empty(0))
                self._chooses = False
            self._core = _core.Learner(
                recipe=self.recipe.spec,
                kernels=list(zip(self._streams, [kernel.alone for kernel in kernels], strict=True)),
                hedge=self.kernel.hedge if isinstance(self.kernel, Hedge) else None,
                task=self.task,
                dtype=self.dtype,
                sparse=self.sparse,
                n_features=n_features,
                n_outputs=self.n_classes if self.task == "multiclass" else 1,
                budget=self._budget_size,
                average=self.average,
                constant=self.fit_intercept,
                seed=self.seed,
            )
        return self._core

    @property
    def _chosen(self) -> list[str]:
        """What is chosen on the first rows."""
        return [name for name in ("gamma", "lam") if hasattr(self, name)]

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels: one, or those of a hedge."""
        return self.kernel.kernels if isinstance(self.kernel, Hedge) else (self.kernel,)

    @property
    def _streams(self) -> tuple[int, ...]:
        return self.kernel.streams if isinstance(self.kernel, Hedge) else (0,)

    @property
    def _budget_size(self) -> int:
        """The budget of all kernels together, or of each."""
        if self.budget is None:
            return UNBOUNDED
        divided = isinstance(self.kernel, Hedge) and not self.kernel.shares_budget
        return self.budget // len(self.kernels) if divided else self.budget

    # -- the model ----------------------------------------------------------------------------------------------------

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
        kept = 0 if self._first is None else sum(part.nbytes for part in self._first.arrays().values())
        return 0 if self._core is None else self._core.nbytes + kept

    @property
    def norm(self) -> float:
        """RKHS norm of the last function."""
        return 0.0 if self._core is None else self._core.norm

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """Coefficients of the predicting function, ``(n_outputs, n_support)``."""
        return np.empty((1, 0)) if self._core is None else self._core.coefficients

    @property
    def constants(self) -> NDArray[np.float64]:
        """The constant terms of the predicting function, one an output (0 without ``fit_intercept``)."""
        if self._core is None or not self.fit_intercept:
            return np.zeros(max(1, self.n_outputs))
        return self._core.constants

    @property
    def random_features(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Frequencies, phases and coefficients of the random Fourier features that a budget rule keeps; else empty."""
        if self._core is None or not isinstance(getattr(self.recipe, "eviction", None), MoveIntoFeatures):
            return np.empty((0, self.n_features or 0)), np.empty(0), np.empty((0, 0))
        return self._core.random_features

    def support(self) -> tuple[Any, NDArray[np.int64]]:
        """Return the support vectors (dense or CSR, as the rows came) and their positions in the stream."""
        state = self.state()
        births = state.get("basis.births", np.empty(0)).astype(np.int64)
        shape = len(births), self.n_features or 0
        if self.sparse:
            parts = (state["basis.values"], state["basis.features"], state["basis.offsets"])
            points = csr_array(parts, shape=shape)
        else:
            points = state.get("basis.points", np.empty(0, self.dtype)).reshape(shape)
        return points[births >= 0], births[births >= 0]

    # -- several kernels ----------------------------------------------------------------------------------------------

    @property
    def kernel_weights(self) -> NDArray[np.float64]:
        """Weights θ of the kernels' votes."""
        n = len(self.kernels)
        return np.full(n, 1 / n) if self._core is None else self._core.weights

    @property
    def kernel_weights_history(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Numbers of rows, and the weights after so many."""
        if self._core is None:
            return np.empty(0, np.int64), np.empty((0, len(self.kernels)))
        return self._core.weight_history

    @property
    def n_support_per_kernel(self) -> NDArray[np.int64]:
        """Number of support vectors of each kernel."""
        return np.zeros(len(self.kernels), np.int64) if self._core is None else np.array(self._core.sizes, np.int64)

    def keep_kernels(self, chosen: list[int]) -> None:
        """Go on with some of the kernels only."""
        assert isinstance(self.kernel, Hedge)
        kept = self.kernel.only(chosen)
        if self._core is not None:
            self._core.keep(chosen)
        if self.budget is not None and not kept.shares_budget:
            self.budget = self._budget_size * len(chosen)
        self.kernel = kept

    # -- expansions ---------------------------------------------------------------------------------------------------

    def set_expansion(
        self,
        points: Any,
        births: NDArray[np.int64],
        coefficients: NDArray[np.float64],
        constants: NDArray[np.float64],
        t: int,
    ) -> None:
        """Forget everything and go on from ``sum_i coefficients[:, i] k(points[i], .) + constants``.

        It becomes the last function, and counts for the average as if all ``t`` functions so far had been the same.
        """
        self._chooses = False  # the function has its width
        core = self._started(points.shape[1], sparse=issparse(points))
        self._first = None
        core.set_expansion(
            self._rows(points),
            np.ascontiguousarray(births, dtype=np.int64),
            np.ascontiguousarray(coefficients, dtype=np.float64),
            np.ascontiguousarray(constants, dtype=np.float64),
            t,
        )

    def compress(self, eps: float, n_support: int) -> float:
        """Drop points by KOMP within the distance ``eps``, and on to ``n_support``; return the distance moved.

        For a learner with the budget rule Stop and without average: others keep more than the function.
        """
        return 0.0 if self._core is None else self._core.compress(eps, n_support)

    def blank(self, **changes: Any) -> Learner:
        """Return a learner with the same settings (but for ``changes``) that has learned nothing."""
        made = object.__new__(Learner)
        vars(made).update({**vars(self), "_core": None, "_first": None, "_chooses": False, **changes})
        return made

    # -- persistence --------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Array]:
        """Return everything learned so far as named arrays (empty before the first row)."""
        first = {} if self._first is None else self._first.arrays()
        return {} if self._core is None else self._core.save() | first

    def _load(self, state: dict[str, Array], n_features: int, sparse: bool) -> None:
        """Go on from a state of a learner like this one."""
        state = dict(state)
        first = FirstRows.from_arrays(state, n_features, self.dtype) if "first.y" in state else None
        self._started(n_features, sparse).load(state)
        self._first = first
        if first is not None and (not self._chosen or issparse(first.rows) != self.sparse):
            raise ValueError("the state holds first rows, and this learner keeps none like them")
        if first is not None and len(first) != self.t:
            raise ValueError(f"the state holds {len(first)} first rows after {self.t} rows")

    def fingerprint(self) -> str:
        """Return a hash of the state: equal exactly when every bit of it is."""
        digest = hashlib.sha256()
        for name, values in sorted(self.state().items()):
            digest.update(f"{name} {values.dtype.str} {values.shape};".encode())
            digest.update(values.tobytes())
        return digest.hexdigest()

    def _saved_fields(self) -> dict[str, Any]:
        made_of = [name for name in inspect.signature(type(self)).parameters if name in vars(self)]
        # how many threads is the machine's business, not the model's
        names = [name for name in made_of if name != "n_jobs"]
        return {**{name: getattr(self, name) for name in (*names, "n_features", "sparse")}, "state": self.state()}

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
            raise ValueError("there must be a state when, and only when, the number of features is known")
        if state:
            made._load(state, n_features, sparse)
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_core": None, "_first": None, "state": self.state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        state = saved.pop("state")
        vars(self).update(saved)
        if state:
            assert self.n_features is not None
            self._load(state, self.n_features, self.sparse)


def _second_order(task: str) -> SecondOrder:
    """The learners that compete for the width of another kind of learner."""
    regression = task == "regression"
    loss = SquaredError() if regression else LogLoss()
    return SecondOrder(loss, dictionary=GrowingDictionary(min_slope=0.0 if regression else 0.1))
