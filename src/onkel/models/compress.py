"""Make a fitted function smaller: support vectors leave, and the others are refitted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.sparse import issparse

from onkel.contents import contents_of, fitted_learner, snapshot
from onkel.expansion import Coefficients, Expansion, Information, total
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
from onkel.settings import UNBOUNDED
from onkel.utils.validation import check_finite, check_number

M = TypeVar("M")


class Compressed(NamedTuple):
    """A smaller, or a merged, model and what it cost."""

    model: Any
    distance: float  # the RKHS distance to the exact function
    n_support: int
    loss_change: float | None  # of the mean loss on rows, where it is known


def compress(model: M, *, eps: float | None = None, n_support: int | None = None, X: Any = None) -> Compressed:
    """Make a fitted model smaller.

    Support vectors leave one after the other, always the one that the rest can best make up for, and the rest are
    refitted. What is best depends on what is known: a second-order learner knows which directions its rows have told
    of, and the point leaves whose absence changes the loss on those rows least; so it is with rows `X`; otherwise the
    function itself is to move as little as it can (KOMP: POLK, Algorithm 2).

    Works on the function that predicts: the average, where that is the one. What the model learns afterwards starts
    from the smaller function, as last function and as average. Rows that wait for the end of their mini-batch are
    forgotten.

    Parameters
    ----------
    model : estimator, StreamPipeline, PlattClassifier or Learner
        Stays as it is.
    eps : float, default=None
        The most that the function may move, as RKHS distance.
    n_support : int, default=None
        The most support vectors to keep, and the budget of the result where the model has one. With both, support
        vectors leave until there are so few, and on while the function stays within `eps`.
    X : array-like of shape (n_samples, n_features), default=None
        Rows like those to predict: support vectors leave that these would miss least. For first-order models; those of
        second order know what their rows would miss.

    Returns
    -------
    model : as given
        A new one.
    distance : float
        The RKHS distance between the two functions, as far as kernel values of the model's dtype can tell.
    n_support : int
        Number of support vectors of the new one.
    loss_change : float or None
        By how much the mean loss of a row has changed, in the quadratic approximation that a second-order learner
        makes of it; with `X` half the mean squared change of the scores; None where the rows are not known.

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
    if isinstance(learner.kernel, Hedge) and X is None and learner.is_second_order_sum:
        return _smaller_sum(model, learner, eps, n_support)
    check_one_kernel(learner)
    function, rows = learner.expansion().predicting, learner.t
    if X is None:
        small, distance, change = smaller(function, learner, eps=eps, n_support=n_support)
    else:
        if eps is not None or n_support is None:
            raise ValueError(
                "compress with rows X needs n_support and takes no eps: the rows decide which points leave"
            )
        if function.information is not None:
            raise ValueError(
                "compress takes rows X for first-order models only: a second-order model knows its own rows"
            )
        prepared = prepared_rows(model, X, learner.n_features)
        rows = prepared.shape[0]
        small, distance, change = smaller_for(prepared, function, learner, n_support)
    size = len(small.terms[0])
    budget = learner.budget
    if budget is not None:
        # The average of a learner that evicts may hold more points than its budget, within eps of it too.
        budget = max(size, budget if n_support is None else min(budget, n_support))
    compressed = with_function(model, learner.blank(budget=budget), small)
    return Compressed(compressed, distance, size, None if change is None else change / max(1, rows))


def _smaller_sum(model: Any, learner: Learner, eps: float | None, n_support: int | None) -> Compressed:
    """Make each function of a sum of second-order learners smaller; together they are what they were."""
    if n_support is not None:
        check_number("n_support", n_support, at_least=len(learner.kernels), integer=True)
    bounds = [bound for bound in (learner.budget, n_support) if bound is not None]
    made = learner.blank(budget=min(bounds, default=None))
    assert learner.n_features is not None
    made.load_state(learner.state(), learner.n_features, learner.sparse)
    distance, change = made.compress(0.0 if eps is None else eps, UNBOUNDED if n_support is None else n_support)
    changed = None if change is None else change / max(1, learner.t)
    return Compressed(model.__onkel_with_learner__(made), distance, made.n_support, changed)


def smaller(
    function: Expansion, like: Learner, *, eps: float | None, n_support: int | None
) -> tuple[Expansion, float, float | None]:
    """Return a function with fewer points, the distance between the two, and the change of the loss where it is known.

    ``like`` has the function's kernel and labels.
    """
    work = like.blank(recipe=_working_recipe(like, function), average=False, budget=None)
    work.set_expansion(function)
    distance, change = work.compress(0.0 if eps is None else eps, UNBOUNDED if n_support is None else n_support)
    smaller_function = work.expansion()
    return (
        (smaller_function if function.information is None else smaller_function.in_order_of_joining),
        distance,
        change,
    )


def _working_recipe(like: Learner, function: Expansion) -> Recipe:
    """The recipe of a learner with the function's columns that keeps nothing else about its points."""
    recipe = like.recipe
    if function.information is not None and not isinstance(recipe, SecondOrder):
        return SecondOrder(_smooth_loss(like), GaussianPrior(function.information.lam))
    if isinstance(recipe, FirstOrder):
        return replace(recipe, eviction=recipe.eviction.without_points, ball=None)
    return recipe


def _plain_recipe(like: Learner) -> Recipe:
    """A recipe whose learner is its function and nothing else."""
    loss = EpsilonInsensitive() if like.task == "regression" else HingeLoss()
    return FirstOrder(loss, OnGradient(), GradientStep(eta=1.0))


def _smooth_loss(like: Learner) -> Loss:
    return SquaredError() if like.task == "regression" else LogLoss()


def smaller_for(rows: Any, function: Expansion, like: Learner, n_support: int) -> tuple[Expansion, float, float | None]:
    """Return a function of fewer points, those leaving first that the rows would miss least (see `smaller`)."""
    if function.features is not None:
        raise ValueError("compress with X needs a function of support vectors only, and this one has random features")
    # Merged points may share a birth: here each has a number of its own.
    term = function.only
    numbered = replace(term, births=np.arange(len(term)))
    # Points that lie in the span of the others are replaced by their projections: each that stays is a coordinate.
    work = like.blank(recipe=SecondOrder(_smooth_loss(like)), average=False, budget=None)
    work.set_expansion(replace(function, terms=(numbered,), t=max(function.t, len(term))))
    known = work.expansion().information
    assert known is not None
    work.compress(0.0, len(known.births))
    independent = work.expansion().in_order_of_joining
    informed = replace(independent, information=information_of(independent, like, rows))
    found = smaller(informed, like, eps=None, n_support=n_support)[0].only
    left = replace(found, births=term.births[found.births])
    small = replace(function, terms=(left,))
    moved = difference(function, small, like)
    return small, moved.norm, float((moved.score_rows(rows) ** 2).sum() / 2)


def information_of(function: Expansion, like: Learner, rows: Any) -> Information:
    """Return what rows tell of the function's points: the sum of z z', as recursive least squares keeps it."""
    term = function.only
    prior = GaussianPrior()
    recipe = SecondOrder(SquaredError(), prior, dictionary=GrowingDictionary(min_slope=0.0))
    probe = like.blank(recipe=recipe, task="regression", average=False, budget=len(term))
    n = len(term)
    nothing = Coefficients(np.zeros((1, n)), np.zeros(1), np.empty((1, 0)))
    # The probe's stream is the points, which tell nothing, and then the rows: it has births of its own.
    births, size = np.arange(n), n + int(like.fit_intercept)
    silent = Information(births, np.zeros((size, size)), prior.lam, 0.0, 0)
    start = replace(term, births=births, last=nothing, average=nothing)
    probe.set_expansion(replace(function, terms=(start,), t=n, information=silent))
    probe.learn_rows(rows, np.ones(rows.shape[0]))
    known = probe.expansion().information
    assert known is not None
    return replace(known, births=term.births)


def difference(one: Expansion, other: Expansion, like: Learner) -> Learner:
    """Return a learner whose function is the difference of two functions of one kernel."""
    made = like.blank(recipe=_plain_recipe(like), average=False, budget=None)
    made.set_expansion(total([one, other], [1.0, -1.0]))
    return made


def prepared_rows(model: Any, X: Any, n_features: int | None) -> Any:
    """Return rows as the learner inside of a model sees them."""
    rows = X if issparse(X) else np.asarray(X) if not contents_of(model).transformers else X
    for transformer in contents_of(model).transformers:
        rows = transformer.transform(rows)
    if rows.ndim != 2 or rows.shape[0] == 0 or rows.shape[1] != n_features:
        raise ValueError(f"X must be rows of the model's {n_features} features, got the shape {rows.shape}")
    check_finite("X", np.asarray(rows.sum(axis=1) if issparse(rows) else rows, np.float64))
    return rows


def with_function(model: Any, learner: Learner, function: Expansion) -> Any:
    """Return a copy of a model whose learner, of these settings, goes on from a function."""
    learner.set_expansion(function)
    return model.__onkel_with_learner__(learner)


def check_one_kernel(learner: Learner) -> None:
    """Refuse a vote of several kernels, which is no sum."""
    if isinstance(learner.kernel, Hedge):
        raise ValueError("compress and merge need a function of one kernel, and this model has several kernels")
