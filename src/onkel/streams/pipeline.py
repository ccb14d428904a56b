"""A scaler and an estimator that learn together from a stream."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from onkel.contents import Contents, contents_of
from onkel.estimators.base import KernelEstimator
from onkel.estimators.notebook import NotebookView
from onkel.learner import Learner
from onkel.streams.scalers import StreamScaler
from onkel.utils.turns import in_turn
from onkel.utils.validation import check_weights


def _has(method: str) -> Any:
    return available_if(lambda pipeline: hasattr(pipeline.estimator, method))


class StreamPipeline(NotebookView, BaseEstimator):  # type: ignore[misc]
    """A scaler before an estimator, both learning from the same stream.

    In `partial_fit` and `predict_then_learn` each row is scaled by the statistics of all rows up to and including
    itself (of its features; no label is looked at), then the estimator scores it and learns from it. So the rows may be
    cut into calls in any way. `fit` has all rows before it, and scales them all by the statistics of all.

    Parameters
    ----------
    scaler : StreamStandardScaler or StreamMinMaxScaler
    estimator : estimator
        Any of onkel's.

    Attributes
    ----------
    scaler_ : the fitted scaler
    estimator_ : the fitted estimator
        Its own attributes (``classes_``, ``n_support_``, ``t_`` and so on) are the pipeline's too.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.random.default_rng(0).normal(size=(600, 2)) * [1, 1000]
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = onkel.StreamPipeline(onkel.StreamStandardScaler(), onkel.OGDClassifier(gamma=1.0, random_state=0))
    >>> for rows in np.split(np.arange(600), 6):
    ...     model = model.partial_fit(X[rows], y[rows], classes=[False, True])
    >>> model.t_, bool(model.score(X, y) > 0.9)
    (600, True)
    """

    def __init__(self, scaler: Any, estimator: Any) -> None:
        self.scaler = scaler
        self.estimator = estimator

    # -- fitting

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn anew from all rows, scaled by the statistics of all.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 do not count for the scaler either.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    @in_turn
    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, scored: Any = None) -> Self:
        scaler, estimator = self._clones()
        _, scaler._statistics = scaler._learned(X, _counts(X, sample_weight))
        estimator._fit(scaler.transform(X), y, sample_weight, scored)
        self.scaler_, self.estimator_ = scaler, estimator
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, **options: Any) -> Self:
        """Learn from more rows, in order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        **options
            For the estimator's `partial_fit`: ``classes``, ``sample_weight``.

        Returns
        -------
        self
        """
        self._learn("partial_fit", X, y, options)
        return self

    def predict_then_learn(self, X: ArrayLike, y: ArrayLike, **options: Any) -> NDArray[np.float64]:
        """Return each row's score made before learning from it, then learn from it: the online protocol.

        Parameters are those of `partial_fit`.
        """
        return np.asarray(self._learn("predict_then_learn", X, y, options))

    @in_turn
    def _learn(self, method: str, X: ArrayLike, y: ArrayLike, options: dict[str, Any]) -> Any:
        """Scale row by row, then learn; the scaler keeps up with the estimator when that stops between two rows."""
        first = not hasattr(self, "estimator_")
        scaler, estimator = self._clones() if first else (self.scaler_, self.estimator_)
        estimator.n_jobs = self.estimator.n_jobs
        counts = _counts(X, options.get("sample_weight"))
        scaled, statistics = scaler._learned(X, counts)
        before = _rows_of(estimator)
        try:
            result = getattr(estimator, method)(scaled, y, **options)
        except BaseException:
            learned = _rows_of(estimator) - before
            if learned:  # an interruption: as many rows count as were learned from
                counted = np.flatnonzero(np.ones(scaled.shape[0], bool) if counts is None else counts)
                kept = np.isin(np.arange(scaled.shape[0]), counted[:learned])
                scaler._statistics = scaler._learned(X, kept)[1]
                self.scaler_, self.estimator_ = scaler, estimator
            raise
        if hasattr(estimator, "_learner"):  # otherwise no row counted: as if it had not been
            scaler._statistics = statistics
            self.scaler_, self.estimator_ = scaler, estimator
        return result

    def _clones(self) -> tuple[StreamScaler, KernelEstimator]:
        if not isinstance(self.scaler, StreamScaler):
            raise ValueError(f"scaler must be a StreamStandardScaler or a StreamMinMaxScaler, got {self.scaler!r}")
        if not isinstance(self.estimator, KernelEstimator):
            raise ValueError(f"estimator must be one of onkel's estimators, got {self.estimator!r}")
        return clone(self.scaler), clone(self.estimator)

    # -- predicting

    def _scaled(self, X: ArrayLike) -> Any:
        check_is_fitted(self)
        return self.scaler_.transform(X)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the prediction for each row."""
        rows = self._scaled(X)
        return np.asarray(self.estimator_.predict(rows))

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each row."""
        rows = self._scaled(X)
        return np.asarray(self.estimator_.decision_function(rows))

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class."""
        rows = self._scaled(X)
        return np.asarray(self.estimator_.predict_proba(rows))

    def _scores_of_next(self, X: ArrayLike) -> NDArray[np.float64]:
        """What `predict_then_learn` would return for one row, which is scaled by itself, too."""
        return np.asarray(self.estimator_.decision_function(self.scaler_._learned(X)[0]))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the estimator's own score: accuracy, or R² for a regression."""
        rows = self._scaled(X)
        return float(self.estimator_.score(rows, y, sample_weight))

    # -- the fitted model

    def __getattr__(self, name: str) -> Any:
        """The estimator's fitted attributes, and the scaler's names of the features."""
        if name.endswith("_") and not name.startswith("_") and "estimator_" in vars(self):
            owner = self.scaler_ if name in ("n_features_in_", "feature_names_in_") else self.estimator_
            return getattr(owner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __onkel_contents__(self) -> Contents:
        fitted = self.__sklearn_is_fitted__()
        inside = contents_of(self.estimator_ if fitted else self.estimator)
        scaler = self.scaler_ if fitted else self.scaler
        return replace(inside, scaler=scaler, facts={"scaler": type(scaler).__name__, **inside.facts})

    def __onkel_with_learner__(self, learner: Learner) -> Self:
        other = copy.copy(self)
        other.scaler_ = copy.deepcopy(self.scaler_)
        other.estimator_ = self.estimator_.__onkel_with_learner__(learner)
        return other

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.sparse = self.scaler.__sklearn_tags__().input_tags.sparse and inner.input_tags.sparse
        return tags

    # -- saving (see onkel.models.persistence)

    def _saved_fields(self) -> dict[str, Any]:
        return {name: vars(self).get(name) for name in ("scaler", "estimator", "scaler_", "estimator_")}

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        pipeline = cls(fields["scaler"], fields["estimator"])
        pipeline._clones()
        fitted = {name: fields[name] for name in ("scaler_", "estimator_")}
        if fitted != {"scaler_": None, "estimator_": None}:
            for name in ("scaler", "estimator"):
                value = fitted[f"{name}_"]
                if type(value) is not type(getattr(pipeline, name)) or not value.__sklearn_is_fitted__():
                    raise ValueError(f"fitted_{name} must be fitted, and of the class of {name}")
            if fitted["scaler_"].n_features_in_ != fitted["estimator_"].n_features_in_:
                raise ValueError("fitted_scaler and fitted_estimator must have the same number of features")
            pipeline.__dict__.update(fitted)
        return pipeline


def _rows_of(estimator: Any) -> int:
    return int(estimator.t_) if hasattr(estimator, "_learner") else 0


def _counts(X: Any, sample_weight: ArrayLike | None) -> NDArray[np.bool_] | None:
    """Which rows count: those whose weight is not 0."""
    if sample_weight is None:
        return None
    weight = check_weights(sample_weight, _num_samples(X))
    return None if weight is None else weight != 0
