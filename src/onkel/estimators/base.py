"""What all estimators share: scikit-learn's contract on top of the thin learner.

An estimator is a dataclass whose fields are its parameters (:mod:`onkel.estimators.making`). All checks come before any
change: a refused call leaves the estimator as it was.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from onkel.choice import LearnerHolder, StreamChoice, stages
from onkel.choice.growth import Growth, budget_of_first, budget_of_one
from onkel.coverage import Coverage
from onkel.estimators.callbacks import CallbackSupportMixin, tasks, with_callbacks
from onkel.estimators.making import estimator, svc_hint
from onkel.estimators.notebook import NotebookView
from onkel.estimators.progress import Progress
from onkel.inside import Inside
from onkel.learner import Learner
from onkel.parameters import FittingParameters, FunctionParameters, is_stream
from onkel.parts import RBF, Kernel, Linear, Polynomial, Recipe
from onkel.regions import Region, described
from onkel.utils.digest import Digest
from onkel.utils.turns import in_turn
from onkel.utils.validation import (
    MOST_THREADS,
    are_float_rows,
    check_choice,
    check_feature_names,
    check_finite,
    check_flag,
    check_number,
    check_seed,
    check_sparse_width,
    check_weights,
    columns_by_name,
    columns_of_numbers,
    n_threads,
    unchanged_if_refused,
    with_parameters,
)

Floats = NDArray[np.float64]
_OF_A_FIT = (
    "_learner",
    "_choice",
    "_open",
    "_tally",
    "_progress",
    "_coverage",
    "_shown",
    "_gamma",
)  # beside the attributes that end in "_"


class _Shown(NamedTuple):
    """A row that is learned from alone, to count whether it is covered: what was before it, and was said of it."""

    t: int
    rows: int
    scores: Floats
    target: float
    deviation: Floats | None


class _OfRiver:
    """What a pipeline of River looks for in its last step: it is not there, and this says where it is."""

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        name = owner.__name__
        raise AttributeError(f"{name} learns from matrices, not from one record: in River use onkel.river.{name}")


@estimator
class KernelEstimator(
    FunctionParameters,
    FittingParameters,
    LearnerHolder,
    NotebookView,
    CallbackSupportMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Fit, partial_fit and predict_then_learn over any recipe and any kernels."""

    def set_params(self, **params: Any) -> Self:
        """Set parameters, also by the names of a search such as `GridSearchCV`.

        Parameters
        ----------
        **params
            Parameters by name.

        Returns
        -------
        self
        """
        hint = svc_hint(type(self).__name__, params, self._get_param_names())
        if hint is not None:
            raise ValueError(hint)
        super().set_params(**params)
        return self

    _supervised = learn_one = predict_one = predict_proba_one = _OfRiver()

    # -- fitting ------------------------------------------------------------------------------------------------------

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Multiplies a row's loss and gradient; rows of weight 0 are skipped.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    @in_turn
    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        scored: list[tuple[Any, Floats]] | None = None,
    ) -> Self:
        """Fit; where `scored` is a list, add to it the rows of the first epoch in the order of learning, and the score
        of each before learning from it."""
        # In a copy, so that a refused call changes nothing and other threads can predict with the fitted model
        # meanwhile.
        fresh = copy.copy(self)
        fresh._reset()
        rows, weight = fresh._checked_rows(X, sample_weight, reset=True)
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero for every row: there is nothing to fit")
        check_number("n_epochs", self.n_epochs, at_least=1, integer=True)
        check_flag("shuffle", self.shuffle)
        targets, weight = fresh._checked_targets(y, rows, weight, first=True, everything=True, classes=None)
        n_rows = rows.shape[0] if weight is None else int(np.count_nonzero(weight))
        fresh._start(rows, horizon=n_rows * self.n_epochs)
        fresh._check_choosable(rows)
        fresh._learner.in_order = not self.shuffle
        if self.shuffle:
            fresh._choose_before(rows, targets, weight, n_rows * self.n_epochs)
        self._become(fresh)
        try:
            for epoch, cut in tasks(self, rows.shape[0], self.n_epochs, self._fitted_attributes):
                picked = self._order(epoch, rows.shape[0])[cut] if self.shuffle else cut
                own = None if weight is None else weight[picked]
                watched = scored is not None and epoch == 0
                before = self._learn_covered(rows[picked], targets[picked], own, scores=watched, first=epoch == 0)
                if scored is not None and before is not None:
                    scored.append((np.arange(rows.shape[0])[picked], self._shaped(before)))
            self._learner.flush()
        finally:
            self._learned()
        return self

    def _learn_covered(
        self, rows: Any, targets: Floats, weight: Floats | None, *, scores: bool, first: bool = True
    ) -> Floats | None:
        """Learn from rows; where coverage is kept account of, one row at a time, each against what was predicted of it.

        Only rows that are seen for the `first` time tell what predictions of others are like.
        """
        coverage: Coverage | None = getattr(self, "_coverage", None)
        if coverage is None or not first:
            return self._learn_rows(rows, targets, weight, scores=scores)
        self._learner.started_for(rows)  # before which it does not know how many scores a row has
        self._choose_what_is_left()  # the first row is predicted by the learner that learns from it
        before = self._learner.room_for_scores(targets, weight)
        for i in range(len(targets)):
            own = None if weight is None else weight[i : i + 1]
            found = self._learner.room_for_scores(targets[i : i + 1], own)
            deviation = self._deviations(rows[i : i + 1])
            self._shown: _Shown | None = _Shown(self._learner.t, coverage.rows, found, targets[i], deviation)
            self._learn_rows(rows[i : i + 1], targets[i : i + 1], own, into=found)
            before[i, : found.shape[1]] = found[0]
            self._count_shown()
        return before if scores else None

    def _count_shown(self) -> None:
        """Count whether the row that was shown last is covered, if it was learned from and is not counted yet."""
        shown: _Shown | None = getattr(self, "_shown", None)
        if shown is not None and self._learner.t > shown.t and self._coverage.rows == shown.rows:
            score = self._score_to_cover(shown.scores[0], shown.target, shown.deviation)
            if score is not None:
                self._coverage.add(score)
        self._shown = None

    def _deviations(self, rows: Any) -> Floats | None:
        """What is expected of rows' residuals, where the model says so."""
        return None

    def _score_to_cover(self, scores: Floats, target: float, deviations: Floats | None) -> float | None:
        """The score of a row (see `Coverage`); None where nothing was predicted of it yet."""
        raise NotImplementedError

    @property
    def coverage_(self) -> dict[float, float]:
        """The fraction of the latest 5,000 rows that was covered, before they were learned from, for each level."""
        return self._account().recent

    @property
    def coverage_history_(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The numbers of the latest 5,000 rows, and whether each was covered before it was learned from, a line for
        each level."""
        return self._account().history

    def _account(self) -> Coverage:
        self._fitted()
        if not hasattr(self, "_coverage"):
            raise AttributeError(f"{type(self).__name__} keeps account of coverage where coverage is given")
        return self._coverage

    def _threshold(self, coverage: float) -> float | None:
        """The largest score that is covered; None where no account is kept."""
        self._fitted()
        check_number("coverage", coverage, above=0, below=1)
        return self._coverage.threshold(coverage) if hasattr(self, "_coverage") else None

    def _choose_before(self, rows: Any, targets: Floats, weight: Floats | None, n_rows: int) -> None:
        """Choose what the stream is to choose on the first rows of those that `fit` has, as many as it may look at."""
        order = self._order(0, len(targets))
        if weight is not None:
            order = order[weight[order] > 0]
        some = order[: stages.looked_at(rows.shape[1], issparse(rows))]
        self._choose_ahead(rows[some], targets[some], None if weight is None else weight[some], n_rows)

    def _order(self, epoch: int, n_rows: int) -> NDArray[np.intp]:
        """The epoch's order of rows, a function of the seed and the epoch alone."""
        return np.random.Generator(np.random.Philox(key=[self._learner.seed, epoch])).permutation(n_rows)

    def _fitted_attributes(self) -> dict[str, Any]:
        """The attributes that a copy of this estimator needs to predict as if `fit` had stopped here."""
        fitted = {name: value for name, value in vars(self).items() if _is_fitted_name(name)}
        return fitted | {
            name: copy.deepcopy(fitted[name]) for name in ("_learner", "_choice", "_coverage") if name in fitted
        }

    @in_turn  # new labels are added to the classes before the learner has seen them
    def _go_on(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, scores: bool, classes: object = None
    ) -> Floats | None:
        """Learn from more rows, in order; with ``scores`` return the scores of each row before learning from it."""
        first = not hasattr(self, "_learner")
        if not first:
            self._learned()  # as far as an interruption has left it undone
        with unchanged_if_refused(self):
            rows, weight = self._checked_rows(X, sample_weight, reset=first)
            targets, weight = self._checked_targets(y, rows, weight, first=first, everything=False, classes=classes)
            if first and (weight is None or weight.any()):
                self._start(rows, horizon=getattr(self, "horizon", None))
            self._check_choosable(rows)
            if not first:
                self._learner.n_jobs = n_threads(self.n_jobs)
                self._learner.in_order = True
        if not hasattr(self, "_learner"):  # a first call without a row that counts: as if it had not happened
            nothing = self._shaped(np.zeros((rows.shape[0], self._n_classes_at_start())))
            self._reset()
            return nothing
        n_known = self._learner.n_outputs
        try:
            before = self._learn_covered(rows, targets, weight, scores=scores)
            if before is None:
                return None
            if weight is None or weight.any():
                progress: Progress = getattr(self, "_progress", Progress())
                self._progress = progress.with_rows(self._learner, before, targets, weight, n_known)
            return self._shaped(before)
        finally:
            self._learned()

    def _start(self, rows: NDArray[Any], horizon: int | None) -> None:
        """Create the learner: parameters are checked here, as scikit-learn requires."""
        self._gamma = self._gamma_of(rows)
        learner = Learner(
            self._recipe(horizon),
            task=self._task(),
            kernel=self._chosen_kernel(),
            gamma=self._gamma,
            degree=self.degree,
            coef0=self.coef0,
            budget=budget_of_one(self.budget),
            average=self.average,
            fit_intercept=self.fit_intercept,
            n_classes=self._n_classes_at_start(),
            dtype=rows.dtype.name,
            seed=self._seed(),
            n_jobs=self.n_jobs,
        )
        if self.coverage is not None:
            self._coverage = Coverage(self.coverage)
        chosen = self._chosen_on_stream(learner)
        if "regions" in chosen and Growth.takes(rows) and learner.budget is not None:
            learner.settings = replace(learner.settings, budget=budget_of_first(learner.budget))
        self._begin_with(learner, chosen, self.budget)

    def _chosen_kernel(self) -> Any:
        """The kernel, or all of them."""
        raise NotImplementedError

    def _recipe(self, horizon: int | None) -> Recipe:
        """What to learn with, for a stream of so many rows, or of nobody knows how many."""
        raise NotImplementedError

    def _chosen_on_stream(self, learner: Learner) -> list[str]:
        """The names of what is chosen from the stream: nothing for a kernel that is not gaussian."""
        chosen = [name for name in ("gamma", "lam", "relevances", "ranks", "kernel") if self._stream_chooses(name)]
        if "gamma" not in chosen or not isinstance(learner.kernel, RBF) or self._has_numbers_of_its_own():
            return [name for name in chosen if name == "lam"]
        if "relevances" in chosen and self._stream_chooses("regions"):
            chosen.append("regions")
        return chosen

    def _has_numbers_of_its_own(self) -> bool:
        """Whether the kernel is a part, whose numbers then are not chosen."""
        return isinstance(getattr(self, "kernel", None), Kernel)

    def _stream_chooses(self, name: str) -> bool:
        value = getattr(self, name, None)
        if name == "gamma" and self._has_no_width():
            return False
        return is_stream(value)

    def _has_no_width(self) -> bool:
        """Whether the kernel is one of dot products, for which there is no width to choose."""
        kernel = getattr(self, "kernel", None)
        return isinstance(kernel, Linear | Polynomial) or (isinstance(kernel, str) and kernel in ("linear", "poly"))

    def _gamma_of(self, rows: NDArray[Any]) -> float:
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("scale", "auto", "stream"))
            if self.gamma == "stream" and getattr(self, "kernel", "") in ("rbf", "stream"):
                return 1.0  # until the learner has chosen
            return gamma_from_rows("scale" if self.gamma == "scale" else "auto", rows)
        check_number("gamma", self.gamma, above=0)
        return float(self.gamma)

    def _seed(self) -> int:
        if isinstance(self.random_state, int | np.integer):
            check_seed("random_state", self.random_state)
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31))

    def _checked_rows(
        self, X: ArrayLike, sample_weight: ArrayLike | None, *, reset: bool
    ) -> tuple[NDArray[Any], Floats | None]:
        dtype = [np.float64, np.float32] if reset else self._learner.dtype
        rows = self._validated(X, reset=reset, dtype=dtype)
        return rows, check_weights(sample_weight, rows.shape[0])

    def _validated(self, X: ArrayLike, *, reset: bool, dtype: Any) -> Any:
        if not reset and not hasattr(self, "feature_names_in_") and are_float_rows(X, self.n_features_in_):
            # scikit-learn would find nothing to refuse, and takes much longer than the prediction of a row.
            rows = np.ascontiguousarray(X, dtype=dtype)
            check_finite("X", rows)
            return rows
        if getattr(getattr(X, "dtype", None), "kind", "") == "c":
            raise ValueError("Complex data not supported: X must be real numbers")
        with columns_of_numbers(X, self):
            rows = validate_data(
                self,
                X if reset else columns_by_name(X, getattr(self, "feature_names_in_", None)),
                reset=reset,
                dtype=dtype,
                order="C",
                accept_sparse="csr",
                accept_large_sparse=True,
                ensure_all_finite=False,
            )
        if not issparse(rows):
            check_finite("X", rows, getattr(self, "feature_names_in_", None))
            return rows
        check_sparse_width(rows.shape[1])
        if not rows.has_canonical_format:  # sort features and sum duplicates, but not in the caller's matrix
            rows = rows.copy()
            rows.sum_duplicates()
        if not np.isfinite(rows.data).all():
            bad = int(np.flatnonzero(~np.isfinite(rows.data))[0])
            row = int(np.searchsorted(rows.indptr, bad, side="right")) - 1
            what = "NaN" if np.isnan(rows.data[bad]) else "infinity"
            raise ValueError(
                f"Input X contains {what} at row {row}, column {rows.indices[bad]}; expected finite numbers"
            )
        return rows

    def _become(self, fresh: Self) -> None:
        """Replace all attributes by those of another estimator at once."""
        extra = vars(self).keys() - vars(fresh).keys()
        self.__dict__.update(vars(fresh))
        for name in extra:
            delattr(self, name)

    def _reset(self) -> None:
        for name in [name for name in vars(self) if name in _OF_A_FIT or name.endswith("_")]:
            delattr(self, name)

    # -- differs between classes and targets
    def _task(self) -> str:
        raise NotImplementedError

    def _n_classes_at_start(self) -> int:
        return 1

    def _n_classes(self) -> int | None:
        """The number of classes, 0 where it is open; None for a regression."""
        return None

    def _shaped(self, scores: Floats) -> Floats:
        """Scores in the shape for the caller: a vector if there is one score per row."""
        return scores[:, 0]

    def _checked_targets(
        self, y: ArrayLike, rows: NDArray[Any], weight: Floats | None, *, first: bool, everything: bool, classes: object
    ) -> tuple[Floats, Floats | None]:
        raise NotImplementedError

    def targets_of(
        self, y: ArrayLike, sample_weight: ArrayLike | None = None, *, everything: bool = False, classes: object = None
    ) -> tuple[Floats, NDArray[np.bool_] | None, int | None]:
        """Return targets, or indices of classes, of rows that will be learned from next; nothing is changed.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        everything : bool, default=False
            Whether these are all rows, those of `fit`.
        classes : array-like, default=None
            As for `partial_fit`.

        Returns
        -------
        targets : ndarray of shape (n_samples,)
        counts : ndarray of bool of shape (n_samples,), or None
            Which rows count; None where all do.
        n_classes : int or None
            0 where the set of labels is open; None for a regression.
        """
        other = copy.copy(self)
        first = everything or not hasattr(self, "_learner")
        if first:
            other._reset()
        n = _num_samples(y)
        weight = check_weights(sample_weight, n)
        rows = np.empty((n, 0))
        targets, weight = other._checked_targets(y, rows, weight, first=first, everything=everything, classes=classes)
        return targets, None if weight is None else weight != 0, other._n_classes()

    def _learned(self) -> None:
        """Called after rows were learned from, all of them or up to an interruption."""
        if hasattr(self, "_coverage"):
            self._count_shown()

    def _fingerprint(self) -> str:
        kept = ""
        if hasattr(self, "_coverage"):
            digest = Digest()
            self._coverage.show(digest)
            kept = digest.hex()
        return super()._fingerprint() + kept

    # -- scoring ------------------------------------------------------------------------------------------------------

    def _scores(self, X: ArrayLike, *, each: bool = False) -> Floats:
        learner = self._fitted()
        rows = self._validated(X, reset=False, dtype=learner.dtype)
        self._learner.n_jobs = n_threads(self.n_jobs)
        return self._learner.score_rows(rows, each=each)

    # -- saving (see onkel.files.persistence) ------------------------------------------------------------------------

    def _saved_fields(self) -> dict[str, Any]:
        parameters = self.get_params(deep=False)
        if not isinstance(self.random_state, int | np.integer | None):
            if not hasattr(self, "_learner"):
                raise ValueError("random_state must be an integer or None to save an estimator that is not fitted")
            parameters["random_state"] = self._learner.seed
        if hasattr(self, "_learner"):
            self._learned()
        fitted = {name: value for name, value in sorted(vars(self).items()) if _is_fitted_name(name)}
        if "_gamma" in fitted:
            fitted["_gamma"] = self.gamma_
        choice = self._settled
        if choice is not None:
            fitted["_choice"] = choice.saved()
        if "_coverage" in fitted:
            fitted["_coverage"] = self._coverage.saved()
        return {"parameters": parameters, **fitted}

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        estimator = with_parameters(cls, fields.pop("parameters"))
        if estimator.n_jobs is not None:
            check_number("n_jobs", estimator.n_jobs, at_least=-MOST_THREADS, at_most=MOST_THREADS, integer=True)
        choice = fields.pop("_choice", None)
        if "_coverage" in fields:
            fields["_coverage"] = Coverage.from_saved(fields["_coverage"])
        estimator.__dict__.update(fields)
        if "_learner" in fields:
            if not isinstance(estimator._learner, Learner):
                raise ValueError(f"learner must be a Learner, got {estimator._learner!r}")
            if choice is not None:
                estimator._choice = StreamChoice.from_saved(estimator._learner, choice)
            estimator._check_loaded()
        elif fields:
            raise ValueError("it has fitted attributes, but no learner")
        return estimator

    def _check_loaded(self) -> None:
        """Refuse fitted attributes that contradict each other."""
        learner = self._learner
        check_number("gamma", self._gamma, above=0)
        check_number("n_features", self.n_features_in_, at_least=1, below=2**31, integer=True)
        if learner.n_features not in (None, self.n_features_in_):
            raise ValueError(f"the learner has {learner.n_features} features, not {self.n_features_in_}")
        check_feature_names(getattr(self, "feature_names_in_", None), self.n_features_in_)
        if learner.task != self._task():
            raise ValueError(f"the learner's task is {learner.task}, not {self._task()}")

    def __onkel_inside__(self) -> Inside:
        return Inside(self, self._learner if hasattr(self, "_learner") else None)

    def __onkel_facts__(self) -> dict[str, Any]:
        names = {"columns": self.feature_names_in_.tolist()} if hasattr(self, "feature_names_in_") else {}
        if not hasattr(self, "_learner"):
            return names
        facts = names | self._learner.__onkel_facts__()
        if "regions" in facts and hasattr(self, "feature_names_in_"):
            facts["regions"] = described(self._learner.regions, self.feature_names_in_.tolist())
        return facts

    def __onkel_with_learner__(self, learner: Learner) -> Self:
        other = copy.copy(self)
        if hasattr(self, "_gamma"):
            other._gamma = self.gamma_
        other._learner = learner
        other.__dict__.pop("_choice", None)
        other.budget = learner.budget
        return other

    # -- the model ----------------------------------------------------------------------------------------------------

    @property
    def gamma_(self) -> float:
        """The width of the kernel, or of the first of several; where the stream chooses it, the present one of
        `kernel_`, asked for only when somebody looks."""
        learner = self._fitted()
        if self._choice is None:
            return self._gamma
        return float(getattr(learner.kernels[learner.main_kernel], "gamma", self._gamma))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_learner")

    def _fitted(self) -> Learner:
        if not hasattr(self, "_learner"):
            check_is_fitted(self)  # which refuses in scikit-learn's words
        return self._learner

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, in slot order."""
        return self._fitted().support()[0]

    @property
    def support_(self) -> NDArray[np.int64]:
        """The support vectors' positions in the stream."""
        return self._fitted().support()[1]

    @property
    def dual_coef_(self) -> Floats:
        """Coefficients of the predicting function."""
        return self._fitted().coefficients

    @property
    def coef_(self) -> Floats:
        """Weights of the features, where the kernel is linear."""
        if not isinstance(self._fitted().kernel, Linear):
            raise AttributeError(f"coef_ is for the linear kernel, and the kernel is {self._fitted().kernel!r}")
        term = self._fitted().expansion().only
        return np.asarray(term.average.points @ term.points)

    @property
    def intercept_(self) -> Floats:
        """Constant terms of the predicting function."""
        return self._fitted().constants

    @property
    def regions_(self) -> tuple[Region, ...]:
        """How the rows are divided among experts, each with its kernel; one region where there is one function.

        Parents come before children. A `Region` has the `condition` that divides it, its `rows` since its birth and, of
        a leaf, the `loss` and the `weights` of its experts; `onkel.regions.described` puts them into words.
        """
        return self._fitted().regions

    @property
    def n_support_(self) -> int:
        """Number of support vectors."""
        return self._fitted().n_support

    @property
    def t_(self) -> int:
        """Number of rows learned from."""
        return self._fitted().t

    @property
    def sparsity_(self) -> float:
        """The fraction of the rows that are not support vectors."""
        learner = self._fitted()
        return 1.0 - learner.n_support / learner.t

    @property
    def norm_(self) -> float:
        """RKHS norm of the last function."""
        return self._fitted().norm

    @property
    def nbytes_(self) -> int:
        """Size of the model in bytes."""
        check_is_fitted(self)
        return self._nbytes


def _is_fitted_name(name: str) -> bool:
    return name.endswith("_") or name in ("_learner", "_choice", "_open", "_coverage", "_gamma")


def gamma_from_rows(rule: str, rows: Any) -> float:
    """Return the width that `gamma` "scale" or "auto" means for rows, as in :class:`sklearn.svm.SVC`."""
    n_features = int(rows.shape[1])
    if rule == "auto":
        return 1.0 / n_features
    variance = _variance(rows)
    return 1.0 / (n_features * variance) if variance > 0 else 1.0


def _variance(rows: Any) -> float:
    if not issparse(rows):
        return float(rows.var(dtype=np.float64))
    values = rows.data.astype(np.float64)
    n = rows.shape[0] * rows.shape[1]
    return float((values**2).sum() / n - (values.sum() / n) ** 2)
