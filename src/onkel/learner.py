"""The thin learner: rows in, scores out, without scikit-learn's validation. The estimators stand on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from onkel import _core
from onkel.function import Expansion, expansion_of, expansion_of_experts, points_of
from onkel.parts import CallableKernel, Hedge, Kernel, Recipe, SecondOrder, StreamMemory
from onkel.regions import Condition, Region, described, regions_of
from onkel.settings import Settings
from onkel.utils.digest import Digest
from onkel.utils.turns import in_turn
from onkel.utils.validation import check_flag, check_number, check_sparse_width, n_threads

Array = NDArray[Any]
Floats = NDArray[np.float64]
Csr = tuple[Array, NDArray[np.int32], NDArray[np.int64]]


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
    gamma : float, default=1.0
    degree : int, default=3
    coef0 : float, default=0.0
    relevances : sequence of float, default=None
        What each feature's share of the distance is multiplied by, with the kernels "rbf" and "laplacian".
    ranks : sequence of array-like, default=None
        For each feature numbers, or None: its rank among them is added to it, with the kernels "rbf" and "laplacian".
    budget : int, default=None
        The largest number of support vectors; None means no bound.
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
        Number of threads (-1: one per core); results do not depend on it.

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

    NAMES = tuple(each.name for each in fields(Settings))

    def __init__(
        self,
        recipe: Recipe,
        *,
        task: str = "binary",
        kernel: str | Kernel | Callable[[Any, Any], Any] = "rbf",
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 0.0,
        relevances: Sequence[float] | None = None,
        ranks: Sequence[ArrayLike | None] | None = None,
        budget: int | None = None,
        average: bool | None = None,
        fit_intercept: bool = False,
        n_classes: int = 1,
        dtype: str = "float64",
        seed: int = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.settings = Settings.checked(
            recipe,
            task=task,
            kernel=kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            relevances=relevances,
            ranks=ranks,
            budget=budget,
            average=average,
            fit_intercept=fit_intercept,
            n_classes=n_classes,
            dtype=dtype,
            seed=seed,
        )
        self.n_jobs = n_threads(n_jobs)  # the machine's business, not the model's
        self.in_order = True  # whether rows come in the order of time; a shuffled `fit` has none
        self.n_features: int | None = None
        self.sparse = False
        self._core: _core.Learner | None = None
        self._own: dict[int, Settings] = {}  # what each of several experts was told, in the order of the core's

    # -- settings ------------------------------------------------------------------------------------------------------

    @property
    def recipe(self) -> Recipe:
        """What it learns with."""
        return self.settings.recipe

    @property
    def task(self) -> str:
        """What it predicts."""
        return self.settings.task

    @property
    def kernel(self) -> Kernel:
        """The kernel, or several as an `onkel.parts.Hedge`."""
        return self.settings.kernel

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels: one, or those of a hedge or of several experts."""
        return tuple(own.kernel for own in self._own.values()) or self.settings.kernels

    @property
    def budget(self) -> int | None:
        """The largest number of support vectors."""
        return self.settings.budget

    @property
    def average(self) -> bool:
        """Whether the average of all functions predicts."""
        return self.settings.average

    @property
    def fit_intercept(self) -> bool:
        """Whether there is a constant term."""
        return self.settings.fit_intercept

    @property
    def n_classes(self) -> int:
        """The classes known from the start."""
        return self.settings.n_classes

    @property
    def dtype(self) -> str:
        """That of rows and kernel values."""
        return self.settings.dtype

    @property
    def seed(self) -> int:
        """What random draws are functions of."""
        return self.settings.seed

    def blank(self, *, n_jobs: int | None = None, **changes: Any) -> Self:
        """Return a learner with the same settings (but for ``changes``) that has learned nothing."""
        learner = object.__new__(type(self))
        vars(learner).update(vars(self), settings=replace(self.settings, **changes), _core=None, _own={})
        learner.n_jobs = self.n_jobs if n_jobs is None else n_jobs
        return learner

    # -- rows ----------------------------------------------------------------------------------------------------------

    def learn(self, x: ArrayLike, y: float) -> None:
        """Learn from one row."""
        if self._core is not None and self._core.learn_one(x, y):
            return
        row = np.ascontiguousarray(x, dtype=self.dtype)
        if row.ndim != 1:
            raise ValueError(f"x must be one row, got an array of {row.ndim} dimensions")
        if self.sparse:
            self.learn_rows(row[None], np.array([y], dtype=np.float64))
        else:
            self.started(len(row)).learn_one(row, y)

    def score(self, x: ArrayLike) -> float | Floats:
        """Return the decision value of one row; with several classes one value per class."""
        scores = self.score_rows(np.ascontiguousarray(x, dtype=self.dtype)[None])[0]
        return scores if self.task == "multiclass" else float(scores[0])

    def learn_rows(
        self,
        X: Array,
        y: Floats,
        weight: Floats | None = None,
        *,
        scores: bool = False,
        block_rows: int = 48,
        positions: NDArray[np.int64] | None = None,
    ) -> Floats | None:
        """Learn from rows in order; with ``scores`` return each row's scores made before learning from it.

        ``positions`` are those of the rows in the stream, ascending, where it is shown only some of the stream's rows.
        """
        core, rows = self.started_for(X), self.as_core_rows(X)
        return core.learn(rows, y, weight, scores, self.n_jobs, block_rows, self.in_order, positions=positions)

    def learn_prepared(
        self, rows: Array | Csr, y: Floats, weight: Floats | None = None, *, into: Floats | None = None
    ) -> None:
        """Learn from rows as the core takes them (see `as_core_rows`). ``into``, made by `room_for_scores`, receives
        each row's scores from before it was learned from, also where the call is interrupted."""
        assert self._core is not None
        self._core.learn(rows, y, weight, into is not None, self.n_jobs, 48, self.in_order, into)

    def room_for_scores(self, y: Floats, weight: Floats | None = None) -> Floats:
        """Return an array for the scores of rows with these labels: zeros, one column per output known after them."""
        n_outputs = self.n_outputs
        if self.task == "multiclass":
            counted = y if weight is None else y[weight != 0]
            n_outputs = max(n_outputs, int(counted.max(initial=-1.0)) + 1)
        return np.zeros((len(y), n_outputs))

    def score_rows(self, X: Array, *, each: bool = False, block_rows: int = 48) -> Floats:
        """Return the scores of rows, one column per output; with ``each`` so many columns for each kernel, or for each
        of several experts, 0 where a row is not in its region."""
        return self.started_for(X).score(self.as_core_rows(X), each, self.n_jobs, block_rows)

    # Sparse rows of which nothing is converted: (values, features, offsets), as the core takes them.

    def learn_csr(self, rows: Csr, y: Floats, weight: Floats | None = None, *, scores: bool = False) -> Floats | None:
        """Learn from sparse rows in order; the learner must have reached their features (see `reach`)."""
        assert self._core is not None
        return self._core.learn(rows, y, weight, scores, self.n_jobs, 48)

    def score_csr(self, rows: Csr) -> Floats:
        """Return the scores of sparse rows, one column per output."""
        assert self._core is not None
        return self._core.score(rows, False, self.n_jobs, 48)

    def deviation_csr(self, rows: Csr) -> Floats:
        """Return the deviation that is expected of sparse rows' targets; for second-order recipes only."""
        assert self._core is not None
        return self._core.deviation(rows)

    def reach(self, n_features: int) -> None:
        """Take sparse rows of so many features from now on; those that no row had yet were 0."""
        if self._core is None:
            self.started(n_features, sparse=True)
        elif n_features > (self.n_features or 0):
            self._core.reach(n_features)
            self.n_features = n_features

    def variance_rows(self, X: Array) -> tuple[Floats, Floats]:
        """Return how uncertain the last function is at rows, in units of the noise's variance around them, and that.

        For second-order recipes only.
        """
        core, rows = self.started_for(X), self.as_core_rows(X)
        return core.variance(rows), core.noise_at(rows)

    def deviation_rows(self, X: Array) -> Floats:
        """Return the deviation that is expected of rows' targets from their predictions; with classes, of their scores.

        For second-order recipes only.
        """
        return self.started_for(X).deviation(self.as_core_rows(X))

    @property
    def noise_variance(self) -> float:
        """The variance of the noise, as a second-order recipe has measured it."""
        return 0.0 if self._core is None else self._core.noise_variance

    def flush(self) -> None:
        """End the current mini-batch."""
        if self._core is not None:
            self._core.flush()

    # -- the core ------------------------------------------------------------------------------------------------------

    def as_core_rows(self, X: Any) -> Any:
        """Return rows as the core takes them, in the container and type that the first call fixed."""
        return core_rows(X, self.settings.dtype, self.sparse)

    def started_for(self, X: Any) -> _core.Learner:
        """Return the core, made for rows like these if there is none yet."""
        if issparse(X):
            check_sparse_width(X.shape[1])
        return self.started(X.shape[1], sparse=issparse(X))

    def started(self, n_features: int, sparse: bool = False, n_outputs: int | None = None) -> _core.Learner:
        """Return the core, made for so many features (and outputs, if not the usual ones) if there is none yet."""
        return self._started(n_features, sparse, n_outputs) if self._core is None else self._core

    @in_turn  # of two threads that find no core one makes it: what is learned with another would be lost
    def _started(self, n_features: int, sparse: bool, n_outputs: int | None) -> _core.Learner:
        if self._core is None:
            sparse = sparse and not any(isinstance(kernel, CallableKernel) for kernel in self.kernels)
            usual = self.n_classes if self.task == "multiclass" else 1
            core = self.settings.core(n_features, sparse, n_outputs or usual)
            self.n_features, self.sparse, self._core = n_features, sparse, core
        return self._core

    # -- the function --------------------------------------------------------------------------------------------------

    def expansion(self, informed: bool = False) -> Expansion:
        """Return the function learned so far, as a value of its own.

        With ``informed`` it has the information of a second-order learner, which takes time to compute.
        """
        if self.n_features is None:
            raise ValueError("the learner has learned nothing yet: it has no function")
        core = self.started(self.n_features)
        if self._own:
            kernels = {number: own.kernel for number, own in self._own.items()}
            return expansion_of_experts(core, kernels, self.n_features, informed)
        return expansion_of(core, self.kernels, self.combination, self.n_features, informed)

    @property
    def combination(self) -> str:
        """How the functions make a prediction: the "sum" of the only one, or the "mean" or the "vote" of several."""
        return self.settings.combination

    @property
    def is_second_order_sum(self) -> bool:
        """Whether it is a sum of second-order learners."""
        return self.settings.is_second_order_sum

    @property
    def has_weights(self) -> bool:
        """Whether the function is a weight for each feature, as under the linear kernel, and has no support vectors."""
        return self._core is not None and self._core.n_weights > 0

    def _check_has_points(self) -> None:
        if self.has_weights:
            raise AttributeError(
                "a linear kernel's function is one weight for each feature (coef_): no rows are kept as support vectors"
            )

    @property
    def coefficients(self) -> Floats:
        """Coefficients of the predicting function, ``(n_kernels * n_outputs, n_support)``."""
        if self._own:
            return np.vstack([term.average.points for term in self._of_one_region("dual_coef_").on_common_points.terms])
        self._check_has_points()
        return np.empty((1, 0)) if self._core is None else self._core.coefficients()

    def _of_one_region(self, what: str) -> Expansion:
        function = self.expansion()
        if len(function.regions) > 1:
            raise AttributeError(f"{what} is that of one region, and this model has several: see regions_")
        return function

    @property
    def constants(self) -> Floats:
        """The constant terms of the predicting function, one per output (0 without ``fit_intercept``)."""
        if self._core is None or not self.fit_intercept:
            return np.zeros(1 if self._core is None else max(1, self._core.n_outputs))
        if self._own:
            return np.concatenate([term.average.constants for term in self._of_one_region("intercept_").terms])
        return self._core.constants()

    def support(self) -> tuple[Any, NDArray[np.int64]]:
        """Return the support vectors (dense or CSR, as the rows came) and their positions in the stream."""
        self._check_has_points()
        if self._core is None or self.n_features is None:
            return np.empty((0, 0), self.dtype), np.empty(0, np.int64)
        points, births, _ = points_of(self._core.points(), self.n_features)
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
            core.set_information(known.matrix, known.noise, known.steps, known.deviation)

    def add_information(self, expansion: Expansion, weight: float) -> None:
        """Take in what another second-order learner knows, of the same kernel and prior, on points of this span."""
        expansion = expansion.in_order_of_joining
        term, known = expansion.only, expansion.information
        assert self._core is not None
        assert known is not None
        births = np.arange(len(term), dtype=np.int64)
        rows = self.as_core_rows(term.points)
        self._core.add_information(
            rows, births, term.last.core, known.matrix, known.noise, known.steps, known.deviation, weight
        )

    def compress(self, eps: float, n_support: int) -> tuple[float, float | None]:
        """Let points leave within the distance ``eps``, and on to ``n_support``.

        For a learner with the eviction Stop and without average: others keep more than the function. Returns the
        distance moved, and by how much the loss of all rows has changed, where the learner can tell.
        """
        self.kernel.check_psd(needed_by="compress")
        if self._core is None:
            return 0.0, None
        if not self._core.has_information and not self.is_second_order_sum:
            return self._core.compress(eps, n_support), None
        data, rkhs = self._core.eliminate(eps, n_support)
        return rkhs, data**2 / 2

    # -- sums of second-order learners ---------------------------------------------------------------------------------

    def split(self) -> list[Self]:
        """Return the learners of a sum of second-order learners, in the order of the kernels; of any other, itself.

        Examples
        --------
        >>> import numpy as np, onkel
        >>> from onkel.parts import RBF, Hedge
        >>> both = onkel.Learner(onkel.recipes.Newton(), kernel=Hedge((RBF(1.0), RBF(0.1)), "sum"), budget=8)
        >>> both.learn_rows(np.eye(3), np.array([0.0, 1.0, 1.0]))
        >>> narrow, wide = both.split()
        >>> x = np.array([1.0, 0.0, 0.5])
        >>> bool(np.isclose(both.score(x), both.kernel_weights @ [narrow.score(x), wide.score(x)]))
        True
        """
        if not self.is_second_order_sum or self._core is None:
            return [self]
        terms = []
        for kernel, core in zip(self.kernels, self._core.split(), strict=True):
            term = self.blank(kernel=kernel, budget=None if self.budget is None else core.budget)
            term._core = core
            terms.append(term)
        return terms

    def join(self, terms: Sequence[Learner], weights: Floats, noise: float = 0.0, *, begins: bool = False) -> Self:
        """Return a sum with the settings of this one, of learners that have seen as many rows as one another.

        Points born at the same row are held once. Of this sum's state nothing matters but that weights which are its
        own keep every bit.

        Parameters
        ----------
        terms : sequence of Learner
            One for each kernel.
        weights : ndarray
            Of the terms; they sum to 1.
        noise : float
            The variance of the sum's residuals, of a regression.
        begins : bool
            Whether no row has moved its weights yet.
        """
        first = terms[0]
        assert first.n_features is not None
        summed = self.blank(n_classes=first.n_classes, dtype=first.dtype)
        core = summed.started(first.n_features, first.sparse, n_outputs=1)  # as many as the terms have come with them
        cores = [term._core for term in terms if term._core is not None]
        core.join(cores, weights.tolist(), noise, not begins, self._core)
        return summed

    def with_budget(self, budget: int | None) -> Self:
        """Return a copy of a second-order learner as if it had been made with another budget.

        Of points that are too many those leave that the others can best compensate for. A sum of such learners keeps
        its points; several experts have budgets of their own, and the copy has another total.
        """
        learner = self.clone()
        learner.settings = replace(self.settings, budget=budget)
        if learner._core is not None and not self._own:
            learner._core.limit(learner.settings.budget_of_a_function)
        return learner

    # -- regions and experts -------------------------------------------------------------------------------------------

    @property
    def regions(self) -> tuple[Region, ...]:
        """The regions, parents before children: of a learner that is one expert, one."""
        if self._own:
            assert self._core is not None
            return regions_of(self._core.regions())
        return (Region(0, rows=self.t),)

    @property
    def experts(self) -> tuple[int, ...]:
        """The numbers of the experts, in the order of the columns of ``score_rows(each=True)``."""
        return tuple(self._own) or (0,)

    def expert(self, number: int) -> Self:
        """Return a copy of one expert, a learner of its own."""
        if not self._own and number == 0:
            return self.clone()
        if number not in self._own:
            raise ValueError(f"there is no expert {number}: expected one of {self.experts}")
        assert self._core is not None
        return self._expert_of(self._own[number], self._core.expert(number))

    def _expert_of(self, own: Settings, core: _core.Learner | None) -> Self:
        expert = self.blank(n_jobs=self.n_jobs)
        expert.settings, expert._core = own, core
        if core is None:
            expert.n_features, expert.sparse = None, False
        return expert

    def _shares(self) -> Floats:
        """What each expert counts: its weights at the leaves, by their rows."""
        leaves = [region for region in self.regions if region.is_leaf]
        rows = np.array([leaf.rows + 1.0 for leaf in leaves])
        found = dict.fromkeys(self._own, 0.0)
        for leaf, share in zip(leaves, rows / rows.sum(), strict=True):
            for number, weight in zip(leaf.path, leaf.weights.tolist(), strict=True):
                found[number] += float(share) * weight
        return np.array(list(found.values()))

    def leaf_of(self, X: Array) -> NDArray[np.int64]:
        """Return the number of the leaf that holds each row."""
        if not self._own:
            return np.zeros(X.shape[0], np.int64)
        return np.asarray(self.started_for(X).leaves_of(self.as_core_rows(X)))

    @classmethod
    def of_experts(
        cls, experts: Sequence[Learner], weights: ArrayLike | None = None, *, t: int | None = None
    ) -> Learner:
        """Return a learner whose experts are these, all of which have seen the same stream, of ``t`` rows if not of as
        many as one of them has seen.

        Examples
        --------
        >>> import numpy as np, onkel
        >>> narrow, wide = (onkel.Learner(onkel.recipes.Newton(), gamma=gamma, budget=8) for gamma in (1.0, 0.1))
        >>> for each in (narrow, wide):
        ...     each.learn_rows(np.eye(3), np.array([0.0, 1.0, 1.0]))
        >>> both = onkel.Learner.of_experts([narrow, wide])
        >>> x = np.array([1.0, 0.0, 0.5])
        >>> bool(np.isclose(both.score(x), (narrow.score(x) + wide.score(x)) / 2))
        True
        """
        first = experts[0]
        assert first.n_features is not None
        cores = [each.started(first.n_features, first.sparse) for each in experts]
        joined = first.clone()
        joined._core = _core.Learner.of_experts(cores, max(each.t for each in experts) if t is None else t)
        joined._own = {number: each.settings for number, each in enumerate(experts)}
        budgets = [each.budget for each in experts]
        total = None if None in budgets else sum(budget or 0 for budget in budgets)
        joined.settings = replace(first.settings, budget=total)
        return joined if weights is None else joined.with_weights(0, weights)

    def _as_experts(self) -> tuple[_core.Learner, dict[int, Settings]]:
        if self._own:
            assert self._core is not None
            return self._core, self._own
        if self._core is None:
            raise ValueError("the learner has learned nothing yet: there are no experts to change")
        return _core.Learner.of_experts([self._core], self._core.t), {0: self.settings}

    def _going_on(self, core: _core.Learner, own: dict[int, Settings]) -> Self:
        """Go on from these experts."""
        learner = self.blank()
        learner._core = core
        learner._own = {number: own[number] for number in core.experts}
        return learner

    def divided(
        self,
        region: int,
        condition: Condition,
        lower: Sequence[Learner] = (),
        upper: Sequence[Learner] = (),
        *,
        weights: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Return this learner with a leaf divided into two, each side with experts of its own.

        Parameters
        ----------
        region : int
            The number of the leaf.
        condition : Condition
        lower, upper : sequence of Learner
            The experts of each side, which may have learned from rows of it already.
        weights : pair of array-like, default=None
            Of all experts of each side's path; None lets each new expert start with the mean weight of the experts of
            the region that is divided.

        Examples
        --------
        >>> import numpy as np, onkel
        >>> from onkel.regions import Condition
        >>> model = onkel.Learner(onkel.recipes.Newton(loss="squared_error"), task="regression", budget=8)
        >>> rows = np.linspace(-1.0, 1.0, 9)[:, None]
        >>> model.learn_rows(rows, np.abs(rows[:, 0]))
        >>> side = model.blank()
        >>> model = model.divided(0, Condition((0,), (0.0,)), [side], [side])
        >>> model.leaf_of(rows).tolist()
        [1, 1, 1, 1, 1, 2, 2, 2, 2]
        >>> model.experts
        (0, 1, 2)
        """
        core, own = self._as_experts()
        assert self.n_features is not None
        leaf = next((each for each in self.regions if each.number == region and each.is_leaf), None)
        if leaf is None:
            raise ValueError(f"region {region} is divided, or there is none: expected a leaf")
        mine = [w for w, e in zip(leaf.weights, leaf.path, strict=True) if e in leaf.experts] or list(leaf.weights)
        sides = []
        for i, experts in enumerate((lower, upper)):
            if weights is None:
                found = np.concatenate([leaf.weights, np.full(len(experts), np.mean(mine))])
                found /= found.sum()
            else:
                found = np.asarray(weights[i], np.float64)
            cores = [expert.started(self.n_features, self.sparse) for expert in experts]
            sides.append((cores, found.tolist()))
        after = core.divided(region, condition.features, condition.thresholds, *sides)
        added = zip(after.experts[len(own) :], [*lower, *upper], strict=True)
        return self._going_on(after, own | {number: expert.settings for number, expert in added})

    def with_expert(self, region: int, expert: Learner, weight: float = 0.01) -> Self:
        """Return this learner with one more expert of a region, which has this weight at each of its leaves."""
        core, own = self._as_experts()
        assert self.n_features is not None
        after = core.with_expert(region, expert.started(self.n_features, self.sparse), weight)
        return self._going_on(after, own | {after.experts[-1]: expert.settings})

    def without_expert(self, number: int) -> Self:
        """Return this learner without one of its experts; the others share its weight."""
        core, own = self._as_experts()
        return self._going_on(core.without_expert(number), own)

    def with_experts(self, experts: Sequence[Learner], *, rows: Sequence[int] = ()) -> Self:
        """Return this learner with others in the places of all experts; regions and weights stay.

        With ``rows``, so many of each leaf, these have learned from other rows than those of the stream so far.
        """
        core, own = self._as_experts()
        assert self.n_features is not None
        cores = [expert.started(self.n_features, self.sparse) for expert in experts]
        replaced = dict(zip(own, (expert.settings for expert in experts), strict=True))
        return self._going_on(core.with_experts(cores, list(rows)), replaced)

    def merged_back(self, region: int) -> Self:
        """Return this learner with a region that is no longer divided: what is below it goes, and the experts that are
        left have the mean of their weights."""
        core, own = self._as_experts()
        return self._going_on(core.merged_back(region), own)

    def with_weights(self, region: int, weights: ArrayLike) -> Self:
        """Return this learner with other weights of a leaf, one for each expert of its path."""
        core, own = self._as_experts()
        return self._going_on(core.with_weights(region, np.asarray(weights, np.float64).tolist()), own)

    def leaf_weights_history(self, region: int) -> tuple[NDArray[np.int64], Floats]:
        """Return numbers of rows of a leaf since its experts changed, and the weights of its path after each."""
        return self._as_experts()[0].leaf_history(region)

    # -- copies and state ----------------------------------------------------------------------------------------------

    def clone(self) -> Self:
        """Return a copy of this moment: another thread may be learning, and the copy stands still."""
        learner = self.blank()
        learner._core = None if self._core is None else self._core.clone()
        learner._own = dict(self._own)
        return learner

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def show_state(self, digest: Digest) -> None:
        """Show everything learned so far."""
        if self._core is not None:
            self._core.show(digest.show)

    def fingerprint(self) -> str:
        """Return a hash of the state: equal exactly when every bit of it is."""
        digest = Digest()
        self.show_state(digest)
        return digest.hex()

    def _state(self) -> dict[str, Array]:
        """Everything learned so far as named arrays (none before the first row): for files and pickles alone."""
        return {} if self._core is None else self._core.save()

    def _load(self, state: dict[str, Array], n_features: int, sparse: bool) -> None:
        if self._own:  # as many outputs as the state holds come with it
            blank = [own.core(n_features, sparse, n_outputs=1) for own in self._own.values()]
            self.n_features, self.sparse, self._core = n_features, sparse, _core.Learner.of_experts(blank, 0)
        core = self.started(n_features, sparse, n_outputs=1)
        core.load(state)
        if self._own:
            self._own = dict(zip(core.experts, self._own.values(), strict=True))
        if self.task == "multiclass" and core.n_outputs < self.n_classes:
            raise ValueError(f"the state has {core.n_outputs} outputs, fewer than the {self.n_classes} classes")

    def _saved_fields(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in (*self.NAMES, "n_features", "sparse")}
        own = [self._expert_of(each, None) for each in self._own.values()]
        return settings | {"state": self._state(), "experts": own}

    @classmethod
    def _from_saved_fields(cls, saved: dict[str, Any]) -> Self:
        state, n_features, sparse = saved.pop("state"), saved.pop("n_features"), saved.pop("sparse")
        experts = saved.pop("experts", [])
        for name, kind in (("recipe", Recipe), ("kernel", Kernel)):
            if not isinstance(saved[name], kind):
                raise ValueError(f"{name} must be a {kind.__name__}, got {saved[name]!r}")
        learner = cls(**saved)
        check_flag("sparse", sparse)
        if n_features is not None:
            check_number("n_features", n_features, at_least=1, below=2**31, integer=True)
        if not isinstance(state, dict) or not all(isinstance(values, np.ndarray) for values in state.values()):
            raise ValueError("state must hold arrays")
        if bool(state) != (n_features is not None):
            raise ValueError("a learner has arrays of state if, and only if, its number of features is known")
        if not isinstance(experts, list) or not all(isinstance(own, Learner) and own.t == 0 for own in experts):
            raise ValueError("experts must be a list of learners without rows")
        learner._own = {number: own.settings for number, own in enumerate(experts)}
        if state:
            learner._load(state, n_features, sparse)
        return learner

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_core": None, "state": self._state()}

    def __setstate__(self, saved: dict[str, Any]) -> None:
        state = saved.pop("state")
        vars(self).update(saved)
        if state:
            assert self.n_features is not None
            self._load(state, self.n_features, self.sparse)

    # -- facts ---------------------------------------------------------------------------------------------------------

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
        """RKHS norm of the last function; of several terms in the direct sum of their kernels' spaces."""
        if self._own:
            weights = [term.weight for term in self._of_one_region("norm_").terms]
            norms = [self.expert(number).norm for number in self._own]
            return float(np.linalg.norm(np.multiply(weights, norms)))
        return 0.0 if self._core is None else self._core.norm

    @property
    def kernel_weights(self) -> Floats:
        """Weights θ of the kernels' votes; of several experts the means over all rows, each with its leaf's."""
        if self._own:
            return self._shares()
        if self._core is None or not isinstance(self.kernel, Hedge):
            return np.full(len(self.kernels), 1 / len(self.kernels))
        return self._core.weights

    @property
    def main_kernel(self) -> int:
        """The number of the kernel that weighs the most; of those with relevances, if there are any."""
        kernels = [own.kernel for own in self._own.values()] if self._own else self.kernels
        relevant = [bool(kernel.metric.scales) for kernel in kernels]
        return int(np.argmax(self.kernel_weights + relevant))

    @property
    def kernel_weights_history(self) -> tuple[NDArray[np.int64], Floats]:
        """Row counts, and the kernels' weights after each of them."""
        if self._core is None:
            return np.empty(0, np.int64), np.empty((0, len(self.kernels)))
        if self._own:
            return self.leaf_weights_history(next(region.number for region in self.regions if region.is_leaf))
        return self._core.weight_history

    @property
    def memory(self) -> float:
        """The memory of a second-order recipe that has the largest weight, in rows: infinity is all of them."""
        weights = self.memory_weights
        return max(weights, key=weights.__getitem__, default=float("inf"))

    @property
    def memory_weights(self) -> dict[float, float]:
        """What each memory of a second-order recipe weighs, by its rows: infinity is all of them.

        Of a sum of learners, those of the one with the largest weight.
        """
        if self._own:
            return self.expert(self.experts[self.main_kernel]).memory_weights
        votes = isinstance(self.kernel, Hedge) and not self.is_second_order_sum
        if self._core is None or self.has_weights or not isinstance(self.recipe, SecondOrder) or votes:
            return {}
        return dict(zip(self._core.memories.tolist(), self._core.memory_weights.tolist(), strict=True))

    @property
    def memory_weights_history(self) -> tuple[NDArray[np.int64], Floats]:
        """Row counts, and the weights of the memories after each of them."""
        if self._own:
            return self.expert(self.experts[self.main_kernel]).memory_weights_history
        if not self.memory_weights:
            return np.empty(0, np.int64), np.empty((0, 0))
        assert self._core is not None
        return self._core.memory_history

    @property
    def n_support_per_kernel(self) -> NDArray[np.int64]:
        """Number of support vectors of each kernel."""
        if self._own:
            return np.array([self.expert(number).n_support for number in self._own], np.int64)
        return np.zeros(len(self.kernels), np.int64) if self._core is None else np.array(self._core.sizes, np.int64)

    def keep_kernels(self, chosen: list[int]) -> None:
        """Go on with some of the kernels only."""
        assert isinstance(self.kernel, Hedge)
        kernel = self.kernel.only(chosen)
        if self._core is not None:
            self._core.keep(chosen)
        budget = self.budget
        if budget is not None and not kernel.shares_budget:
            budget = self.settings.budget_of_a_function * len(chosen)
        self.settings = replace(self.settings, kernel=kernel, budget=budget)

    def __onkel_inside__(self) -> Any:
        from onkel.inside import Inside

        return Inside(self, self)

    def __onkel_with_learner__(self, learner: Learner) -> Learner:
        return learner

    def __onkel_facts__(self) -> dict[str, Any]:
        if self.n_features is None:
            return {}
        facts: dict[str, Any] = {"n_features": self.n_features, "rows": self.t, "n_support": self.n_support}
        if len(self.regions) > 1:
            facts["regions"] = described(self.regions)
        if isinstance(self.recipe, SecondOrder) and isinstance(self.recipe.memory, StreamMemory):
            return facts | {"memory": "all rows" if self.memory == float("inf") else f"{self.memory:g} rows"}
        return facts

    def __repr__(self) -> str:
        return f"Learner({self.recipe!r}, task={self.task!r}, kernel={self.kernel!r})"


def core_rows(X: Any, dtype: str, sparse: bool) -> Any:
    """Return rows as the core takes them: an array in C order, or (values, features, offsets)."""
    if not sparse:
        return np.ascontiguousarray(X.toarray() if issparse(X) else X, dtype=dtype)
    rows = csr_array(X, dtype=dtype)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int64, copy=False)
