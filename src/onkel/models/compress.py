"""Make a fitted function smaller: support vectors leave, and the others make up for them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from onkel.contents import fitted_learner
from onkel.expansion import Expansion
from onkel.learner import Learner
from onkel.parts import FirstOrder, Hedge
from onkel.settings import UNBOUNDED
from onkel.utils.validation import check_number

M = TypeVar("M")


class Compressed(NamedTuple):
    """A smaller, or a merged, model and what it cost."""

    model: Any
    distance: float  # the RKHS distance to the exact function
    n_support: int
    loss_change: float | None  # of the mean loss on rows, where it is known


def compress(model: M, *, eps: float | None = None, n_support: int | None = None) -> Compressed:
    """Make a fitted model smaller.

    Support vectors leave one after the other, always the one that the rest can best make up for, and the rest are
    refitted (KOMP: POLK, Algorithm 2). Works on the function that predicts: the average, where that is the one. What
    the model learns afterwards starts from the smaller function, as last function and as average. Rows that wait for
    the end of their mini-batch are forgotten.

    Parameters
    ----------
    model : estimator, StreamPipeline, PlattClassifier or Learner
        Stays as it is.
    eps : float, default=None
        The most that the function may move, as RKHS distance.
    n_support : int, default=None
        The most support vectors to keep, and the budget of the result where the model has one. With both, support
        vectors leave until there are so few, and on while the function stays within `eps`.

    Returns
    -------
    model : as given
        A new one.
    distance : float
        The RKHS distance between the two functions.
    n_support : int
        Number of support vectors of the new one.
    loss_change : float or None
        None: the rows are not known.

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
    learner = fitted_learner(model, "compress")
    check_one_kernel(learner)
    if eps is None and n_support is None:
        raise ValueError("compress needs eps (the distance allowed) or n_support (the number to keep)")
    if eps is not None:
        check_number("eps", eps, at_least=0)
    if n_support is not None:
        check_number("n_support", n_support, at_least=1, integer=True)
    small, distance = smaller(learner.expansion().predicting, learner, eps=eps, n_support=n_support)
    size = len(small.terms[0])
    budget = learner.budget
    if budget is not None:
        # The average of a learner that evicts may hold more points than its budget: all of them stay then.
        budget = n_support if n_support is not None else max(budget, size)
    return Compressed(with_function(model, learner.blank(budget=budget), small), distance, size, None)


def smaller(function: Expansion, like: Learner, *, eps: float | None, n_support: int | None) -> tuple[Expansion, float]:
    """Return a function with fewer points, by KOMP, and the distance between the two; ``like`` has its kernel."""
    recipe = like.recipe
    if isinstance(recipe, FirstOrder):
        recipe = replace(recipe, eviction=like.recipe.eviction.without_points, ball=None)  # type: ignore[attr-defined]
    work = like.blank(recipe=recipe, average=False, budget=None)
    work.set_expansion(function)
    distance = work.compress(0.0 if eps is None else eps, UNBOUNDED if n_support is None else n_support)
    return work.expansion(), distance


def with_function(model: Any, learner: Learner, function: Expansion) -> Any:
    """Return a copy of a model whose learner, of these settings, goes on from a function."""
    learner.set_expansion(function)
    return model.__onkel_with_learner__(learner)


def check_one_kernel(learner: Learner) -> None:
    """Refuse a vote of several kernels, which is no sum."""
    if isinstance(learner.kernel, Hedge):
        raise ValueError("compress and merge need a function of one kernel, and this model has several kernels")
