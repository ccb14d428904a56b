"""What a row's target is: a class among labels, or a number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, log_softmax, ndtri, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from onkel.coverage import score_of_class
from onkel.estimators.base import Floats, KernelEstimator
from onkel.estimators.making import estimator
from onkel.estimators.one_kernel import OneKernel
from onkel.inside import Inside
from onkel.parameters import ClassifierParameters
from onkel.parts import Loss, Poisson
from onkel.utils.labels import UnknownLabel, as_labels, check_kind, joined, of_array, places
from onkel.utils.validation import check_choice, check_finite, check_flag, check_number

_NESTED = list, tuple, np.ndarray
# For balanced weights on a stream: m rows of each class count before the first row, and weights are capped.
_SMOOTHING, _MOST_WEIGHT = 10, 100.0


def _vector(y: ArrayLike) -> NDArray[Any]:
    if isinstance(y, np.ndarray) and y.ndim == 1:  # the result of column_or_1d, in a fraction of the time
        return y
    return np.asarray(column_or_1d(y, warn=True))


def label_vector(y: ArrayLike, name: str = "y") -> NDArray[Any]:
    """Labels as a vector of one kind. Whether numbers are labels is left to `check_labels`."""
    if isinstance(y, list | tuple) and not any(isinstance(label, _NESTED) for label in y[:1]):
        return as_labels(y, name)  # NumPy would convert all to one type
    if hasattr(y, "to_numpy"):  # scikit-learn makes doubles of pandas' integers, and NumPy loses NULs of polars' text
        y = np.asarray(y) if hasattr(y, "to_pylist") else y.to_numpy()
    return of_array(_vector(y), name)


def check_labels(labels: NDArray[Any], name: str = "y") -> None:
    """Refuse numbers that cannot be labels: missing, infinite or with a fraction."""
    if labels.dtype.kind == "f":
        check_finite(name, labels)
        if not (labels == np.floor(labels)).all():
            check_classification_targets(labels)


def checked_labels(y: ArrayLike, name: str = "y") -> NDArray[Any]:
    """Labels as a vector of one kind; numbers that cannot be labels are refused."""
    labels = label_vector(y, name)
    check_labels(labels, name)
    return labels


def _different(labels: NDArray[Any], weight: Floats | None) -> NDArray[Any]:
    """The different labels of the rows that count, in ascending order."""
    found = np.unique(labels if weight is None else labels[weight != 0])
    try:
        check_labels(found)
    except ValueError:
        check_labels(labels)  # which names the row
        raise
    return found


def _has_probabilities(classifier: Any) -> bool:
    if classifier._votes:
        return False
    try:
        return bool(classifier._recipe(horizon=None).loss.logistic)
    except ValueError:  # refused parameters: `fit` will say so
        return False


@estimator
class ClassifierBase(ClassifierParameters, ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Labels and class scores."""

    _votes: ClassVar[bool] = False  # whether scores are votes, which have no probabilities

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows, in order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will occur, needed in the first call only. Without it the set of labels is open: classes
            are added as they appear, and each has its own score even when there are two.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._go_on(X, y, sample_weight, scores=False, classes=classes)
        return self

    def predict_then_learn(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Floats:
        """Return the decision value of each row before learning from it, then learn from it: the online protocol.

        Parameters are those of `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function`; 0 for a class that was not known yet.
        """
        scores = self._go_on(X, y, sample_weight, scores=True, classes=classes)
        assert scores is not None
        return scores

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the score of each row: positive for the second of two classes, or one column per class."""
        return self._shaped(self._scores(X))

    def _scores_of_next(self, X: ArrayLike) -> Floats:
        """What `predict_then_learn` would return for one row, once what an interruption has left is done."""
        self._choose_what_is_left()
        return self.decision_function(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most likely class of each row."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[index])

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class, for the log loss; with other losses use a `PlattClassifier`."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.column_stack([expit(-scores), expit(scores)])
        return np.asarray(softmax(scores, axis=1))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Return the logarithm of the probability of each class."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            return np.asarray(log_expit(np.column_stack([-scores, scores])))
        return np.asarray(log_softmax(scores, axis=1))

    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return the classes that each row may have: so many that this fraction of the rows has one of its set.

        Of a level that was named in the constructor's `coverage` this holds on any stream whose labels are learned
        from, as far as the most likely class is not right more often anyway. Without it probabilities are summed up,
        the largest first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Which of `classes_` are in the set: always the most likely one.
        """
        threshold = self._threshold(coverage)
        if threshold is None and not _has_probabilities(self):
            raise ValueError(
                f"predict_set needs coverage=({coverage},) in the constructor: this model has no probabilities"
            )
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros(len(scores)), scores])
        if threshold is not None:
            return np.asarray(scores.max(axis=1, keepdims=True) - scores <= threshold)
        likely = np.argsort(-scores, axis=1, kind="stable")
        sums = np.cumsum(np.take_along_axis(softmax(scores, axis=1), likely, axis=1), axis=1)
        needed = np.column_stack([np.ones(len(sums), bool), sums[:, :-1] < coverage])
        members = np.zeros(scores.shape, bool)
        np.put_along_axis(members, likely, needed, axis=1)
        return members

    def _score_to_cover(self, scores: Floats, target: float, deviations: Floats | None) -> float:
        return score_of_class(scores, int(target))

    def __onkel_inside__(self) -> Inside:
        found = super().__onkel_inside__()
        return found if found.learner is None else replace(found, classes=self.classes_)

    def __onkel_facts__(self) -> dict[str, Any]:
        classes = {"classes": self.classes_.tolist()} if hasattr(self, "_learner") else {}
        return classes | super().__onkel_facts__()

    def _is_binary(self) -> bool:
        return not self._open and len(self.classes_) == 2

    def _task(self) -> str:
        return "binary" if self._is_binary() else "multiclass"

    def _n_classes_at_start(self) -> int:
        return 1 if self._open else len(self.classes_)

    def _n_classes(self) -> int | None:
        return 0 if self._open else len(self.classes_)

    def _shaped(self, scores: Floats) -> Floats:
        return scores[:, 0] if self._is_binary() else scores

    def _checked_targets(
        self, y: ArrayLike, rows: NDArray[Any], weight: Floats | None, *, first: bool, everything: bool, classes: Any
    ) -> tuple[Floats, Floats | None]:
        labels = label_vector(y)
        if len(labels) != rows.shape[0]:
            raise ValueError(f"y must have one label for each of the {rows.shape[0]} rows, got {len(labels)}")
        given = None if classes is None else np.unique(checked_labels(classes, "classes"))
        if first:
            self._open = given is None and not everything
            self.classes_ = given if given is not None else _different(labels, weight) if everything else labels[:0]
            if not self._open and len(self.classes_) < 2:
                raise ValueError(f"classes must be at least 2, got 1 class: {self.classes_.tolist()!r}")
        elif given is not None and given.tolist() != np.sort(self.classes_).tolist():
            raise ValueError(
                f"classes must be those of the first call, {self.classes_.tolist()!r}, got {given.tolist()!r}"
            )
        self._check_class_weight()
        codes, counts = self._encode(labels, weight)
        if self.class_weight is not None:
            n_before = 0 if first else self._learner.t
            weight = self._with_class_weight(codes, counts, weight, everything=everything, n_before=n_before)
        return codes.astype(np.float64), weight

    def _encode(self, labels: NDArray[Any], weight: Floats | None) -> tuple[NDArray[np.intp], NDArray[np.bool_] | None]:
        """Class indices, and which rows count (None means all).

        A label that is a class is valid, so that only the others are examined: they are refused or, where the set of
        labels is open, added to the classes in the order of their appearance. Rows of weight 0, of their own or of
        their class, do not count, and may have any label.
        """
        codes, known = places(self.classes_, labels)
        counts = None if weight is None else weight != 0
        if known.all():
            return codes, counts
        counts = known.copy() if counts is None else counts
        unknown = ~known if weight is None else counts & ~known
        if isinstance(self.class_weight, dict):
            unknown[unknown] = [self.class_weight.get(label, 1.0) != 0 for label in labels[unknown].tolist()]
            counts &= known | unknown
        if not unknown.any():
            return codes, counts
        counts |= unknown
        if labels.dtype.kind == "f":
            check_labels(np.where(unknown, labels, labels.dtype.type(0)))
        if len(self.classes_):
            check_kind(labels[unknown], self.classes_)
        if not self._open:
            row = int(unknown.argmax())
            raise UnknownLabel(
                f"y contains the label {labels.item(row)!r} at row {row}, "
                f"which is not one of the classes {self.classes_.tolist()!r}"
            )
        new, first_seen, inverse = np.unique(labels[unknown], return_index=True, return_inverse=True)
        order = np.argsort(first_seen)
        codes[unknown] = len(self.classes_) + np.argsort(order)[inverse]
        self.classes_ = joined([self.classes_, new[order]])
        return codes, counts

    def _check_class_weight(self) -> None:
        if isinstance(self.class_weight, str):
            check_choice("class_weight", self.class_weight, ("balanced",))
        elif isinstance(self.class_weight, dict):
            for label, value in self.class_weight.items():
                check_number(f"class_weight of class {label!r}", value, at_least=0)
            if not self._open and not any(self.class_weight.get(label, 1.0) for label in self.classes_.tolist()):
                raise ValueError("class_weight is zero for every class: there is nothing to learn")
        elif self.class_weight is not None:
            raise ValueError(f"class_weight must be a dict, 'balanced' or None, got {self.class_weight!r}")

    def _with_class_weight(
        self,
        codes: NDArray[np.intp],
        counts: NDArray[np.bool_] | None,
        weight: Floats | None,
        *,
        everything: bool,
        n_before: int,
    ) -> Floats:
        """Multiply the weights of the rows by those of their classes."""
        counts = np.ones(len(codes), bool) if counts is None else counts
        if isinstance(self.class_weight, dict):
            weights = [float(self.class_weight.get(label, 1.0)) for label in self.classes_.tolist()]
            factor = np.array([*weights, 0.0])[codes]  # 0.0: there may be no class yet
        else:
            counted = codes[counts]
            before = getattr(self, "class_counts_", np.zeros(0, np.int64))
            self._tally = n_before, before, counted
            if everything:  # as compute_class_weight of scikit-learn
                rows_of_class = np.bincount(counted, minlength=len(self.classes_))
                factor = (len(counted) / (len(self.classes_) * rows_of_class))[codes]
            else:
                factor = self._balanced(codes, counts, before)
        factor[~counts] = 0.0
        return np.ascontiguousarray(factor if weight is None else factor * weight, dtype=np.float64)

    @property
    def class_counts_(self) -> NDArray[np.int64]:
        """The rows of each class so far, which ``class_weight="balanced"`` counts."""
        if not hasattr(self, "_tally"):
            raise AttributeError(f"{type(self).__name__} counts classes where class_weight is 'balanced'")
        # From what was known beforehand and the rows that were learned from, so that no interruption loses one.
        t, counts, codes = self._tally
        more = np.bincount(codes[: self._learner.t - t], minlength=len(self.classes_))
        more[: len(counts)] += counts
        return more

    @class_counts_.setter
    def class_counts_(self, counts: NDArray[np.int64]) -> None:
        self._tally = self._learner.t, counts, np.zeros(0, np.intp)

    def _balanced(self, codes: NDArray[np.intp], counts: NDArray[np.bool_], before: NDArray[np.int64]) -> Floats:
        """Return ``(n + mC) / (C (n_c + m))`` for each row, at most 100, with m = 10.

        n rows, C classes and n_c rows of the own class are counted up to and including the row, so that how rows are
        cut into calls does not matter.
        """
        n = int(before.sum()) + np.cumsum(counts)
        if self._open:
            found = np.maximum.accumulate(np.where(counts, codes + 1, 0))
            n_classes = np.maximum(found, np.count_nonzero(before)).clip(1)
        else:
            n_classes = np.full(len(codes), len(self.classes_))
        own = np.zeros(len(codes), np.int64)
        for code in np.unique(codes[counts]).tolist():
            mine = counts & (codes == code)
            own[mine] = (before[code] if code < len(before) else 0) + np.cumsum(mine)[mine]
        return np.asarray(np.minimum((n + _SMOOTHING * n_classes) / (n_classes * (own + _SMOOTHING)), _MOST_WEIGHT))

    def _saved_fields(self) -> dict[str, Any]:
        counts = {"class_counts_": self.class_counts_} if hasattr(self, "class_counts_") else {}
        return super()._saved_fields() | counts

    def _check_loaded(self) -> None:
        check_flag("open_labels", self._open)
        if not isinstance(self.classes_, np.ndarray) or self.classes_.ndim != 1:  # type: ignore[redundant-expr]
            raise ValueError("classes must be an array of labels")
        if self.classes_.dtype.kind == "O" and not all(type(label) is str for label in self.classes_):
            raise ValueError("classes that are objects must be text")
        if len(np.unique(self.classes_)) != len(self.classes_) or (not self._open and len(self.classes_) < 2):
            raise ValueError("classes must be different labels, at least two of them")
        super()._check_loaded()
        counted = "class_counts_" in vars(self)
        counts = self.__dict__.pop("class_counts_", np.zeros(len(self.classes_), np.int64))
        if not isinstance(counts, np.ndarray) or counts.dtype != np.int64 or counts.shape != self.classes_.shape:
            raise ValueError("class_counts must be integers, one for each class")
        if (counts < 0).any() or counts.sum() > self._learner.t:
            raise ValueError("class_counts must not be negative, nor more than the rows")
        if counted:
            self.class_counts_ = counts
        expected = 1 if self._is_binary() else len(self.classes_)
        learner = self._learner
        if learner.t > 0 and learner.n_outputs != expected:
            raise ValueError(f"the learner has {learner.n_outputs} outputs for {len(self.classes_)} classes")
        if not self._open and not np.array_equal(self.classes_, np.unique(self.classes_)):
            raise ValueError("classes must be in ascending order")

    def _learned(self) -> None:
        super()._learned()
        # An interrupted call may have seen fewer new classes than its rows have.
        if self._open and len(self.classes_) > self._learner.n_outputs:
            self.classes_ = self.classes_[: self._learner.n_outputs]


@estimator
class KernelClassifierBase(ClassifierBase, OneKernel):
    """A classifier with one kernel."""


@estimator
class RegressorBase(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Targets and predictions."""

    fit_intercept: bool = True

    def partial_fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from more rows, in order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self._go_on(X, y, sample_weight, scores=False)
        return self

    def predict_then_learn(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Floats:
        """Return the prediction for each row before learning from it, then learn from it: the online protocol.

        Parameters are those of `partial_fit`.
        """
        scores = self._go_on(X, y, sample_weight, scores=True)
        assert scores is not None
        return scores

    def predict(self, X: ArrayLike) -> Floats:
        """Return the prediction for each row."""
        return self._shaped(self._scores(X))

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> Floats:
        """Return an interval for each row that is to hold this fraction of the targets.

        Of a level that was named in the constructor's `coverage` this holds on any stream whose targets are learned
        from; of others the latest rows tell. Without it an interval is as many standard deviations wide as in a normal
        distribution, where the model knows them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The lower and the upper end.
        """
        threshold = self._threshold(coverage)
        mean = self.predict(X)
        deviations = self._deviations(self._validated(X, reset=False, dtype=self._learner.dtype))
        if threshold is None:
            if deviations is None:
                raise ValueError(
                    f"predict_interval needs coverage=({coverage},) in the constructor: this model knows no deviations"
                )
            threshold = float(ndtri((1 + coverage) / 2))
        # A deviation of 0 times no bound is no bound.
        half = np.full(len(mean), threshold) if deviations is None else np.full(len(mean), np.inf)
        if deviations is not None and np.isfinite(threshold):
            half = threshold * deviations
        least = 0.0 if isinstance(self._loss_of_recipe, Poisson) else -np.inf  # counts are in their range
        return np.column_stack([np.maximum(mean - half, least), mean + half])

    def _score_to_cover(self, scores: Floats, target: float, deviations: Floats | None) -> float | None:
        residual = abs(float(self._shaped(scores[None])[0]) - target)
        if deviations is None:
            return residual
        return residual / float(deviations[0]) if deviations[0] > 0 else None

    def _task(self) -> str:
        return "regression"

    def _checked_targets(
        self, y: ArrayLike, rows: NDArray[Any], weight: Floats | None, *, first: bool, everything: bool, classes: object
    ) -> tuple[Floats, Floats | None]:
        targets = _vector(y)
        if targets.dtype.kind in "OUS":
            try:
                targets = targets.astype(np.float64)
            except (ValueError, OverflowError) as error:
                raise ValueError(f"y must be numbers for a regression: {error}") from None
        if targets.dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be real numbers")
        if len(targets) != rows.shape[0]:
            raise ValueError(f"y must have one target for each of the {rows.shape[0]} rows, got {len(targets)}")
        targets = np.ascontiguousarray(targets, dtype=np.float64)
        check_finite("y", targets)
        self._loss_of_recipe.check_targets(targets)
        return targets, weight

    @property
    def _loss_of_recipe(self) -> Loss:
        learner = getattr(self, "_learner", None)
        return (self._recipe(horizon=None) if learner is None else learner.recipe).loss

    def _shaped(self, scores: Floats) -> Floats:
        return self._loss_of_recipe.prediction(scores[:, 0])


@estimator
class KernelRegressorBase(RegressorBase, OneKernel):
    """A regressor with one kernel."""
