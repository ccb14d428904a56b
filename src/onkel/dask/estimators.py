"""Estimators that learn on a cluster and predict lazily. Once fitted, each is an ordinary one with a client."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Self

from onkel.dask.collections import is_collection, mapped, partitions_in
from onkel.dask.engine import cluster_of
from onkel.estimators import generic, named
from onkel.estimators.making import estimator
from onkel.parameters import Note, parameter_class
from onkel.partitions import Report
from onkel.partitions.fitting import fit
from onkel.partitions.newton import Rounds


@parameter_class
class OnCluster:
    """What all estimators on a cluster share."""

    _local: ClassVar[type[Any]]

    rounds: Annotated[
        int, Note("The most passes over all rows of a second-order learner, after its points are chosen.")
    ] = Rounds.limit
    tolerance: Annotated[
        float, Note("Rounds end where a step promises to decrease the objective by less than this part of it.")
    ] = Rounds.tolerance
    client: Annotated[
        Any, Note("The client of the cluster; None is the one that was made last.", kind="distributed.Client")
    ] = None
    mixed_levels: Annotated[
        bool, Note("Whether workers of different instruction sets may share the work, at the price of exactness.")
    ] = False
    checkpoint: Annotated[
        str | os.PathLike[str] | None, Note("A folder that keeps what is known after each round.", kind="path")
    ] = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, tell: Any = None) -> Self:
        """Learn from all partitions.

        Parameters
        ----------
        X : dask.array, dask.dataframe or sequence
            A sequence holds partitions: a delayed tuple ``(X, y)`` or ``(X, y, weight)`` each, a path, or such a tuple.
        y, sample_weight : dask.array or dask.dataframe series
            Cut as `X` is; for collections only.
        tell : callable, default=None
            Called as ``tell(phase, done, partitions)``.

        Returns
        -------
        self
        """
        parameters = {f.name: getattr(self, f.name) for f in fields(self._local)}
        fitted = fit(
            self._local(**parameters),
            partitions_in(X, y, sample_weight),
            rounds=self.rounds,
            tolerance=self.tolerance,
            engine=cluster_of(self.client, self.mixed_levels),
            checkpoint=self.checkpoint,
            tell=tell,
        )
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update({name: v for name, v in vars(fitted.model).items() if name not in parameters})
        self.report_: Report = fitted.report
        return self

    def to_local(self) -> Any:
        """Return the same model without a cluster: an ordinary estimator of onkel's."""
        local = self._local(**{f.name: getattr(self, f.name) for f in fields(self._local)})
        own = {f.name for f in fields(type(self))} | {"report_"}
        local.__dict__.update({name: value for name, value in vars(self).items() if name not in own})
        return local

    def _predicted(self, method: str, X: object, **options: Any) -> Any:
        """Lazily for a collection of Dask's, and at once for rows."""
        local = self.to_local()
        return mapped(local, method, X, **options) if is_collection(X) else getattr(local, method)(X, **options)

    def predict(self, X: object) -> Any:
        """Return the prediction for each row; of a collection of Dask's, a collection."""
        return self._predicted("predict", X)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "client": None}


class _Intervals:
    """Intervals, lazily."""

    def predict_interval(self, X: object, coverage: float = 0.9) -> Any:
        """Return an interval for each row; of an array of Dask's, an array."""
        return self._predicted("predict_interval", X, coverage=coverage)  # type: ignore[attr-defined]


class _Scores:
    """Class scores and sets of classes, lazily."""

    def predict_set(self, X: object, coverage: float = 0.9) -> Any:
        """Return which classes each row may have; of an array of Dask's, an array."""
        return self._predicted("predict_set", X, coverage=coverage)  # type: ignore[attr-defined]

    def decision_function(self, X: object) -> Any:
        """Return the score of each row; of a collection of Dask's, a collection."""
        return self._predicted("decision_function", X)  # type: ignore[attr-defined]

    def predict_proba(self, X: object) -> Any:
        """Return the probability of each class; of a collection of Dask's, a collection."""
        return self._predicted("predict_proba", X)  # type: ignore[attr-defined]


@estimator
class NewtonClassifier(_Scores, OnCluster, named.NewtonClassifier):
    """Second-order learning on a budget, on a cluster: see `onkel.NewtonClassifier` and docs/scale.md."""

    _local = named.NewtonClassifier


@estimator
class NewtonRegressor(_Intervals, OnCluster, named.NewtonRegressor):
    """Least squares on a budget, on a cluster: see `onkel.NewtonRegressor` and docs/scale.md."""

    _local = named.NewtonRegressor

    def predict(self, X: object, return_std: bool = False) -> Any:
        """Return the prediction for each row; of a collection of Dask's, a collection.

        With `return_std` there are two, the second of the standard deviations; of an array of Dask's, two arrays.
        """
        if not return_std:
            return self._predicted("predict", X)
        both = self._predicted("predict", X, return_std=True)
        return (both[:, 0], both[:, 1]) if is_collection(X) else both


@estimator
class KernelClassifier(_Scores, OnCluster, generic.KernelClassifier):
    """A classifier over any recipe, on a cluster: see `onkel.KernelClassifier` and docs/scale.md."""

    _local = generic.KernelClassifier


@estimator
class KernelRegressor(_Intervals, OnCluster, generic.KernelRegressor):
    """A regressor over any recipe, on a cluster: see `onkel.KernelRegressor` and docs/scale.md."""

    _local = generic.KernelRegressor
