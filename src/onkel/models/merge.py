"""Add up fitted functions."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from onkel.contents import at_rest, contents_of, fitted_learner
from onkel.expansion import Expansion, total
from onkel.learner import Learner
from onkel.models.compress import Compressed, check_one_kernel, smaller
from onkel.parts import SecondOrder
from onkel.sums import sum_of, terms_of
from onkel.utils.turns import turn_of
from onkel.utils.validation import check_number

M = TypeVar("M")


def merge(models: Sequence[M], weights: Sequence[float] | None = None, budget: int | None = None) -> Compressed:
    """Add up fitted models of one class, kernel and set of labels.

    Second-order models add up what they know: the result is, in the span of all their points, the model of all their
    rows, term by term where they are sums over kernels. Others predict together with ``sum_i weights[i] f_i``; without
    a budget that is exact, whatever the kernel. The result can go on learning, as if its rows had come one model after
    the other.

    Parameters
    ----------
    models : sequence of estimators, pipelines or learners
        Stay as they are; the result takes its parameters from the first. Pipelines need scalers with equal statistics.
    weights : sequence of float, default=None
        None is each one's share of all rows, ``t_ / sum(t_)``, so that merging is associative. Of second-order models
        they multiply what each one knows, and None is 1.
    budget : int, default=None
        Compress the sum to so many support vectors (see `compress`), and keep to it from then on. Without it the
        budget of the result is the sum of the budgets.

    Returns
    -------
    model : as given
        A new one.
    distance : float
        The RKHS distance between it and the exact sum: 0 without a budget.
    n_support : int
    loss_change : float or None
        As `compress` has it.

    Examples
    --------
    >>> import onkel
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(1000, noise=0.1, random_state=0)
    >>> halves = [onkel.OGDClassifier(gamma=2.0, random_state=0).fit(X[i::2], y[i::2]) for i in range(2)]
    >>> merged = onkel.merge(halves, budget=30)
    >>> merged.n_support, merged.model.score(X, y) > 0.95
    (30, True)
    """
    given = list(models)
    if not given:
        raise ValueError("merge needs at least one model")
    models = [at_rest(model, "merge") for model in given]
    learners = [fitted_learner(model, "merge") for model in models]
    for model, learner in zip(models, learners, strict=True):
        if not learner.adds_up_knowledge:
            check_one_kernel(learner)
        _check_alike(models[0], model)
    of_second_order = isinstance(learners[0].recipe, SecondOrder)
    if weights is not None:
        if len(weights) != len(learners):
            raise ValueError(f"merge needs one weight for each of the {len(learners)} models, got {len(weights)}")
        for weight in weights:
            check_number("a weight", weight, at_least=0 if of_second_order else None)
    if budget is not None:
        check_number("budget", budget, at_least=1, integer=True)
    rows = sum(learner.t for learner in learners)
    factors = [learner.t / max(1, rows) for learner in learners] if weights is None else [float(w) for w in weights]

    if len(models) == 1 and factors == [1.0] and budget is None:
        with turn_of(given[0]):
            same = copy.deepcopy(given[0])
        return Compressed(same, 0.0, fitted_learner(same, "merge").n_support, None)
    if of_second_order and weights is None:
        factors = [1.0] * len(learners)
    together = _sums_together if learners[0].adds_up_knowledge else _together
    learner, distance, change = together(learners, factors, budget)
    like: Any = models[0]
    made = like.__onkel_with_learner__(learner)
    inside = [contents_of(model).estimator for model in models]
    if all(hasattr(each, "class_counts_") for each in inside):
        contents_of(made).estimator.class_counts_ = np.sum([each.class_counts_ for each in inside], axis=0)
    return Compressed(made, distance, learner.n_support, None if change is None else change / max(1, rows))


def _together(
    learners: Sequence[Learner], factors: Sequence[float], budget: int | None
) -> tuple[Learner, float, float | None]:
    """A learner of the sum of functions of one kernel, the distance that a budget costs, and the change of the loss."""
    functions = [learner.expansion() for learner in learners]
    of_second_order = isinstance(learners[0].recipe, SecondOrder)
    function = known_together(functions, factors, learners[0]) if of_second_order else total(functions, factors)
    distance, change = 0.0, None
    if budget is not None and len(function.only) > budget:
        whole_function = function if function.information is not None else function.predicting
        function, distance, change = smaller(whole_function, learners[0], eps=None, n_support=budget)
    learner = learners[0].blank(budget=_budget_of_all(learners, budget))
    learner.set_expansion(function)
    return learner, distance, change


def _sums_together(
    learners: Sequence[Learner], factors: Sequence[float], budget: int | None
) -> tuple[Learner, float, float | None]:
    """The same for sums over the same kernels, term by term; their weights are the means of the models' own."""
    terms = list(zip(*(terms_of(learner) for learner in learners), strict=True))
    sizes = [sum(learner.n_support for learner in term) for term in terms]
    parts = [
        _together(term, factors, None if budget is None else max(1, budget * size // sum(sizes)))
        for term, size in zip(terms, sizes, strict=True)
    ]
    rows = np.array([factor * learner.t for factor, learner in zip(factors, learners, strict=True)])
    shares = rows / rows.sum() if rows.any() else np.full(len(learners), 1 / len(learners))
    weights = np.sum([share * learner.kernel_weights for share, learner in zip(shares, learners, strict=True)], axis=0)
    noise = float(np.sum([share * learner.noise_variance for share, learner in zip(shares, learners, strict=True)]))
    like = learners[0].blank(budget=_budget_of_all(learners, budget))
    made = sum_of(like, [learner for learner, _, _ in parts], weights, noise)
    # in the direct sum of the kernels' spaces
    distance = math.sqrt(sum((weight * moved) ** 2 for weight, (_, moved, _) in zip(weights, parts, strict=True)))
    changes = [change for _, _, change in parts if change is not None]
    return made, distance, sum(changes) if changes else None


def _budget_of_all(learners: Sequence[Learner], budget: int | None) -> int | None:
    budgets = [learner.budget for learner in learners]
    return budget if budget is not None else None if None in budgets else sum(each or 0 for each in budgets)


def known_together(functions: Sequence[Expansion], weights: Sequence[float], like: Learner) -> Expansion:
    """Return the function of all rows that second-order learners of one kernel and prior have learned from.

    It lies in the span of all their points: the first one's, and then those of the others that add to it.
    """
    functions = [function.in_order_of_joining for function in functions]
    union = total(functions, [0.0] * len(functions))
    work = like.blank(average=False, budget=None)
    work.set_expansion(union)
    # Points that lie in the span of those before them are no coordinates.
    members = work.expansion().information
    assert members is not None
    chosen = np.isin(union.only.births, members.births)
    nothing = 0.0 * members  # so that each model counts in the same way, whatever its place and weight
    work.set_expansion(replace(union, terms=(union.only.chosen(np.flatnonzero(chosen)),), information=nothing))
    for function, weight in zip(functions, weights, strict=True):
        work.add_information(function, weight)
    return work.expansion().in_order_of_joining


# What has to be the same, and what a caller gives each model to have it so.
_PINNED = {
    "classes": "class",
    "recipes": "recipe",
    "kernels": "kernel and width, such as gamma=0.5",
    "constant terms": "fit_intercept",
    "widths": "number of features",
    "storage": "kind of rows, all dense or all sparse",
    "dtypes": "dtype of rows",
    "tasks": "labels from the start, such as classes=[0, 1]",
    "random features": "n_components and random_state",
    "labels": "labels from the start, such as classes=[0, 1]",
}


def _refuse(what: str, left: Any, right: Any, pinned: str) -> None:
    raise ValueError(f"models with different {what} cannot be merged: {left} and {right}: give each the same {pinned}")


def _random_features(learner: Learner) -> str:
    features = learner.expansion().features
    return "none" if features is None else f"{len(features)} of seed {learner.seed}"


def _check_alike(one: Any, other: Any) -> None:
    """Refuse to add functions that do not live in one space, and say what makes models that do."""
    mine, theirs = contents_of(one), contents_of(other)
    a, b = mine.learner, theirs.learner
    assert a is not None
    assert b is not None
    sides: dict[str, tuple[Any, Any]] = {
        "classes": (type(mine.estimator).__name__, type(theirs.estimator).__name__),
        "recipes": (type(a.recipe).__name__, type(b.recipe).__name__),
        "kernels": (a.kernel, b.kernel),
        "constant terms": (a.fit_intercept, b.fit_intercept),
        "widths": (a.n_features, b.n_features),
        "storage": ("sparse" if a.sparse else "dense", "sparse" if b.sparse else "dense"),
        "dtypes": (a.dtype, b.dtype),
        "tasks": (a.task, b.task),
        "random features": (_random_features(a), _random_features(b)),
    }
    if mine.classes is not None and theirs.classes is not None:
        sides["labels"] = (mine.classes.tolist(), theirs.classes.tolist())
    for what, (left, right) in sides.items():
        if left != right:
            _refuse(what, left, right, _PINNED[what])
    if isinstance(a.recipe, SecondOrder) and isinstance(b.recipe, SecondOrder) and a.recipe.prior != b.recipe.prior:
        _refuse("priors", a.recipe.prior, b.recipe.prior, "λ, such as lam=0.01")
    if len(mine.transformers) != len(theirs.transformers) or mine.calibrated or theirs.calibrated:
        raise ValueError("models that are scaled or calibrated cannot be merged with others: merge what is inside")
    if not all(map(transform_alike, mine.transformers, theirs.transformers)):
        raise ValueError(
            "pipelines whose scalers have different statistics cannot be merged: learn from the files as partitions "
            "(docs/scale.md), or scale all rows alike, with one fitted transformer in a sklearn.frozen.FrozenEstimator"
        )


def transform_alike(one: Any, other: Any) -> bool:
    """Return whether two transformers do the same to every row."""
    if type(one) is not type(other):
        return False
    if type(one).__name__ == "FrozenEstimator":
        return one is other or transform_alike(one.estimator, other.estimator)
    if hasattr(one, "has_statistics_of"):
        return bool(one.has_statistics_of(other))
    mine, theirs = vars(one), vars(other)
    return mine.keys() == theirs.keys() and all(np.array_equal(mine[name], theirs[name]) for name in mine)
