"""Probabilities for learners whose loss has none: Platt's sigmoids, learned along with the estimator."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from onkel.estimators.notebook import NotebookView
from onkel.estimators.sigmoids import Sigmoids, margins
from onkel.estimators.targets import ClassifierBase, label_vector
from onkel.inside import Inside, Model, facts, inside
from onkel.learner import Learner
from onkel.utils.labels import places
from onkel.utils.turns import in_turn
from onkel.utils.validation import check_number, check_weights

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Shown:
    """A row that an estimator is shown alone: the rows and classes before it, its scores and its label."""

    t: int
    known: int
    scores: Floats
    labels: NDArray[Any]
    sigmoids: Sigmoids  # before it


class PlattClassifier(NotebookView, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier with probabilities: an estimator, and a sigmoid of its scores for each class.

    Both learn from the same stream. The sigmoids see the score of each row before the estimator learns from it, so that
    no row is set aside for them, and cutting the stream into calls in another way changes no bit. `fit` shows them the
    rows of its first epoch in the order of learning. A call that is interrupted leaves both as they were before it.

    Platt (1999) with his regularised targets; each row is one second-order step on the two numbers of a sigmoid. With
    several classes the sigmoid of a class sees its score minus the largest other score, and the probabilities are
    divided by their sum.

    Parameters
    ----------
    estimator : estimator
        A classifier of onkel, or a `StreamPipeline` with one. A classifier with the log loss has probabilities of its
        own.
    forget : float, default=0.999
        ρ: the weight of earlier rows falls by this factor with every row, since the scores of a learner drift as it
        learns; that of the first rows falls faster.

    Attributes
    ----------
    estimator_ : the fitted estimator
        Its own attributes (``n_support_``, ``t_`` and so on) are attributes of this classifier, too.
    classes_ : ndarray of shape (n_classes,)
    sigmoids_ : ndarray of shape (1 or n_classes, 2)
        Slopes a and offsets b: the probability of a class is ``1 / (1 + exp(-(a f + b)))`` before it is normalised;
        with two classes, that of the second.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 1))
    >>> y = rng.random(5000) < 1 / (1 + np.exp(-3 * X[:, 0]))
    >>> model = onkel.PlattClassifier(onkel.SPAClassifier(gamma=0.5, budget=50, random_state=0)).fit(X, y)
    >>> model.predict_proba([[1.0]]).round(1)  # the truth is 0.05 and 0.95
    array([[0.1, 0.9]])
    """

    estimator_: Any
    _sigmoids: Sigmoids
    _shown: _Shown | None = None

    def __init__(self, estimator: Any, *, forget: float = 0.999) -> None:
        self.estimator = estimator
        self.forget = forget

    # -- fitting

    @in_turn
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, from all rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        estimator = self._clone()
        scored: list[tuple[Any, Floats]] = []
        estimator._fit(X, y, sample_weight, scored)
        sigmoids = Sigmoids(self.forget, _is_binary(estimator))
        labels, weight = label_vector(y), check_weights(sample_weight, _num_samples(y))
        for rows, scores in scored:
            _learn(sigmoids, estimator, scores, labels[rows], None if weight is None else weight[rows], known=0)
        self._take_over(estimator, sigmoids)
        return self

    def partial_fit(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from more rows, in order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will occur, needed in the first call only. Without it the set of labels is open.
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        self
        """
        self.predict_then_learn(X, y, classes, sample_weight)
        return self

    @in_turn
    def predict_then_learn(
        self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Floats:
        """Return each row's log odds made before learning from it, then learn from it: the online protocol.

        Parameters are those of `partial_fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function`; 0 for a class that was not known yet.
        """
        self._settle(self._shown)  # what an interruption has left
        self._shown = None
        options = {name: v for name, v in (("classes", classes), ("sample_weight", sample_weight)) if v is not None}
        if self.__sklearn_is_fitted__() and _num_samples(y) == 1 and sample_weight is None:
            return self._learn_one(X, y, options)
        # Both learn in copies, which replace the models together: whatever stops the call, they stay consistent.
        known = 0
        if self.__sklearn_is_fitted__():
            estimator, sigmoids = copy.deepcopy(self.estimator_), copy.deepcopy(self._sigmoids)
            known = len(estimator.classes_)
        else:
            estimator, sigmoids = self._clone(), None
        if hasattr(self.estimator, "n_jobs"):
            estimator.n_jobs = self.estimator.n_jobs
        scores = estimator.predict_then_learn(X, y, **options)
        if not estimator.__sklearn_is_fitted__():  # no row counted: as if the call had not happened
            named = classes is not None and scores.ndim == 2  # several classes, of which none has come
            return np.full_like(scores, -math.log(scores.shape[1]) if named else 0.0)
        if sigmoids is None:
            sigmoids = Sigmoids(self.forget, _is_binary(estimator))
        weight = check_weights(sample_weight, scores.shape[0])
        probabilities = _learn(sigmoids, estimator, scores, label_vector(y), weight, known)
        self._take_over(estimator, sigmoids)
        return probabilities

    def _learn_one(self, X: ArrayLike, y: ArrayLike, options: dict[str, Any]) -> Floats:
        """Learn from one row in place: a row is learned completely or not at all, and its scores come first."""
        scores = self.estimator_._scores_of_next(X)
        self._shown = shown = _Shown(self.t_, len(self.classes_), scores, label_vector(y), self._sigmoids)
        try:
            self.estimator_.partial_fit(X, y, **options)
        finally:  # there may have been an interruption after the row, and this may be interrupted, too
            before = self._settle(shown)
            self._shown = None
        return before

    def _settle(self, shown: _Shown | None) -> Floats:
        """Let the sigmoids learn from the row that the estimator was shown alone, if it has learned from it; return
        the row's log odds before that."""
        if shown is None or self.t_ == shown.t:
            return np.zeros(0) if shown is None else shown.scores
        scores, sigmoids = shown.scores, shown.sigmoids.copy()
        if scores.ndim == 2:
            scores = np.pad(scores, ((0, 0), (0, len(self.classes_) - shown.known)))
        before = _learn(sigmoids, self.estimator_, scores, shown.labels, None, shown.known)
        self.__dict__.update(_sigmoids=sigmoids, _shown=None)
        return before

    def _take_over(self, estimator: Any, sigmoids: Sigmoids) -> None:
        self.__dict__.update(estimator_=estimator, _sigmoids=sigmoids)  # at once: other threads may predict meanwhile

    def _clone(self) -> Any:
        if not isinstance(self.estimator, Model) or not isinstance(inside(self.estimator).estimator, ClassifierBase):
            raise ValueError(f"estimator must be one of onkel's classifiers, got {self.estimator!r}")
        check_number("forget", self.forget, above=0, at_most=1)
        return clone(self.estimator)

    # -- predicting

    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the log odds of the second of two classes for each row; with more, the log probability of each.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        self._settle(self._shown)
        fitted = vars(self).copy()  # both from the same moment, since another thread may learn
        scores = np.asarray(fitted["estimator_"].decision_function(X))
        columns = scores[:, None] if scores.ndim == 1 else scores
        log_odds = np.full(columns.shape, -np.inf)  # a class that only the estimator has seen is not known yet
        for i, row in enumerate(columns.tolist()):
            odds = fitted["_sigmoids"].log_odds(margins(row))
            log_odds[i, : len(odds)] = odds
        return log_odds.reshape(scores.shape)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        odds = self.decision_function(X)
        return np.column_stack([expit(-odds), expit(odds)]) if odds.ndim == 1 else np.exp(odds)

    def predict_log_proba(self, X: ArrayLike) -> Floats:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        odds = self.decision_function(X)
        return np.asarray(log_expit(np.column_stack([-odds, odds]))) if odds.ndim == 1 else odds

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row."""
        odds = self.decision_function(X)
        index = (odds > 0).astype(np.intp) if odds.ndim == 1 else odds.argmax(axis=1)
        return np.asarray(self.classes_[index])

    # -- the fitted model

    @property
    def sigmoids_(self) -> Floats:
        """Slopes and offsets of the sigmoids."""
        check_is_fitted(self)
        self._settle(self._shown)
        return self._sigmoids.array()[:, :2]

    def __getattr__(self, name: str) -> Any:
        """The estimator's fitted attributes."""
        if name.endswith("_") and not name.startswith("_") and "estimator_" in vars(self):
            return getattr(self.estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __onkel_inside__(self) -> Inside:
        return replace(inside(self._present), calibrated=True)

    def __onkel_facts__(self) -> dict[str, Any]:
        return {"calibration": "Platt's sigmoids", **facts(self._present)}

    @property
    def _present(self) -> Any:
        return self.estimator_ if self.__sklearn_is_fitted__() else self.estimator

    def __onkel_with_learner__(self, learner: Learner) -> Self:
        self._settle(self._shown)
        other = copy.copy(self)
        other.estimator_ = self.estimator_.__onkel_with_learner__(learner)
        other._sigmoids, other._shown = self._sigmoids.copy(), None
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return "estimator_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = self.estimator.__sklearn_tags__().input_tags
        return tags

    # -- saving (see onkel.files.persistence)

    def _saved_fields(self) -> dict[str, Any]:
        fields: dict[str, Any] = {"estimator": self.estimator, "forget": self.forget}
        if not self.__sklearn_is_fitted__():
            return {**fields, "estimator_": None, "sigmoids": None, "rows": None}
        self._settle(self._shown)
        sigmoids = self._sigmoids
        return {**fields, "estimator_": self.estimator_, "sigmoids": sigmoids.array(), "rows": sigmoids.rows}

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        platt = cls(fields["estimator"], forget=fields["forget"])
        platt._clone()
        fitted, table, rows = fields["estimator_"], fields["sigmoids"], fields["rows"]
        if fitted is None:
            if table is not None or rows is not None:
                raise ValueError("it has sigmoids, but no fitted estimator")
            return platt
        if type(fitted) is not type(platt.estimator) or not fitted.__sklearn_is_fitted__():
            raise ValueError("fitted_estimator must be fitted, and of the class of estimator")
        platt._sigmoids = Sigmoids.from_array(platt.forget, _is_binary(fitted), table, rows, len(fitted.classes_))
        platt.estimator_ = fitted
        return platt


def _is_binary(estimator: Any) -> bool:
    return bool(inside(estimator).estimator._is_binary())


def _learn(
    sigmoids: Sigmoids,
    estimator: Any,
    scores: Floats,
    labels: NDArray[Any],
    weight: Floats | None,
    known: int,
) -> Floats:
    """Let the sigmoids learn from rows in order; return the log odds before each. `known`: the classes before them."""
    inner = inside(estimator).estimator
    codes, recognised = places(inner.classes_, labels)
    counts = recognised if weight is None else recognised & (weight != 0)
    columns = scores[:, None] if scores.ndim == 1 else scores
    widths = np.full(len(columns), columns.shape[1])
    if inner._open:  # a class has a score from its first row on
        widths = np.maximum.accumulate(np.maximum(np.where(counts, codes + 1, 0), known)).astype(int)
    probabilities = np.zeros(columns.shape)
    for width in np.unique(widths).tolist():
        rows = np.flatnonzero(widths == width)
        for i, row in zip(rows.tolist(), columns[rows, :width].tolist(), strict=True):
            seen = margins(row)
            before = sigmoids.log_odds(seen)
            probabilities[i, : len(before)] = before
            if counts[i]:
                sigmoids.learn(seen, int(codes[i]), 1.0 if weight is None else float(weight[i]))
    return probabilities.reshape(scores.shape)
