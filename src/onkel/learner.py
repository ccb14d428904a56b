"""The thin learner: rows in, scores out, without scikit-learn's validation. The estimators stand on it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onkel.learned_function import LearnedFunction
from onkel.parts import Hedge, SecondOrder, StreamMemory

Array = NDArray[Any]
Floats = NDArray[np.float64]
Csr = tuple[Array, NDArray[np.int32], NDArray[np.int64]]


class Learner(LearnedFunction):
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
        """Return the decision value of one row; with several classes one value per class."""
        scores = self.score_rows(np.ascontiguousarray(x, dtype=self.dtype)[None])[0]
        return scores if self.task == "multiclass" else float(scores[0])

    def learn_rows(
        self, X: Array, y: Floats, weight: Floats | None = None, *, scores: bool = False, block_rows: int = 48
    ) -> Floats | None:
        """Learn from rows in order; with ``scores`` return each row's scores made before learning from it."""
        core = self.started_for(X)
        return core.learn(self.as_core_rows(X), y, weight, scores, self.n_jobs, block_rows, self.in_order)

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
        """Return the scores of rows, one column per output; with ``each`` so many columns for each kernel."""
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

    @property
    def noise_variance(self) -> float:
        """The variance of the noise, as a second-order recipe has measured it."""
        return 0.0 if self._core is None else self._core.noise_variance

    def flush(self) -> None:
        """End the current mini-batch."""
        if self._core is not None:
            self._core.flush()

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
        """RKHS norm of the last function."""
        return 0.0 if self._core is None else self._core.norm

    @property
    def kernel_weights(self) -> Floats:
        """Weights θ of the kernels' votes."""
        if self._core is None or not isinstance(self.kernel, Hedge):
            return np.full(len(self.kernels), 1 / len(self.kernels))
        return self._core.weights

    @property
    def main_kernel(self) -> int:
        """The number of the kernel that has learned relevances, of several the one that weighs the most."""
        return 0 if len(self.kernels) == 1 else 1 + int(np.argmax(self.kernel_weights[1:]))

    @property
    def kernel_weights_history(self) -> tuple[NDArray[np.int64], Floats]:
        """Row counts, and the kernels' weights after each of them."""
        if self._core is None:
            return np.empty(0, np.int64), np.empty((0, len(self.kernels)))
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
        votes = isinstance(self.kernel, Hedge) and not self.is_second_order_sum
        if self._core is None or not isinstance(self.recipe, SecondOrder) or votes:
            return {}
        return dict(zip(self._core.memories.tolist(), self._core.memory_weights.tolist(), strict=True))

    @property
    def memory_weights_history(self) -> tuple[NDArray[np.int64], Floats]:
        """Row counts, and the weights of the memories after each of them."""
        if not self.memory_weights:
            return np.empty(0, np.int64), np.empty((0, 0))
        assert self._core is not None
        return self._core.memory_history

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
            self.budget = self.budget_of_a_function * len(chosen)
        self.kernel = kept

    def __onkel_inside__(self) -> Any:
        from onkel.inside import Inside

        return Inside(self, self)

    def __onkel_with_learner__(self, learner: Learner) -> Learner:
        return learner

    def __onkel_facts__(self) -> dict[str, Any]:
        if self.n_features is None:
            return {}
        facts = {"n_features": self.n_features, "rows": self.t, "n_support": self.n_support}
        if isinstance(self.recipe, SecondOrder) and isinstance(self.recipe.memory, StreamMemory):
            return facts | {"memory": "all rows" if self.memory == float("inf") else f"{self.memory:g} rows"}
        return facts

    def __repr__(self) -> str:
        return f"Learner({self.recipe!r}, task={self.task!r}, kernel={self.kernel!r})"
