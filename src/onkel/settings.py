"""What a learner is told before its first row, checked, and the core that is made of it at the first row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from onkel import _core
from onkel.parts import CallableKernel, Hedge, Kernel, Recipe, kernel_named
from onkel.utils.turns import in_turn
from onkel.utils.validation import check_choice, check_flag, check_number, check_seed, check_sparse_width, n_threads

UNBOUNDED = 2**62


class Settings:
    """The settings of a learner (`Learner` documents them)."""

    NAMES = ("recipe", "task", "kernel", "budget", "average", "fit_intercept", "n_classes", "dtype", "seed")

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
        budget: int | None = None,
        average: bool | None = None,
        fit_intercept: bool = False,
        n_classes: int = 1,
        dtype: str = "float64",
        seed: int = 0,
        n_jobs: int | None = 1,
    ) -> None:
        if not isinstance(recipe, Recipe):
            raise ValueError(f"recipe must be a Recipe, for example onkel.recipes.SPA(), got {recipe!r}")
        check_choice("task", task, ("binary", "multiclass", "regression"))
        check_choice("dtype", dtype, ("float64", "float32"))
        check_flag("fit_intercept", fit_intercept)
        check_number("n_classes", n_classes, at_least=1, at_most=2**20, integer=True)
        check_seed("seed", seed)
        if budget is not None:
            check_number("budget", budget, at_least=1, integer=True)
        if average is not None:
            check_flag("average", average)
        if recipe.loss.regression != (task == "regression"):
            raise ValueError(f"loss {recipe.loss.name!r} does not fit task {task!r}")
        self.recipe = recipe
        self.task = task
        self.kernel = kernel_named(kernel, gamma=gamma, degree=degree, coef0=coef0)
        if relevances is not None:
            self.kernel = self.kernel.with_relevances(relevances)
        recipe.check_kernel(self.kernel, budget)
        self.budget = budget
        # Several kernels vote with their last functions, as in the paper.
        self.average = recipe.average and not isinstance(self.kernel, Hedge) if average is None else bool(average)
        self.fit_intercept = bool(fit_intercept)
        self.n_classes = n_classes
        self.dtype = dtype
        self.seed = int(seed)
        self.n_jobs = n_threads(n_jobs)
        self.in_order = True  # whether rows come in the order of time; a shuffled `fit` has none
        self.n_features: int | None = None
        self.sparse = False
        self._core: _core.Learner | None = None

    def as_core_rows(self, X: Any) -> Any:
        """Return rows as the core takes them, in the container and type that the first call fixed."""
        if not self.sparse:
            return np.ascontiguousarray(X.toarray() if issparse(X) else X, dtype=self.dtype)
        rows = csr_array(X, dtype=self.dtype)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int64, copy=False)

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
            for kernel in self.kernels:
                if len(kernel.scales) > n_features:
                    raise ValueError(
                        f"the kernel has relevances of {len(kernel.scales)} features, and the rows have {n_features}"
                    )
            self.n_features = n_features
            self.sparse = sparse and not any(isinstance(kernel, CallableKernel) for kernel in self.kernels)
            numbers = self.kernel.numbers if isinstance(self.kernel, Hedge) else (0,)
            self._core = _core.Learner(
                recipe=self.recipe.spec,
                kernels=list(zip(numbers, [kernel.formula_spec for kernel in self.kernels], strict=True)),
                hedge=self.kernel.hedge if isinstance(self.kernel, Hedge) else None,
                task=self.task,
                dtype=self.dtype,
                sparse=self.sparse,
                n_features=n_features,
                n_outputs=n_outputs or (self.n_classes if self.task == "multiclass" else 1),
                budget=self.budget_of_a_function,
                average=self.average,
                constant=self.fit_intercept,
                seed=self.seed,
            )
        return self._core

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels: one, or those of a hedge."""
        return self.kernel.kernels if isinstance(self.kernel, Hedge) else (self.kernel,)

    @property
    def budget_of_a_function(self) -> int:
        """The budget of all kernels together, or of each."""
        if self.budget is None:
            return UNBOUNDED
        divided = isinstance(self.kernel, Hedge) and not self.kernel.shares_budget
        return self.budget // len(self.kernels) if divided else self.budget
