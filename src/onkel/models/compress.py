"""Compression of a fitted function: support vectors are removed, and the others are refitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import issparse

from onkel.function import Coefficients, Expansion, Information, total
from onkel.inside import fitted_learner, inside, snapshot
from onkel.learner import Learner
from onkel.parts import (
    EpsilonInsensitive,
    FirstOrder,
    GaussianPrior,
    GradientStep,
    GrowingDictionary,
    Hedge,
    HingeLoss,
    LogLoss,
    Loss,
    OnGradient,
    Recipe,
    SecondOrder,
    SquaredError,
)
from onkel.regions import path_to
from onkel.settings import UNBOUNDED
from onkel.utils.validation import check_finite, check_number

_REFIT_LAM, _REFIT_PASSES = 0.01, 3

M = TypeVar("M")


class _Result(NamedTuple):
    model: Any
    distance: float  # the RKHS distance to the exact function
    n_support: int
    loss_change: float | None  # the change of the mean loss on the rows, where it is known


class Compressed(_Result):
    """A compressed or merged model, and how much it differs from the exact one."""

    # Of rows X that nothing was fitted to: the share that both give the same class; None without rows.
    agreement: float | None = None

    def __getattr__(self, name: str) -> Any:
        has = hasattr(self.model, name)
        raise AttributeError(
            f"this is not a model but (model, distance, n_support, loss_change): use .model.{name}"
            if has
            else f"{type(self).__name__!r} object has no attribute {name!r}"
        )


def compress(model: M, *, eps: float | None = None, n_support: int | None = None, X: object = None) -> Compressed:
    """Reduce the number of support vectors of a fitted model.

    Support vectors are removed one after the other, always the one that the others can best compensate for, and the
    others are refitted. The criterion depends on what is known about the rows: a second-order learner keeps their
    information, and the point is removed whose absence changes the loss on those rows least; the same holds with rows
    `X`. Otherwise the function itself should move as little as possible (KOMP: POLK, Algorithm 1).

    The function that predicts is compressed, which may be the average. Further learning starts from the compressed
    function, as last function and as average. The pending rows of an incomplete mini-batch are dropped.

    Parameters
    ----------
    model : estimator, StreamPipeline, PlattClassifier or Learner
        It is not changed.
    eps : float, default=None
        The largest RKHS distance that the function may move.
    n_support : int, default=None
        The largest number of support vectors to keep, and the budget of the result if the model has one. If both are
        given, support vectors are removed until this number is reached, and then further ones while the function stays
        within `eps`.
    X : array-like of shape (n_samples, n_features), default=None
        Rows like those to predict: of a first-order model the support vectors are removed that matter least for them
        (a second-order model keeps the information of its own rows), and a classifier's coefficients are then fitted
        to the classes that the model gives these rows, as far as the two agree more often. The more rows, the better:
        a few thousand halve what is lost.

    Returns
    -------
    model : as given
        A new one.
    distance : float
        The RKHS distance between the two functions, to the precision of the model's dtype.
    n_support : int
        Number of support vectors of the new model.
    loss_change : float or None
        The change of the mean loss per row in the quadratic approximation of a second-order learner; with `X` half the
        mean squared change of the scores; None where the rows are not known.
    agreement : float or None
        With `X`: the share of rows to which both models give the same class, of rows that nothing was fitted to; R² of
        a regression.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.OGDClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> small = onkel.compress(model, n_support=20)
    >>> small.n_support, small.model.score(X, y) > 0.95
    (20, True)
    """
    model = snapshot(model, "compress")
    learner = fitted_learner(model, "compress")
    if eps is None and n_support is None:
        raise ValueError("compress needs eps (the distance allowed) or n_support (the number to keep)")
    if eps is not None:
        check_number("eps", eps, at_least=0)
    if n_support is not None:
        check_number("n_support", n_support, at_least=1, integer=True)
    if len(learner.experts) > 1:
        return _smaller_experts(model, learner, eps, n_support, X)
    if isinstance(learner.kernel, Hedge) and X is None and learner.is_second_order_sum:
        return _smaller_sum(model, learner, eps, n_support)
    if X is not None and isinstance(learner.kernel, Hedge) and learner.is_second_order_sum:
        raise ValueError("compress takes no rows X for a sum of second-order models, which knows its own: leave X out")
    check_one_kernel(learner)
    if learner.has_weights:
        raise ValueError(
            "compress removes support vectors, and a linear kernel's function has none: it is a weight for each feature"
        )
    function, rows, agreement = learner.expansion(informed=True).predicting, learner.t, None
    if X is None:
        small, distance, change = smaller(function, learner, eps=eps, n_support=n_support)
    else:
        if eps is not None or n_support is None:
            raise ValueError(
                "compress with rows X needs n_support and takes no eps: the rows decide which points are removed"
            )
        prepared = prepared_rows(model, X, learner.n_features)
        rows = prepared.shape[0]
        if function.information is None:
            small = smaller_for(prepared, function, learner, n_support)
        else:
            small = smaller(function, learner, eps=None, n_support=n_support)[0]
        small, agreement = _refitted(small, function, learner, prepared)
        moved = difference(function, small, learner)
        distance, change = moved.norm, float((moved.score_rows(prepared) ** 2).sum() / 2)
    size = len(small.terms[0])
    budget = learner.budget
    if budget is not None:
        # The average of a learner that evicts points may have more points than its budget, even after a compression to
        # eps.
        budget = max(size, budget if n_support is None else min(budget, n_support))
    compressed = with_function(model, learner.blank(budget=budget), small)
    result = Compressed(compressed, distance, size, None if change is None else change / max(1, rows))
    result.agreement = agreement
    return result


def _refitted(small: Expansion, function: Expansion, like: Learner, rows: Any) -> tuple[Expansion, float]:
    """Return the smaller function, its coefficients fitted to what the function predicts for the rows, and how far the
    two agree on every fourth row, which the fit has not seen. Where a fit agrees less than the one before, that stays.
    """
    judged = np.arange(rows.shape[0]) % 4 == 3
    if like.task == "regression" or small.features is not None or len(small.only) == 0 or not judged.any():
        return small, _agreement(small, function, like, rows)
    rows, unseen = rows[~judged], rows[judged]
    teacher = _at_work(function, like, _plain_recipe(like))
    scores = teacher.score_rows(rows)
    labels = (scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)).astype(np.float64)
    term = small.only
    numbered = replace(term, births=np.arange(len(term)), ghosts=np.zeros(len(term), bool))
    recipe = SecondOrder(LogLoss(), GaussianPrior(_REFIT_LAM), dictionary=GrowingDictionary(easy_slope=0.0))
    work = like.blank(recipe=recipe, average=False, budget=len(term))
    work.set_expansion(replace(small, terms=(numbered,), t=len(term), information=None))
    best, agreement = small, _agreement(small, function, like, unseen)
    for _ in range(_REFIT_PASSES):
        work.learn_rows(rows, labels)
        learned = work.expansion().only
        order = np.argsort(learned.births)
        coefficients = replace(learned.last, points=learned.last.points[:, order])
        fitted = replace(small, terms=(replace(term, last=coefficients, average=coefficients),))
        reached = _agreement(fitted, function, like, unseen)
        if reached > agreement:
            best, agreement = fitted, reached
    return best, agreement


def _agreement(one: Expansion, other: Expansion, like: Learner, rows: Any) -> float:
    """The share of rows to which two functions give the same class; for a regression, R²."""
    scores = [_at_work(each, like, _plain_recipe(like)).score_rows(rows) for each in (one, other)]
    if like.task == "regression":
        spread = float(((scores[1] - scores[1].mean(axis=0)) ** 2).sum())
        missed = float(((scores[0] - scores[1]) ** 2).sum())
        return 1 - missed / spread if spread > 0 else float(missed == 0)
    classes = [(each[:, 0] > 0).astype(int) if each.shape[1] == 1 else each.argmax(axis=1) for each in scores]
    return float((classes[0] == classes[1]).mean())


def _at_work(function: Expansion, like: Learner, recipe: Recipe) -> Learner:
    learner = like.blank(recipe=recipe, average=False, budget=None)
    learner.set_expansion(replace(function, information=None))
    return learner


def _smaller_experts(model: Any, learner: Learner, eps: float | None, n_support: int | None, X: Any) -> Compressed:
    """Make each expert smaller, so that all of them together have so many points; regions and weights stay.

    The distance is the largest over the leaves of the distances of its experts, by their weights.
    """
    numbers = learner.experts
    if n_support is not None:
        check_number("n_support", n_support, at_least=len(numbers), integer=True)
    experts = [learner.expert(number) for number in numbers]
    rows = None if X is None else prepared_rows(model, X, learner.n_features)
    regions = {number: region for region in learner.regions for number in region.experts}
    total_size, small = sum(expert.n_support for expert in experts), []
    for number, expert in zip(numbers, experts, strict=True):
        most = None
        if n_support is not None:
            spare = n_support - len(numbers)
            most = max(1, min(expert.n_support, 1 + spare * expert.n_support // max(1, total_size)))
        own = None if rows is None else rows[_held(learner, regions[number].number, rows)]
        if expert.n_support == 0:
            small.append(Compressed(expert, 0.0, 0, 0.0))
        else:
            small.append(compress(expert, eps=eps, n_support=most, X=rows if own is None or not own.shape[0] else own))
    moved = dict(zip(numbers, (each.distance for each in small), strict=True))
    distance = max(
        sum(weight * moved[number] for weight, number in zip(leaf.weights.tolist(), leaf.path, strict=True))
        for leaf in learner.regions
        if leaf.is_leaf
    )
    changes = [each.loss_change for each in small]
    change = None
    if None not in changes:
        change = float(learner.kernel_weights @ np.array(changes, np.float64))
    bounds = [bound for bound in (learner.budget, n_support) if bound is not None]
    compressed = learner.with_experts([each.model for each in small]).with_budget(min(bounds, default=None))
    return Compressed(model.__onkel_with_learner__(compressed), distance, compressed.n_support, change)


def _held(learner: Learner, region: int, rows: Any) -> Any:
    """Which of these rows a region holds."""
    leaves = [leaf.number for leaf in learner.regions if leaf.is_leaf and region in _numbers_to(learner, leaf.number)]
    return np.flatnonzero(np.isin(learner.leaf_of(rows), leaves))


def _numbers_to(learner: Learner, leaf: int) -> list[int]:
    return [region.number for region in path_to(learner.regions, leaf)]


def _smaller_sum(model: Any, learner: Learner, eps: float | None, n_support: int | None) -> Compressed:
    """Make each function of a sum of second-order learners smaller; together they are what they were."""
    if n_support is not None:
        check_number("n_support", n_support, at_least=len(learner.kernels), integer=True)
    bounds = [bound for bound in (learner.budget, n_support) if bound is not None]
    compressed = learner.with_budget(min(bounds, default=None))
    if learner.average:  # points would stay in it
        compressed = _from_predicting(compressed, average=False)
    distance, change = compressed.compress(0.0 if eps is None else eps, UNBOUNDED if n_support is None else n_support)
    if learner.average:
        compressed = _from_predicting(compressed, average=True)
    changed = None if change is None else change / max(1, learner.t)
    return Compressed(model.__onkel_with_learner__(compressed), distance, compressed.n_support, changed)


def _from_predicting(learner: Learner, *, average: bool) -> Learner:
    """Return a sum of second-order learners that goes on from what predicts, with an average or without."""
    terms = []
    for term in learner.split():
        begun = term.blank(average=average)
        begun.set_expansion(term.expansion(informed=True).predicting)
        terms.append(begun)
    return learner.blank(average=average).join(terms, learner.kernel_weights, learner.noise_variance)


def smaller(
    function: Expansion, like: Learner, *, eps: float | None, n_support: int | None
) -> tuple[Expansion, float, float | None]:
    """Return a function with fewer points, the distance between the two, and the change of the loss, if it is known.

    ``like`` is a learner with the function's kernel and labels.
    """
    work = like.blank(recipe=_working_recipe(like, function), average=False, budget=None)
    work.set_expansion(function)
    distance, change = work.compress(0.0 if eps is None else eps, UNBOUNDED if n_support is None else n_support)
    smaller_function = work.expansion(informed=function.information is not None)
    return (
        (smaller_function if function.information is None else smaller_function.in_order_of_joining),
        distance,
        change,
    )


def _working_recipe(like: Learner, function: Expansion) -> Recipe:
    """The recipe of a learner with the function's columns and no other state."""
    recipe = like.recipe
    if function.information is not None and not isinstance(recipe, SecondOrder):
        return SecondOrder(_smooth_loss(like), GaussianPrior(function.information.lam))
    if isinstance(recipe, FirstOrder):
        return replace(recipe, eviction=recipe.eviction.without_points, ball=None)
    return recipe


def _plain_recipe(like: Learner) -> Recipe:
    """A recipe whose learner has no state besides its function."""
    loss = EpsilonInsensitive() if like.task == "regression" else HingeLoss()
    return FirstOrder(loss, OnGradient(), GradientStep(eta=1.0))


def _smooth_loss(like: Learner) -> Loss:
    return SquaredError() if like.task == "regression" else LogLoss()


def smaller_for(rows: object, function: Expansion, like: Learner, n_support: int) -> Expansion:
    """Return a function with fewer points, removing first those that matter least for the rows (see `smaller`)."""
    if function.features is not None:
        raise ValueError("compress with X needs a function of support vectors only, and this one has random features")
    # Merged points may share a birth: here each gets a number of its own.
    term = function.only
    numbered = replace(term, births=np.arange(len(term)))
    # Points that lie in the span of the others are replaced by their projections: each that stays is a coordinate.
    work = like.blank(recipe=SecondOrder(_smooth_loss(like)), average=False, budget=None)
    work.set_expansion(replace(function, terms=(numbered,), t=max(function.t, len(term))))
    known = work.expansion(informed=True).information
    assert known is not None
    work.compress(0.0, len(known.births))
    independent = work.expansion(informed=True).in_order_of_joining
    known = information_of(independent, like, rows)
    informed = replace(independent, information=known, t=max(independent.t, known.steps))  # X may have more rows
    found = smaller(informed, like, eps=None, n_support=n_support)[0].only
    left = replace(found, births=term.births[found.births])
    return replace(function, terms=(left,))


def information_of(function: Expansion, like: Learner, rows: Any) -> Information:
    """Return the information of rows about the function: the sum of z z', as in recursive least squares."""
    term = function.only
    prior = GaussianPrior()
    recipe = SecondOrder(SquaredError(), prior, dictionary=GrowingDictionary(easy_slope=0.0))
    probe = like.blank(recipe=recipe, task="regression", average=False, budget=len(term))
    n = len(term)
    nothing = Coefficients(np.zeros((1, n)), np.zeros(1), np.empty((1, 0)))
    # The stream of the probe consists of the points, which carry no information, and then the rows: it has births of
    # its own.
    births, size = np.arange(n), n + int(like.fit_intercept)
    silent = Information(births, np.zeros((size, size)), prior.lam, 0.0, 0)
    start = replace(term, births=births, last=nothing, average=nothing)
    probe.set_expansion(replace(function, terms=(start,), t=n, information=silent))
    probe.learn_rows(rows, np.ones(rows.shape[0]))
    known = probe.expansion(informed=True).information
    assert known is not None
    return replace(known, births=term.births)


def difference(one: Expansion, other: Expansion, like: Learner) -> Learner:
    """Return a learner whose function is the difference of two functions of one kernel."""
    result = like.blank(recipe=_plain_recipe(like), average=False, budget=None)
    result.set_expansion(total([one, other], [1.0, -1.0]))
    return result


def prepared_rows(model: Any, X: Any, n_features: int | None) -> Any:
    """Return rows as the learner inside a model sees them."""
    rows = X if issparse(X) else np.asarray(X) if not inside(model).transformers else X
    for transformer in inside(model).transformers:
        rows = transformer.transform(rows)
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] != n_features:
        raise ValueError(f"X must be rows of the model's {n_features} features, got the shape {rows.shape}")
    check_finite("X", np.asarray(rows.sum(axis=1) if issparse(rows) else rows, np.float64))
    return rows


def with_function(model: Any, learner: Learner, function: Expansion) -> Any:
    """Return a copy of a model with a learner of these settings that continues from a function."""
    learner.set_expansion(function)
    return model.__onkel_with_learner__(learner)


def check_one_kernel(learner: Learner) -> None:
    """Refuse a vote of several kernels, which is not a sum."""
    if isinstance(learner.kernel, Hedge):
        raise ValueError(
            "compress and merge need a function of one kernel, and this model has several kernels: learn with one"
        )
