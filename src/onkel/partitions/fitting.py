"""Fit one model to the rows of all partitions."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.utils import check_random_state

from onkel.choice import answer_at_once
from onkel.choice.growth import budget_of_one, least_budget
from onkel.estimators.base import KernelEstimator
from onkel.estimators.generic import recipe_of
from onkel.inside import fitted_learner
from onkel.partitions import averaging, newton
from onkel.partitions.agreement import Census, RowEncoding, Survey, census, joined_census
from onkel.partitions.checkpoints import Checkpoint
from onkel.partitions.engines import Engine, engine_of
from onkel.partitions.newton import Report, Rounds, Tell, Workers
from onkel.partitions.sources import Partition, partitions_of
from onkel.parts import FadingMemory, Huber, Memory, Quantile, SecondOrder, StreamMemory
from onkel.preprocess.encoder import StreamEncoder
from onkel.preprocess.pipeline import StreamPipeline
from onkel.preprocess.scalers import StreamScaler
from onkel.utils.validation import check_number

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """A model of all rows, and a report on how it was fitted."""

    model: Any
    report: Report


def fit(
    model: object,
    sources: Sequence[Any],
    *,
    rounds: int = Rounds.limit,
    tolerance: float = Rounds.tolerance,
    n_jobs: int | None = None,
    engine: Engine | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    tell: Tell | None = None,
) -> Fitted:
    """Fit a model to partitions of the rows; the same partitions give the same bytes with every engine.

    Second-order learners share a dictionary and find the optimum on its span in a few rounds; others learn from each
    partition alone, and their functions are averaged (docs/scale.md).

    Parameters
    ----------
    model : estimator or StreamPipeline
        An estimator of onkel with a budget; it is not changed. The order of the rows has no meaning, and `shuffle` and
        `n_epochs` have no effect. The scaler of a pipeline, or its encoder of tables, has the statistics of all rows
        before anything is learned.
    sources : sequence of paths, tuples ``(X, y)`` or ``(X, y, weight)``, or `Partition`
        Partitions may be empty, or lack classes.
    rounds : int, default=100
        The largest number of passes over all rows of a second-order learner after the points are chosen.
    tolerance : float, default=1e-4
        The rounds end when the predicted decrease of the objective, relative to its value, is less than this.
    n_jobs : int, default=None
        Number of jobs of joblib on this machine; None means one.
    engine : Engine, default=None
        The engine that runs the work, in place of `n_jobs`.
    checkpoint : path, default=None
        A folder for the state after each round of a second-order learner, from which the same call resumes.
    tell : callable, default=None
        Called as ``tell(phase, done, partitions)`` when a partition is done.

    Returns
    -------
    model : estimator
        A new model, which can be used like any other: `partial_fit`, `onkel.merge`, `onkel.save`, `onkel.compress`.
    report : Report

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(2000, noise=0.1, random_state=0)
    >>> parts = [(X[y == label], y[y == label]) for label in (0, 1)]
    >>> fitted = fit(onkel.NewtonClassifier(budget=50, gamma=2.0, lam=0.01, random_state=0), parts)
    >>> fitted.model.t_, fitted.model.score(X, y) > 0.99, fitted.report.converged
    (2000, True, True)
    """
    transformer, estimator = _parts_of(model)
    if not isinstance(estimator, KernelEstimator):
        raise ValueError(f"expected one of onkel's estimators, got {type(model).__name__}")
    check_number("rounds", rounds, at_least=1, integer=True)
    check_number("tolerance", tolerance, above=0)
    _check_loss(estimator)
    partitions = partitions_of(sources)
    if isinstance(transformer, StreamEncoder):
        partitions = [partition.with_columns_of_any_type() for partition in partitions]
    workers = Workers(engine or engine_of(n_jobs), partitions, tell or (lambda phase, done, of: None))
    seed = _seed(estimator)
    n_sampled = newton.sample_rows_for(budget_of_one(estimator.budget) or 0)
    of_regions = newton.sample_rows_of_regions(estimator.budget or 0) if _may_have_regions(estimator) else 0
    survey = Survey(seed, n_sampled, bool(is_regressor(estimator)), transformer, of_regions)
    counted: Census = workers.total("census", census, survey, joined_census)
    counted = counted.of_all()
    encoding = encoding_of(estimator, counted)
    report = Report(counted.rows, len(partitions))
    sampled = fitted_to_sample(estimator, seed, counted, encoding)
    recipe = fitted_learner(sampled, "fit").recipe
    if isinstance(recipe, SecondOrder):
        kept = Checkpoint(checkpoint, _run(model, partitions, seed))
        limits = Rounds(rounds, tolerance)
        learner = newton.learn(sampled, _memory(estimator), counted, encoding, workers, limits, kept, report)
        fitted = sampled.__onkel_with_learner__(learner)
    else:
        fitted = averaging.learn(sampled, encoding, workers, report)
    fitted.set_params(**estimator.get_params(deep=False))
    if isinstance(model, StreamPipeline):
        whole = clone(model)
        whole.take_over([counted.transformer], fitted)
        fitted = whole
    if counted.names is not None:
        getattr(fitted, "transformers_", [fitted])[0].feature_names_in_ = np.array(counted.names, dtype=object)
    return Fitted(fitted, report)


def _parts_of(model: object) -> tuple[StreamScaler | StreamEncoder | None, Any]:
    """The scaler or encoder of a pipeline, and the estimator."""
    if not isinstance(model, StreamPipeline):
        return None, model
    chain = model.transformers if isinstance(model.transformers, list | tuple) else [model.transformers]
    if len(chain) != 1 or not isinstance(chain[0], StreamScaler | StreamEncoder):
        raise ValueError("the pipeline must have one transformer, a scaler of onkel or a StreamEncoder")
    return chain[0], model.estimator


def _recipe(estimator: object) -> Any:
    """The recipe that a generic estimator was given; None of a named one, which has parameters instead."""
    given = getattr(estimator, "recipe", None)
    return None if given is None else recipe_of(given)


def _check_loss(estimator: Any) -> None:
    recipe = estimator._recipe(horizon=None)
    if isinstance(recipe, SecondOrder) and isinstance(recipe.loss, Huber | Quantile):
        raise ValueError(
            f"partitions minimise one loss over all rows, and loss={recipe.loss.name!r} follows the scale of the "
            "latest residuals: learn from one stream, or with loss='squared_error'"
        )


def _may_have_regions(estimator: Any) -> bool:
    """Whether an estimator divides its rows where that is better and there are enough of them."""
    wanted = getattr(estimator, "regions", None) is not None
    return wanted and estimator.budget is not None and estimator.budget >= least_budget()


def _memory(estimator: object) -> Memory:
    """The memory that the model has for later rows."""
    recipe = _recipe(estimator)
    if isinstance(recipe, SecondOrder):
        return recipe.memory
    forget = getattr(estimator, "forget", 1.0)
    return StreamMemory() if isinstance(forget, str) else FadingMemory(forget)


def _run(model: Any, partitions: Sequence[Partition], seed: int) -> str:
    """Identify a run."""
    parameters = sorted((name, repr(value)) for name, value in model.get_params().items())
    names = [partition.name for partition in partitions]
    return hashlib.sha256(repr((type(model).__name__, parameters, names, seed)).encode()).hexdigest()


def encoding_of(model: object, counted: Census) -> RowEncoding:
    """Return the encoding of chunks as rows, class indices or targets, and weights."""
    weights = _class_weights(model, counted)
    return RowEncoding(counted.width, counted.dtype, counted.classes, weights, counted.transformer)


def _class_weights(model: object, counted: Census) -> Floats | None:
    given = getattr(model, "class_weight", None)
    if given is None or counted.classes is None or counted.counts is None:
        return None
    if given == "balanced":
        return np.asarray(counted.rows / (len(counted.classes) * counted.counts))
    return np.array([float(given.get(label, 1.0)) for label in counted.classes.tolist()])


def fitted_to_sample(model: object, seed: int, counted: Census, encoding: RowEncoding) -> Any:
    """Return a copy of the model that has learned from the common sample, in the random order of its keys.

    Classes that the sample lacks are known from the start. For targets the kernel and λ are chosen before anything is
    learned, as by a `fit`: what a stream chooses from few rows may shrink targets far from 0.
    """
    changes: dict[str, Any] = {"random_state": seed, "shuffle": True, "n_epochs": 1}
    if hasattr(model, "forget"):
        changes["forget"] = 1.0  # the order of the rows has no meaning
    if isinstance(recipe := _recipe(model), SecondOrder):
        changes["recipe"] = replace(recipe, memory=FadingMemory())
    if encoding.class_weights is not None:
        changes["class_weight"] = None  # they are included in the weights of the rows
    sampled = clone(model).set_params(**changes)
    X, y, weight = counted.encoded_sample(encoding)
    if counted.classes is None:
        return sampled.fit(X, y, sample_weight=weight)
    sampled.partial_fit(X, counted.classes[y.astype(np.intp)], classes=counted.classes, sample_weight=weight)
    answer_at_once(sampled)
    return sampled


def _seed(model: Any) -> int:
    if isinstance(model.random_state, int | np.integer):
        return int(model.random_state)
    return int(check_random_state(model.random_state).randint(2**31))
