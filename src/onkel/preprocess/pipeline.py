"""Transformers and an estimator that learn together from a stream."""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from onkel.estimators.base import KernelEstimator
from onkel.estimators.named import NewtonClassifier
from onkel.estimators.notebook import NotebookView
from onkel.estimators.one_kernel import most_important, with_sum_one
from onkel.estimators.platt import PlattClassifier
from onkel.inside import Inside, facts, inside
from onkel.learner import Learner
from onkel.preprocess import foreign
from onkel.preprocess.encoder import StreamEncoder
from onkel.preprocess.scalers import StreamScaler
from onkel.preprocess.targets import Targets
from onkel.regions import described
from onkel.utils.chunks import cut
from onkel.utils.labels import joined
from onkel.utils.turns import in_turn
from onkel.utils.validation import check_weights

LEARNING = StreamScaler, StreamEncoder  # transformers that learn along with the estimator


def _has(method: str) -> Any:
    return available_if(lambda pipeline: hasattr(pipeline.estimator, method))


def make_stream_pipeline(
    learner: Any = None, *, schema: dict[str, str] | None = None, max_categories: int = 32, dtype: str = "float64"
) -> StreamPipeline | PlattClassifier:
    """Return an encoder, which prepares each column of a table by its type, before an estimator.

    Parameters
    ----------
    learner : estimator, default=None
        Any of onkel's estimators; None is a `NewtonClassifier` with its defaults. A `PlattClassifier` is put around the
        pipeline: its sigmoids need the rows' scores, whatever comes before.
    schema, max_categories, dtype
        Of the `StreamEncoder`.

    Returns
    -------
    StreamPipeline, or PlattClassifier with one

    Examples
    --------
    >>> import onkel
    >>> rows = {"age": [31, 58, None, 60] * 25, "town": ["Bern", "Chur", "Bern", "Chur"] * 25}
    >>> model = onkel.make_stream_pipeline().partial_fit(rows, ["stay", "go", "stay", "go"] * 25)
    >>> model.predict({"town": ["Chur", "Bern"], "age": [59, 33]}).tolist()
    ['go', 'stay']
    """
    if isinstance(learner, PlattClassifier):
        inner = make_stream_pipeline(learner.estimator, schema=schema, max_categories=max_categories, dtype=dtype)
        return PlattClassifier(inner, forget=learner.forget)
    encoder = StreamEncoder(schema=schema, max_categories=max_categories, dtype=dtype)
    return StreamPipeline(encoder, NewtonClassifier() if learner is None else learner)


@dataclass(frozen=True)
class _Shown:
    """Rows that an estimator is shown, and what the transformers know when it has learned from all of them."""

    transformers: list[Any]
    estimator: Any
    t: int  # the estimator's rows before
    rows: Any
    y: Any
    options: dict[str, Any]
    counts: NDArray[np.bool_]
    targets: Targets | None
    statistics: list[Any]

    def taken_in(self, first: Any) -> tuple[list[Any], list[Any], Any, Any] | None:
        """Return transformers, their statistics, the estimator and the labels of the first rows, `first` and those of
        the rows learned from; None if it has learned from no row."""
        counted = np.flatnonzero(self.counts)
        learned = _rows_of(self.estimator) - self.t
        if not learned:
            return None
        kept, statistics = self.counts, self.statistics
        if learned < len(counted):
            kept = np.isin(np.arange(len(kept)), counted[:learned])
            targets = None if self.targets is None else self.targets.only(kept)
            statistics = _through(self.transformers, self.rows, kept, targets)[1]
        lead = self.transformers[0]
        if not isinstance(lead, StreamEncoder) or statistics[0].first is None:
            return self.transformers, statistics, self.estimator, None
        labels, weight = np.asarray(self.y)[kept], _weights(self.options.get("sample_weight"), kept)
        if first is not None:
            labels, weight = joined([first[0], labels]), np.concatenate([first[1], weight])
        return self.transformers, statistics, self.estimator, (labels, weight)


class StreamPipeline(NotebookView, BaseEstimator):  # type: ignore[misc]
    """Transformers before an estimator, all learning from the same stream.

    In `partial_fit` and `predict_then_learn` each row is transformed by the statistics of all rows up to and including
    itself (of its features; what an encoder knows of the labels is that of the rows before), then the estimator scores
    it and learns from it. So the rows may be cut into calls in any way. `fit` has all rows before it, and transforms
    them all by the statistics of all; the labels are still those of the rows before.

    Where one of the first 4,096 rows shows that a column is something else than it was so far, such as a number that
    turns out to be a category, everything behind a `StreamEncoder` starts anew with the rows so far.

    Parameters
    ----------
    transformers : transformer, or list of them
        `StreamEncoder` (first), `StreamStandardScaler` and `StreamMinMaxScaler` learn along. Transformers of
        scikit-learn must be fitted already, or have nothing to fit; they stay as they are.
    estimator : estimator
        Any of onkel's.

    Attributes
    ----------
    transformers_ : list of the fitted transformers
    estimator_ : the fitted estimator
        Its own attributes (``classes_``, ``n_support_``, ``t_`` and so on) are the pipeline's too.

    See Also
    --------
    make_stream_pipeline : The pipeline for tables.

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

    _shown: _Shown | None = None  # while the estimator learns
    _taken_in: tuple[list[Any], list[Any], Any, Any] | None = None  # while the transformers follow it

    def __init__(self, transformers: Any, estimator: Any) -> None:
        self.transformers = transformers
        self.estimator = estimator

    # -- fitting

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from scratch, from all rows, transformed by the statistics of all.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
            Rows of weight 0 do not count for the transformers either.

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    @in_turn
    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, scored: Any = None) -> Self:
        transformers, estimator = self._clones()
        counts, rows = _counts(y, sample_weight), X
        for transformer in transformers:
            if isinstance(transformer, StreamEncoder):
                targets = _targets(estimator, y, sample_weight, everything=True)
                rows, transformer._statistics = transformer._fitted(rows, counts, targets)
            elif isinstance(transformer, LEARNING):
                rows, transformer._statistics = transformer._fitted(rows, counts)
            else:
                rows = transformer.transform(rows)
        estimator._fit(rows, y, sample_weight, scored)
        self.take_over(transformers, estimator, None)
        if isinstance(transformers[0], StreamEncoder):
            transformers[0].warn_of_strays(())
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, **options: Any) -> Self:
        """Learn from more rows, in order.

        Parameters
        ----------
        X : array-like or table of shape (n_samples, n_features)
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
    def _learn(self, method: str, X: Any, y: ArrayLike, options: dict[str, Any]) -> Any:
        """Learn from rows, cut where a column turns out to be of another kind than so far."""
        self._settle()
        first = not hasattr(self, "estimator_")
        transformers, estimator = self._clones() if first else (self.transformers_, self.estimator_)
        estimator.n_jobs = self.estimator.n_jobs
        lead = transformers[0]
        if not isinstance(lead, StreamEncoder):
            return self._learn_rows(method, X, y, options, transformers, estimator)
        fitted = lead if hasattr(lead, "_statistics") else clone(lead)
        notes = fitted.worth_telling()
        table = fitted._validated(X, first=first)
        counts = _counts(table, options.get("sample_weight"))
        changes = fitted.changes(table, np.ones(len(table), bool) if counts is None else counts)
        cuts = [0, *(row for row, _, _ in changes if row > 0), len(table)]
        before = None if len(cuts) == 2 and not changes else copy.deepcopy({**vars(self)})
        chain = []
        try:
            for begin, end in itertools.pairwise(cuts):
                if end == begin and len(table):
                    continue
                change = next(((kinds, found) for row, kinds, found in changes if row == begin), None)
                if change is not None and hasattr(self, "estimator_"):
                    self._start_anew(*change)
                if hasattr(self, "estimator_"):
                    transformers, estimator = self.transformers_, self.estimator_
                piece = slice(begin, end)
                (part,) = cut((y,), piece)
                chain.append(
                    self._learn_rows(method, table[piece], part, _cut(options, piece), transformers, estimator)
                )
        except Exception:
            if before is not None:  # a refusal changes nothing
                for name in vars(self).keys() - before.keys():
                    delattr(self, name)
                self.__dict__.update(before)
            raise
        if hasattr(self, "transformers_"):
            self.transformers_[0].warn_of_strays(notes)
        return _stacked(chain) if method == "predict_then_learn" else None

    def _start_anew(self, kinds: tuple[str, ...], found: tuple[str, ...]) -> None:
        """Show the rows so far to a new estimator, encoded as what their columns turned out to be."""
        lead, old = self.transformers_[0], self.estimator_
        kept, (labels, weight) = lead.kept, self._first
        transformers, estimator = self._clones()
        transformers[0] = lead.restarted(kinds, found)
        estimator.n_jobs = self.estimator.n_jobs
        options: dict[str, Any] = {"sample_weight": weight}
        if hasattr(old, "classes_") and not old._open:
            options["classes"] = old.classes_
        fresh = copy.copy(self)
        for name in ("transformers_", "estimator_", "_first"):
            fresh.__dict__.pop(name, None)
        fresh._learn_rows("partial_fit", kept, labels, options, transformers, estimator)
        self.take_over(fresh.transformers_, fresh.estimator_, fresh._first)

    def _learn_rows(
        self, method: str, X: Any, y: Any, options: dict[str, Any], transformers: list[Any], estimator: Any
    ) -> Any:
        """Transform row by row, then learn; transformers keep up with an estimator that stops between two rows."""
        counts = _counts(X, options.get("sample_weight"))
        targets = _targets(estimator, y, **options) if isinstance(transformers[0], StreamEncoder) else None
        rows, statistics = _through(transformers, X, counts, targets)
        counts = np.ones(rows.shape[0], bool) if counts is None else counts
        self._shown = _Shown(transformers, estimator, _rows_of(estimator), X, y, options, counts, targets, statistics)
        try:
            return getattr(estimator, method)(rows, y, **options)
        finally:
            self._settle()

    def _settle(self) -> None:
        """Take in the rows that the estimator has learned from, of those that it was shown last.

        What interrupts this leaves it to the next use: nothing is counted twice, and nothing is forgotten.
        """
        if self._shown is not None:
            taken_in = self._shown.taken_in(vars(self).get("_first"))
            self.__dict__.update(_shown=None, _taken_in=taken_in)
        if self._taken_in is not None:
            transformers, statistics, estimator, first = self._taken_in
            for transformer, state in zip(transformers, statistics, strict=True):
                if state is not None:
                    transformer._statistics = state
            self.__dict__.update(transformers_=transformers, estimator_=estimator, _first=first, _taken_in=None)

    def take_over(self, transformers: list[Any], estimator: Any, first: Any = None) -> None:
        """Make transformers and an estimator that were fitted elsewhere the pipeline's own."""
        self.__dict__.update(transformers_=transformers, estimator_=estimator, _first=first)

    def _chain(self) -> list[Any]:
        return list(self.transformers) if isinstance(self.transformers, list | tuple) else [self.transformers]

    def _clones(self) -> tuple[list[Any], KernelEstimator]:
        chain = self._chain()
        if not chain:
            raise ValueError("transformers must be one or more: an estimator without any needs no pipeline")
        for place, transformer in enumerate(chain):
            if isinstance(transformer, StreamEncoder) and place:
                raise ValueError("a StreamEncoder must be the first of the transformers: it takes tables")
            if not isinstance(transformer, LEARNING):
                foreign.check_ready(transformer)
        if not isinstance(self.estimator, KernelEstimator):
            if isinstance(self.estimator, PlattClassifier):
                raise ValueError("a PlattClassifier must be around the pipeline: PlattClassifier(StreamPipeline(...))")
            raise ValueError(f"estimator must be one of onkel's estimators, got {self.estimator!r}")
        return [clone(each) if isinstance(each, LEARNING) else each for each in chain], clone(self.estimator)

    # -- predicting

    def _transformed(self, X: Any) -> Any:
        self._settle()
        check_is_fitted(self)
        for transformer in self.transformers_:
            X = transformer.transform(X)
        return X

    def predict(self, X: ArrayLike, **options: Any) -> Any:
        """Return the prediction for each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        **options
            For the estimator, such as `return_std`.
        """
        rows = self._transformed(X)
        return self.estimator_.predict(rows, **options)

    @_has("predict_interval")  # type: ignore[untyped-decorator]
    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.float64]:
        """Return an interval for each row that is to hold this fraction of the targets."""
        rows = self._transformed(X)
        return np.asarray(self.estimator_.predict_interval(rows, coverage))

    @_has("predict_set")  # type: ignore[untyped-decorator]
    def predict_set(self, X: ArrayLike, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return which classes each row may have, so many that this fraction of the rows has one of its set."""
        rows = self._transformed(X)
        return np.asarray(self.estimator_.predict_set(rows, coverage))

    @_has("decision_function")  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the score of each row."""
        rows = self._transformed(X)
        return np.asarray(self.estimator_.decision_function(rows))

    @_has("predict_proba")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class."""
        rows = self._transformed(X)
        return np.asarray(self.estimator_.predict_proba(rows))

    @_has("predict_log_proba")  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the logarithm of the probability of each class."""
        rows = self._transformed(X)
        return np.asarray(self.estimator_.predict_log_proba(rows))

    def _scores_of_next(self, X: ArrayLike) -> NDArray[np.float64]:
        """What `predict_then_learn` would return for one row, which is transformed by itself, too."""
        self._settle()
        lead, model = self.transformers_[0], self
        if isinstance(lead, StreamEncoder):
            changes = lead.changes(lead._validated(X, first=False), np.ones(1, bool))
            if changes:
                model = copy.copy(self)
                model._start_anew(*changes[0][1:])
        return np.asarray(model.estimator_._scores_of_next(_through(model.transformers_, X, None)[0]))

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the estimator's own score: accuracy, or R² for a regression."""
        rows = self._transformed(X)
        return float(self.estimator_.score(rows, y, sample_weight))

    # -- the fitted model

    def __getattr__(self, name: str) -> Any:
        """The estimator's fitted attributes, and the first transformer's names of the features."""
        if name.endswith("_") and not name.startswith("_"):
            self._settle()
            if name in vars(self):
                return vars(self)[name]
            if "estimator_" in vars(self):
                owner = self.transformers_[0] if name in ("n_features_in_", "feature_names_in_") else self.estimator_
                return getattr(owner, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def importances_(self) -> NDArray[np.float64]:
        """The importance of each feature in the kernel, independent of its unit; the largest is 1.

        Behind a `StreamEncoder` the features are the columns of the table: what a column becomes is summed.
        """
        check_is_fitted(self)
        importances, lead = np.asarray(self.estimator_.importances_), self.transformers_[0]
        if not isinstance(lead, StreamEncoder) or len(importances) != lead.n_features_out_:
            return importances
        sums = lead.sums_by_column(importances)
        return sums / sums.max() if sums.any() else sums

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """`importances_` with the sum 1, as scikit-learn's tools expect them."""
        return with_sum_one(self.importances_)

    def __onkel_inside__(self) -> Inside:
        estimator, chain = self._present
        takes_tables = isinstance(chain[0], StreamEncoder) if chain else False
        return replace(inside(estimator), transformers=chain, takes_tables=takes_tables)

    def __onkel_facts__(self) -> dict[str, Any]:
        estimator, chain = self._present
        found: dict[str, Any] = {}
        for transformer in chain:
            found |= _facts(transformer)
        found |= facts(estimator)
        if self.__sklearn_is_fitted__() and "n_features" in found:
            found["n_features"] = self.n_features_in_
        importances = self.importances_ if "importances" in found else np.zeros(0)
        if len(importances) == len(getattr(chain[0], "feature_names_in_", ())) > 0:
            found["importances"] = most_important(importances, chain[0].feature_names_in_)
        learner = inside(estimator).learner
        if "regions" in found and learner is not None and len(chain) == 1 and isinstance(chain[0], StreamEncoder):
            columns = chain[0].get_feature_names_out().tolist()  # a number keeps its name, and is scaled
            names = [f"scaled {name}" if name in chain[0].feature_names_in_ else name for name in columns]
            found["regions"] = described(learner.regions, names)
        return found

    @property
    def _present(self) -> tuple[Any, tuple[Any, ...]]:
        """The estimator and the transformers: the fitted ones, if they are."""
        self._settle()
        if self.__sklearn_is_fitted__():
            return self.estimator_, tuple(self.transformers_)
        return self.estimator, tuple(self._chain())

    def __onkel_with_learner__(self, learner: Learner) -> Self:
        other = copy.copy(self)
        other.transformers_ = copy.deepcopy(self.transformers_)
        other.estimator_ = self.estimator_.__onkel_with_learner__(learner)
        return other

    def __sklearn_is_fitted__(self) -> bool:
        self._settle()
        return "estimator_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        first = self._chain()[0].__sklearn_tags__().input_tags
        tags.input_tags.sparse = first.sparse and inner.input_tags.sparse
        tags.input_tags.allow_nan, tags.input_tags.categorical = first.allow_nan, first.categorical
        tags.input_tags.string = first.string
        return tags

    # -- saving (see onkel.files.persistence)

    def _saved_fields(self) -> dict[str, Any]:
        self._settle()
        fitted = vars(self).get("transformers_")
        fields: dict[str, Any] = {
            "transformers": _saved(self.transformers),
            "estimator": self.estimator,
            "transformers_": None if fitted is None else _saved(fitted if len(fitted) > 1 else fitted[0]),
            "estimator_": vars(self).get("estimator_"),
        }
        if vars(self).get("_first") is not None:
            fields["_first"] = {"labels": self._first[0], "weights": self._first[1]}
        return fields

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        pipeline = cls(_loaded(fields["transformers"]), fields["estimator"])
        pipeline._clones()
        transformers, estimator = _loaded(fields["transformers_"]), fields["estimator_"]
        if transformers is None and estimator is None:
            return pipeline
        chain = list(transformers) if isinstance(transformers, list) else [transformers]
        if type(estimator) is not type(pipeline.estimator) or not estimator.__sklearn_is_fitted__():
            raise ValueError("fitted_estimator must be fitted, and of the class of estimator")
        if [type(each) for each in chain] != [type(each) for each in pipeline._chain()]:
            raise ValueError("fitted_scaler must be of the class of scaler")
        for each in chain:
            foreign.check_ready(each)
        last = chain[-1]
        width = getattr(last, "n_features_out_", None) or getattr(last, "n_features_in_", None)
        if isinstance(last, LEARNING) and width != estimator.n_features_in_:
            raise ValueError("fitted_scaler and fitted_estimator must have the same number of features")
        pipeline.take_over(chain, estimator, _checked_first(fields.get("_first"), chain[0]))
        return pipeline


def _targets(
    estimator: Any, y: Any, sample_weight: Any = None, *, everything: bool = False, classes: Any = None
) -> Targets:
    """The targets of rows as the estimator will see them; it is not changed."""
    values, counts, n_classes = estimator.targets_of(y, sample_weight, everything=everything, classes=classes)
    return Targets.of(values, n_classes, counts)


def _through(
    transformers: list[Any], X: Any, counts: NDArray[np.bool_] | None, targets: Targets | None = None
) -> tuple[Any, list[Any]]:
    """Rows after all transformers, and what these know after them, which is not taken over yet."""
    statistics: list[Any] = []
    for transformer in transformers:
        if isinstance(transformer, StreamEncoder):
            X, encoding = transformer._learned(X, counts, targets)
            statistics.append(encoding)
        elif isinstance(transformer, LEARNING):
            X, known = transformer._learned(X, counts)
            statistics.append(known)
        else:
            X = transformer.transform(X)
            statistics.append(None)
    return X, statistics


def _facts(transformer: Any) -> dict[str, Any]:
    if isinstance(transformer, StreamEncoder):
        facts: dict[str, Any] = {"encoder": type(transformer).__name__}
        if hasattr(transformer, "_statistics"):
            facts |= {"columns": transformer.schema_}
            facts |= {"strays": transformer.strays_} if transformer.strays_ else {}
        return facts
    names = getattr(transformer, "feature_names_in_", None)
    return {"scaler": type(transformer).__name__} | ({} if names is None else {"columns": list(names)})


def _saved(transformers: Any) -> Any:
    if isinstance(transformers, list | tuple):
        return [_saved(each) for each in transformers]
    return transformers if isinstance(transformers, LEARNING) else foreign.saved(transformers)


def _loaded(tree: Any) -> Any:
    return [foreign.loaded(each) for each in tree] if isinstance(tree, list) else foreign.loaded(tree)


def _checked_first(first: Any, lead: Any) -> Any:
    kept = lead.kept if isinstance(lead, StreamEncoder) else None
    if (first is None) != (kept is None):
        raise ValueError("the labels of the first rows must be there as long as these are")
    if first is None or kept is None:
        return None
    labels, weights = first["labels"], first["weights"]
    if not all(isinstance(each, np.ndarray) and each.shape == (len(kept),) for each in (labels, weights)):
        raise ValueError(f"there must be a label and a weight for each of the {len(kept)} first rows")
    return labels, check_weights(weights, len(kept))


def _rows_of(estimator: Any) -> int:
    return int(estimator.t_) if hasattr(estimator, "_learner") else 0


def _counts(rows: Any, sample_weight: ArrayLike | None) -> NDArray[np.bool_] | None:
    """Which rows count: those whose weight is not 0."""
    if sample_weight is None:
        return None
    weight = check_weights(sample_weight, _num_samples(rows))
    return None if weight is None else weight != 0


def _weights(sample_weight: Any, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    weight = check_weights(sample_weight, len(kept))
    return np.ones(int(np.count_nonzero(kept))) if weight is None else weight[kept]


def _cut(options: dict[str, Any], rows: slice) -> dict[str, Any]:
    weight = options.get("sample_weight")
    if weight is None or np.ndim(weight) == 0:
        return options
    return {**options, "sample_weight": cut((weight,), rows)[0]}


def _stacked(scores: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Scores of pieces, the earlier of which may know fewer classes."""
    if scores[0].ndim == 1:
        return np.concatenate(scores)
    width = max(each.shape[1] for each in scores)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in scores])
