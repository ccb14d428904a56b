"""Merge fitted functions by adding them."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from onkel.function import Expansion, total
from onkel.inside import Inside, fitted_learner, inside, snapshot
from onkel.learner import Learner
from onkel.models.compress import Compressed, check_one_kernel, smaller
from onkel.parts import Hedge, SecondOrder
from onkel.regions import Region
from onkel.utils.turns import turn_of
from onkel.utils.validation import check_number

M = TypeVar("M")


def merge(models: Sequence[M], weights: Sequence[float] | None = None, budget: int | None = None) -> Compressed:
    """Add up fitted models of one class, kernel and set of labels.

    Second-order models add up their information: the result is, in the span of all their points, the model of all their
    rows, term by term where they are sums over kernels. Where each of them has learned its own kernels and λ
    (``relevances="stream"``) it is the sum over all of these: the information of terms with the same kernel and λ is
    added, the weight of a term is its mean weight in the models by their numbers of rows, and further learning uses the
    λ of the first model. Other models are added as functions, ``sum_i weights[i] f_i``, which is exact without a
    budget. The result can continue to learn, as if the rows of the models had come one model after the other.

    Experts are merged by their regions; what lies below a region that the models have divided differently goes, and the
    experts of that region are left.

    Parameters
    ----------
    models : sequence of estimators, pipelines or learners
        They are not changed; the result takes its parameters from the first. Pipelines need scalers with equal
        statistics.
    weights : sequence of float, default=None
        None means the fraction of all rows, ``t_ / sum(t_)``, so that merging is associative. For second-order models
        the weights multiply the information, and None means 1.
    budget : int, default=None
        Compress the sum to this number of support vectors (see `compress`), which is the budget of the result. By
        default the budget of the result is the sum of the budgets.

    Returns
    -------
    model : as given
        A new one.
    distance : float
        The RKHS distance between it and the exact sum: 0 without a budget.
    n_support : int
    loss_change : float or None
        As in `compress`.

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
    models = [snapshot(model, "merge") for model in given]
    learners = [fitted_learner(model, "merge") for model in models]
    for model, learner in zip(models, learners, strict=True):
        if not learner.is_second_order_sum and len(learner.experts) == 1:
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
    alike = all((each.kernel, each.recipe) == (learners[0].kernel, learners[0].recipe) for each in learners)
    merged_by = _merged_of_one_kernel if alike and not learners[0].is_second_order_sum else _merged_sums
    if any(len(learner.experts) > 1 for learner in learners):
        merged_by = _merged_experts
    learner, distance, change = merged_by(learners, factors, budget)
    like: Any = models[0]
    merged = like.__onkel_with_learner__(learner)
    estimators = [inside(model).estimator for model in models]
    if all(hasattr(each, "class_counts_") for each in estimators):
        inside(merged).estimator.class_counts_ = np.sum([each.class_counts_ for each in estimators], axis=0)
    return Compressed(merged, distance, learner.n_support, None if change is None else change / max(1, rows))


def _merged_of_one_kernel(
    learners: Sequence[Learner],
    factors: Sequence[float],
    budget: int | None,
    functions: Sequence[Expansion] | None = None,
    recipe: object = None,
) -> tuple[Learner, float, float | None]:
    """A learner of the sum of functions of one kernel, the distance that a budget costs, and the change of the loss.

    It continues with the recipe of the first, or with another one.
    """
    functions = [learner.expansion(informed=True) for learner in learners] if functions is None else functions
    of_second_order = isinstance(learners[0].recipe, SecondOrder)
    if of_second_order and learners[0].has_weights and any(each.information is None for each in functions):
        raise ValueError(
            "merge adds up what Newton knows of each pair of features, and beyond 1,000 columns it keeps a diagonal of "
            "what it knows: learn from all rows with one model"
        )
    distance, change = 0.0, None
    if len(functions) == 1 and factors[0] == 1:
        function = functions[0]
    else:
        function = known_together(functions, factors, learners[0]) if of_second_order else total(functions, factors)
    if budget is not None and len(function.only) > budget:
        whole_function = function if function.information is not None else function.predicting
        function, distance, change = smaller(whole_function, learners[0], eps=None, n_support=budget)
    recipe = learners[0].recipe if recipe is None else recipe
    learner = learners[0].blank(recipe=recipe, budget=_budget_of_all(learners, budget))
    learner.set_expansion(function)
    return learner, distance, change


class _TermGroup(NamedTuple):
    """Terms of one kernel and λ, of one model or of several."""

    weight: float
    terms: list[Learner]
    functions: list[Expansion]  # with births in the joint stream; the last has its length
    factors: list[float]


def _merged_sums(
    learners: Sequence[Learner], factors: Sequence[float], budget: int | None
) -> tuple[Learner, float, float | None]:
    """The same for sums over kernels, term by term; the weights are averaged over the models by their rows."""
    rows = np.array([factor * learner.t for factor, learner in zip(factors, learners, strict=True)])
    shares = rows / rows.sum() if rows.any() else np.full(len(learners), 1 / len(learners))
    groups = _terms_by_kernel(learners, factors, shares)
    size = sum(len(function.only) for each in groups for function in each.functions)
    parts = []
    for each in groups:
        own = sum(len(function.only) for function in each.functions)
        most = None if budget is None else max(1, budget * own // max(1, size))
        parts.append(_merged_of_one_kernel(each.terms, each.factors, most, each.functions, learners[0].recipe))
    weights = np.array([each.weight for each in groups])
    noise = float(np.sum([share * learner.noise_variance for share, learner in zip(shares, learners, strict=True)]))
    kernels = tuple(each.terms[0].kernel for each in groups)
    kernel = learners[0].kernel if isinstance(learners[0].kernel, Hedge) else Hedge((learners[0].kernel,), "sum")
    if kernels != kernel.kernels:
        kernel = replace(kernel, kernels=kernels, numbers=())
    like = learners[0].blank(kernel=kernel, budget=_budget_of_all(learners, budget))
    merged = like.join([learner for learner, _, _ in parts], weights, noise)
    # in the direct sum of the kernels' spaces
    distance = math.sqrt(sum((weight * moved) ** 2 for weight, (_, moved, _) in zip(weights, parts, strict=True)))
    changes = [change for _, _, change in parts if change is not None]
    return merged, distance, sum(changes) if changes else None


def _merged_experts(
    learners: Sequence[Learner], factors: Sequence[float], budget: int | None
) -> tuple[Learner, float, float | None]:
    """The same for experts: those of one region and one kernel become one, others stand side by side; the weights of a
    leaf are averaged over the models by their rows in it. Regions that not all models have are merged back first."""
    learners = _with_common_regions([_as_experts(learner) for learner in learners], [0] * len(learners))
    trees = [learner.regions for learner in learners]
    starts = np.cumsum([0] + [learner.t for learner in learners]).tolist()
    groups: dict[Any, list[tuple[int, int]]] = {}  # the models and the numbers of the experts that become one
    for i, (learner, tree) in enumerate(zip(learners, trees, strict=True)):
        for place, region in enumerate(tree):
            alike: list[Any] = []  # of one model each expert stays by itself
            for number in region.experts:
                own = learner.expert(number)
                alike.append((own.kernel, own.recipe))
                groups.setdefault((place, *alike[-1], alike.count(alike[-1])), []).append((i, number))
    made, size = [], sum(learner.expert(number).n_support for learner in learners for number in learner.experts)
    for members in groups.values():
        experts = [learners[i].expert(number) for i, number in members]
        functions = [
            _later(each.expansion(informed=True), starts[i]) for each, (i, _) in zip(experts, members, strict=True)
        ]
        functions[-1] = replace(functions[-1], t=sum(each.t for each in experts))
        own_size = sum(each.n_support for each in experts)
        most = None if budget is None else max(1, budget * own_size // max(1, size))
        own_factors = [factors[i] for i, _ in members]
        made.append(_merged_of_one_kernel(experts, own_factors, most, functions))
    of_place = [[k for k, (place, *_) in enumerate(groups) if place == p] for p in range(len(trees[0]))]
    result, numbers = _planted(trees[0], [each for each, _, _ in made], of_place, starts[-1])
    distances = [0.0]
    for region, leaves in zip(result.regions, zip(*trees, strict=True), strict=True):
        if not region.is_leaf:
            continue
        rows = np.array([factor * (leaf.rows + 1) for factor, leaf in zip(factors, leaves, strict=True)])
        shares = rows / rows.sum() if rows.any() else np.full(len(leaves), 1 / len(leaves))
        weight_of = [dict(zip(leaf.path, leaf.weights.tolist(), strict=True)) for leaf in leaves]
        weights = [
            sum(shares[i] * weight_of[i][number] for i, number in list(groups.values())[numbers[expert]])
            for expert in region.path
        ]
        result = result.with_weights(region.number, weights)
        distances.append(sum(w * made[numbers[e]][1] for w, e in zip(weights, region.path, strict=True)))
    changes = [change for _, _, change in made if change is not None]
    return result.with_budget(_budget_of_all(learners, budget)), max(distances), sum(changes) if changes else None


def _as_experts(learner: Learner) -> Learner:
    """The same function; the terms of a sum are experts."""
    if not learner.is_second_order_sum:
        return learner
    return Learner.of_experts(learner.split(), learner.kernel_weights).with_budget(learner.budget)


def _with_common_regions(learners: list[Learner], numbers: Sequence[int]) -> list[Learner]:
    """The learners without the regions below these, one of each, that not all of them have."""
    regions = [
        next(region for region in learner.regions if region.number == number)
        for learner, number in zip(learners, numbers, strict=True)
    ]
    if len({region.condition for region in regions}) > 1:
        return [
            learner if region.is_leaf else learner.merged_back(region.number)
            for learner, region in zip(learners, regions, strict=True)
        ]
    for children in zip(*(region.children for region in regions), strict=True):
        learners = _with_common_regions(learners, children)
    return learners


def _planted(
    tree: Sequence[Region], experts: Sequence[Learner], of_place: Sequence[Sequence[int]], t: int
) -> tuple[Learner, dict[int, int]]:
    """A learner with the regions of a tree and these experts in them; and the place of each among those given."""
    first = [experts[k] for k in of_place[0]] or [experts[0]]
    result = Learner.of_experts(first, t=t)
    places = {region.number: place for place, region in enumerate(tree)}
    order = list(of_place[0]) or [0]
    for place, region in enumerate(tree):
        if region.condition is not None:
            sides = [of_place[places[child]] for child in region.children]
            lower, upper = ([experts[k] for k in side] for side in sides)
            result = result.divided(result.regions[place].number, region.condition, lower, upper)
            order += [*sides[0], *sides[1]]
    numbers = dict(zip(result.experts, order, strict=True))
    return (result if of_place[0] else result.without_expert(0)), numbers


def _terms_by_kernel(
    learners: Sequence[Learner], factors: Sequence[float], shares: Iterable[float]
) -> list[_TermGroup]:
    """The terms of models by their kernels and λ; those with relevances last, and among them the heaviest."""
    found: dict[Any, _TermGroup] = {}
    start = 0
    for learner, factor, share in zip(learners, factors, shares, strict=True):
        for weight, term in zip(learner.kernel_weights, learner.split(), strict=True):
            group = found.setdefault((term.kernel, term.recipe), _TermGroup(0.0, [], [], []))
            group.terms.append(term)
            group.functions.append(_later(term.expansion(informed=True), start))
            group.factors.append(factor)
            found[term.kernel, term.recipe] = group._replace(weight=group.weight + share * float(weight))
        start += learner.t
    for group in found.values():
        group.functions[-1] = replace(group.functions[-1], t=start)
    if len({len(learner.kernels) for learner in learners} | {len(found)}) == 1:  # all have the same terms
        return list(found.values())
    return sorted(found.values(), key=lambda group: (bool(group.terms[0].kernel.metric.scales), group.weight))


def _later(function: Expansion, start: int) -> Expansion:
    """The function of a model whose rows came after others: its births are those in the joint stream."""
    term, known = function.only, function.information
    known = None if known is None else replace(known, births=known.births + start)
    return replace(function, terms=(replace(term, births=term.births + start),), t=0, information=known)


def _budget_of_all(learners: Sequence[Learner], budget: int | None) -> int | None:
    budgets = [learner.budget for learner in learners]
    return budget if budget is not None else None if None in budgets else sum(each or 0 for each in budgets)


def known_together(functions: Sequence[Expansion], weights: Sequence[float], like: Learner) -> Expansion:
    """Return the function of all rows that second-order learners of one kernel and prior have learned from.

    It lies in the span of all their points: those of the first, and then those of the others that extend the span.
    """
    functions = [function.in_order_of_joining for function in functions]
    union = total(functions, [0.0] * len(functions))
    work = like.blank(average=False, budget=None)
    work.set_expansion(union)
    # Points that lie in the span of those before them add no coordinate.
    members = work.expansion(informed=True).information
    assert members is not None
    chosen = np.isin(union.only.births, members.births)
    nothing = 0.0 * members  # so that each model counts in the same way, whatever its place and weight
    work.set_expansion(replace(union, terms=(union.only.chosen(np.flatnonzero(chosen)),), information=nothing))
    for function, weight in zip(functions, weights, strict=True):
        work.add_information(function, weight)
    return work.expansion(informed=True).in_order_of_joining


# What must be equal, and the parameters that make it so.
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
    "numbers of classes": "n_classes",
    "labels": "labels from the start, such as classes=[0, 1]",
}


def _refuse(what: str, left: object, right: object, pinned: str) -> None:
    raise ValueError(f"models with different {what} cannot be merged: {left} and {right}: give each the same {pinned}")


def _random_features(learner: Learner) -> str:
    features = learner.expansion().features
    return "none" if features is None else f"{len(features)} of seed {learner.seed}"


def _check_alike(one: object, other: object) -> None:
    """Refuse to add functions of different spaces, and say which parameters must be equal."""
    mine, theirs = inside(one), inside(other)
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
    else:
        sides["numbers of classes"] = (a.n_outputs, b.n_outputs)
    # kernels and λ, from the rows of each
    learned = isinstance(a.recipe, SecondOrder) and all(map(_learns_its_kernel, (mine, theirs)))
    for what, (left, right) in sides.items():
        if left != right and not (learned and what == "kernels"):
            _refuse(what, left, right, _PINNED[what])
    priors = [each.recipe.prior for each in (a, b) if isinstance(each.recipe, SecondOrder) and not learned]
    if len(set(priors)) > 1:
        _refuse("priors", priors[0], priors[1], "λ, such as lam=0.01")
    if len(mine.transformers) != len(theirs.transformers) or mine.calibrated or theirs.calibrated:
        raise ValueError("models that are scaled or calibrated cannot be merged with others: merge what is inside")
    if not all(map(transform_alike, mine.transformers, theirs.transformers)):
        raise ValueError(
            "pipelines whose scalers have different statistics cannot be merged: learn from the files as partitions "
            "(docs/scale.md), or scale all rows alike, with one fitted transformer in a sklearn.frozen.FrozenEstimator"
        )


def _learns_its_kernel(model: Inside) -> bool:
    return all(model.parameters.get(name) == "stream" for name in ("gamma", "relevances"))


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
