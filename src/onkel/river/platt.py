"""Platt's sigmoids, learned along with a classifier that has no probabilities."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from onkel import recipes
from onkel.estimators.sigmoids import Sigmoids, margins
from onkel.river.models import Classifier, KernelClassifier, base
from onkel.river.records import Record, weights_of
from onkel.utils.extras import needed


class PlattClassifier(base.Wrapper, base.MiniBatchClassifier):  # type: ignore[misc]
    """Probabilities for a classifier without any: Platt's sigmoids, learned along with it, for River.

    As `onkel.PlattClassifier`: the sigmoids see each record's scores made before the classifier learned from it.

    Parameters
    ----------
    classifier
        A `KernelClassifier` of this module.
    forget
        The weight of earlier records falls by this factor with every record; that of the first ones falls faster.

    Examples
    --------
    >>> import onkel
    >>> from onkel.river import KernelClassifier, PlattClassifier
    >>> from river import datasets, evaluate, metrics, preprocessing
    >>> projectron = KernelClassifier(onkel.recipes.Projectron(), gamma=0.1, budget=100)
    >>> model = preprocessing.StandardScaler() | PlattClassifier(projectron)
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss()).get() < 0.4
    True
    """

    def __init__(self, classifier: Classifier, forget: float = 0.999) -> None:
        if not isinstance(classifier, Classifier):
            raise ValueError(f"classifier must be a KernelClassifier of onkel.river, got {type(classifier).__name__}")
        self.classifier = classifier
        self.forget = forget
        self._sigmoids = Sigmoids(forget, binary=False)

    @property
    def _wrapped_model(self) -> Classifier:
        return self.classifier

    def learn_one(self, x: Record, y: Hashable, w: float = 1.0, **kwargs: Any) -> None:
        """Learn from a record `x` with label `y` and weight `w`."""
        scores = self.classifier._learn_label(x, y, w, scores=True)
        assert scores is not None
        if w:
            self._sigmoids.learn(margins(scores[0].tolist()), self.classifier._codes[y], w)

    def predict_proba_one(self, x: Record, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label known so far."""
        labels = self.classifier._codes
        if not labels:
            return {}
        seen = margins(self.classifier._score_row(x))
        return dict(zip(labels, self._sigmoids.probabilities(seen), strict=True))

    def learn_many(self, X: Any, y: Any, w: Any = None, **kwargs: Any) -> None:
        """Learn from the rows of a data frame in order, as from records one after the other."""
        weights = [1.0] * len(y) if w is None else weights_of(w, len(y)).tolist()
        width = len(self.classifier._codes)
        before = copy.deepcopy(vars(self.classifier))
        try:
            scores = self.classifier._learn_labels(X, y, w, scores=True)
        except BaseException:  # some rows may have been learned from, whose scores the sigmoids have not seen
            self.classifier.__dict__.update(before)
            raise
        assert scores is not None
        for row, label, weight in zip(scores.tolist(), y, weights, strict=True):
            if weight:
                code = self.classifier._codes[label]
                width = max(width, code + 1)  # a label has a score from the row on that brought it
                self._sigmoids.learn(margins(row[:width]), code, weight)

    def predict_proba_many(self, X: Any, **kwargs: Any) -> Any:
        """Return the probability of each label known so far, for the rows of a data frame."""
        pd = needed("pandas", "river", "predict_proba_many")
        labels = self.classifier._labels
        scores = self.classifier._score_frame(X) if labels else np.zeros((len(X), 0))
        probabilities = (
            [self._sigmoids.probabilities(row) for row in map(margins, scores.tolist())] if labels else scores
        )
        return pd.DataFrame(probabilities, index=X.index, columns=labels)

    def predict_many(self, X: Any, **kwargs: Any) -> Any:
        """Return the most probable label of each row of a data frame."""
        pd = needed("pandas", "river", "predict_many")
        probabilities = self.predict_proba_many(X)
        if not len(probabilities.columns):
            return pd.Series([None] * len(X), index=X.index, dtype=object)
        return pd.Series([probabilities.columns[i] for i in probabilities.to_numpy().argmax(axis=1)], index=X.index)

    @property
    def _multiclass(self) -> bool:
        return True

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"classifier": KernelClassifier(recipes.Forgetron(), budget=50)}
