"""Fitted models as functions: made smaller, and added up."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.utils.validation import check_is_fitted

from onkel.estimators.base import KernelEstimator
from onkel.learner import UNBOUNDED, Learner
from onkel.parts import FirstOrder, Hedge, Stop
from onkel.utils.validation import check_number

E = TypeVar("E", bound=KernelEstimator)


def compress(est: E, *, eps: float | None = None, n_support: int | None = None) -> tuple[E, float]:
    """Make a fitted estimator smaller.

    Support vectors leave one after the other, always the one that the rest can best make up for, and the rest are
    refitted (KOMP: POLK, Algorithm 2). Works on the function that predicts: the average, where that is the one. What
    the estimator learns afterwards starts from the smaller function, as last function and as average. Rows that wait
    for the end of their mini-batch are forgotten.

    Parameters
    ----------
    est : estimator
        Stays as it is.
    eps : float, default=None
        The most that the function may move, as RKHS distance.
    n_support : int, default=None
        The most support vectors to keep. With both, they leave until there are so few and on while within `eps`.

    Returns
    -------
    est : estimator
        A new one.
    distance : float
        The RKHS distance between the two functions.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> model = onkel.OGDClassifier(gamma=2.0, random_state=0).fit(X, y)
    >>> small, distance = onkel.compress(model, n_support=20)
    >>> small.n_support_, small.score(X, y) > 0.95
    (20, True)
    """
    learner = _learner_of(est)
    if eps is None and n_support is None:
        raise ValueError("compress needs eps (the distance allowed) or n_support (the number to keep)")
    if eps is not None:
        check_number("eps", eps, at_least=0)
    if n_support is not None:
        check_number("n_support", n_support, at_least=1, integer=True)
    points, births = learner.support()
    small, distance = _compressed(
        learner, points, births, learner.coefficients, learner.constants, learner.t, eps=eps, n_support=n_support
    )
    return _with_learner(est, small), distance


def merge(
    estimators: Sequence[E], weights: Sequence[float] | None = None, budget: int | None = None
) -> tuple[E, float]:
    """Add up fitted estimators of one class, kernel and set of labels.

    The result predicts with ``sum_i weights[i] f_i`` and can go on learning, as if its rows had come one estimator
    after the other. For a mean of regressors give weights that add up to 1.

    Parameters
    ----------
    estimators : sequence of estimators
        Stay as they are; the result takes its parameters from the first.
    weights : sequence of float, default=None
        None is 1 each.
    budget : int, default=None
        Compress the sum to so many support vectors (see `compress`), and keep to it from then on. Without it the
        budget of the result is the sum of the budgets.

    Returns
    -------
    est : estimator
        A new one.
    distance : float
        The RKHS distance between it and the exact sum: 0 without a budget.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> halves = [onkel.OGDClassifier(gamma=2.0, random_state=0).fit(X[i::2], y[i::2]) for i in range(2)]
    >>> model, distance = onkel.merge(halves, budget=30)
    >>> model.n_support_, model.score(X, y) > 0.95
    (30, True)
    """
    estimators = list(estimators)
    if not estimators:
        raise ValueError("merge needs at least one estimator")
    learners = [_learner_of(est) for est in estimators]
    for est in estimators[1:]:
        _check_alike(estimators[0], est)
    factors = [1.0] * len(learners) if weights is None else list(weights)
    if len(factors) != len(learners):
        raise ValueError(f"merge needs one weight for each of the {len(learners)} estimators, got {len(factors)}")
    for factor in factors:
        check_number("a weight", factor)
    if budget is not None:
        check_number("budget", budget, at_least=1, integer=True)
    if factors == [1.0] and budget is None:
        return copy.deepcopy(estimators[0]), 0.0

    supports = [learner.support() for learner in learners]
    starts = np.cumsum([0] + [learner.t for learner in learners])
    points = (vstack if issparse(supports[0][0]) else np.concatenate)([p for p, _ in supports])
    births = np.concatenate([b + start for (_, b), start in zip(supports, starts, strict=False)])
    coefficients = np.hstack([w * learner.coefficients for w, learner in zip(factors, learners, strict=True)])
    constants = np.sum([w * learner.constants for w, learner in zip(factors, learners, strict=True)], axis=0)

    budgets = [learner.budget for learner in learners]
    total = budget if budget is not None else None if None in budgets else sum(b or 0 for b in budgets)
    sum_like = learners[0].blank(budget=total)
    merged, distance = _compressed(
        sum_like, points, births, coefficients, constants, int(starts[-1]), eps=None, n_support=budget
    )
    made = _with_learner(estimators[0], merged)
    made.budget = total
    return made, distance


def _compressed(
    like: Learner,
    points: Any,
    births: NDArray[np.int64],
    coefficients: NDArray[np.float64],
    constants: NDArray[np.float64],
    t: int,
    *,
    eps: float | None,
    n_support: int | None,
) -> tuple[Learner, float]:
    """A learner like this one at the expansion, made smaller where that is asked for, and the distance moved."""
    distance = 0.0
    if eps is not None or n_support is not None:
        recipe = like.recipe
        if isinstance(recipe, FirstOrder):
            recipe = replace(recipe, eviction=Stop(), ball=None)
        work = like.blank(recipe=recipe, average=False, budget=None)
        work.set_expansion(points, births, coefficients, constants, t)
        distance = work.compress(0.0 if eps is None else eps, UNBOUNDED if n_support is None else n_support)
        points, births = work.support()
        coefficients = work.coefficients
    made = like.blank()
    made.set_expansion(points, births, coefficients, constants, t)
    return made, distance


def _learner_of(est: Any) -> Learner:
    if not isinstance(est, KernelEstimator):
        raise ValueError(f"expected an estimator of onkel, got {type(est).__name__}")
    check_is_fitted(est)
    if isinstance(est._learner.kernel, Hedge):
        raise ValueError("compress and merge need a function of one kernel, and this estimator has several kernels")
    return est._learner


def _with_learner(est: E, learner: Learner) -> E:
    made = copy.copy(est)
    made._learner = learner
    return made


def _check_alike(one: KernelEstimator, other: KernelEstimator) -> None:
    """Refuse to add functions that do not live in one space."""
    a, b = one._learner, other._learner
    sides: dict[str, tuple[Any, Any]] = {
        "classes": (type(one).__name__, type(other).__name__),
        "kernels": (a.kernel, b.kernel),
        "constant terms": (a.fit_intercept, b.fit_intercept),
        "widths": (a.n_features, b.n_features),
        "storage": ("sparse" if a.sparse else "dense", "sparse" if b.sparse else "dense"),
        "dtypes": (a.dtype, b.dtype),
    }
    if hasattr(one, "classes_"):
        sides["labels"] = (one.classes_.tolist(), other.classes_.tolist())
    for what, (left, right) in sides.items():
        if left != right:
            raise ValueError(f"models with different {what} cannot be merged: {left} and {right}")
