"""A sum of second-order learners, one per kernel, is taken apart into ordinary learners and put together from them.

Nothing is computed on the way: the state of a sum holds the state of each of its learners, whose points lie in a pool
that all of them share. So what can be done to a learner of one kernel can be done to the terms of a sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from onkel.learner import Learner
from onkel.parts import Hedge

Floats = NDArray[np.float64]
State = dict[str, NDArray[Any]]

_LOG_OF_NOTHING = -700.0  # the logarithm of a weight of 0
_MOST_REMEMBERED = 256  # weights in the history of a sum


def terms_of(learner: Learner) -> list[Learner]:
    """Return the learners of a sum, in the order of the kernels; of any other learner, only itself.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> from onkel.parts import RBF, Hedge
    >>> both = onkel.Learner(onkel.recipes.Newton(), kernel=Hedge((RBF(1.0), RBF(0.1)), "sum"), budget=8)
    >>> both.learn_rows(np.eye(3), np.array([0.0, 1.0, 1.0]))
    >>> narrow, wide = terms_of(both)
    >>> x = np.array([1.0, 0.0, 0.5])
    >>> bool(np.isclose(both.score(x), both.kernel_weights @ [narrow.score(x), wide.score(x)]))
    True
    """
    if not learner.is_second_order_sum:
        return [learner]
    assert isinstance(learner.kernel, Hedge)
    assert learner.n_features is not None
    state = learner.state()
    terms = []
    for number, kernel, budget in zip(
        learner.kernel.numbers, learner.kernels, state["update.budgets"].tolist(), strict=True
    ):
        term = learner.blank(kernel=kernel, budget=None if learner.budget is None else budget)
        term.load_state(_state_of_term(state, f"update.kernel{number}."), learner.n_features, learner.sparse)
        terms.append(term)
    return terms


def sum_of(
    like: Learner, terms: Sequence[Learner], weights: Floats, noise: float = 0.0, *, begins: bool = False
) -> Learner:
    """Return a sum with the settings of another, of these learners that have seen as many rows as one another.

    Parameters
    ----------
    like : Learner
        A sum over the terms' kernels. Its state does not matter, but that weights which are its own keep every bit.
    terms : sequence of Learner
        Points born at the same row are held once.
    weights : ndarray
        Of the terms; they sum to 1.
    noise : float
        The variance of the sum's residuals, of a regression.
    begins : bool
        Whether no row has moved its weights yet; then all terms have the same budget.
    """
    assert isinstance(like.kernel, Hedge)
    assert terms[0].n_features is not None
    states = [term.state() for term in terms]
    result = {name: values for name, values in states[0].items() if "." not in name}
    places, pool = _pooled(states, terms[0].sparse)
    result |= {f"basis.{name}": values for name, values in pool.items()}
    rows = int(result["t"][0])
    for number, state, place in zip(like.kernel.numbers, states, places, strict=True):
        own = f"update.kernel{number}."
        result |= {f"{own}seen": result["t"], f"{own}basis.births": state["basis.births"], f"{own}basis.places": place}
        for name, values in state.items():
            if name.startswith("update."):
                result[f"{own}learner.{name.removeprefix('update.')}"] = values
    stride = 1
    while rows // stride >= _MOST_REMEMBERED:
        stride *= 2
    summed = like.blank(n_classes=terms[0].n_classes, dtype=terms[0].dtype)
    budgets = _divided(summed, [term.n_support for term in terms])
    result |= {
        "update.log_weights": _logarithms(like, weights),
        "update.budget": np.array([summed.budget_of_a_function]),
        "update.budgets": budgets,
        "update.squares": np.array([noise * rows]),
        "update.moves": np.array([0 if begins else rows]),
        "update.stride": np.array([stride]),
        "update.history": np.tile(weights, (rows // stride, 1)),
    }
    if like.task == "regression":
        result |= {"update.lowest": np.zeros(1), "update.highest": np.zeros(1)}  # which votes alone go by
    summed.load_state(result, terms[0].n_features, terms[0].sparse)
    return summed


def _logarithms(like: Learner, weights: Floats) -> Floats:
    """Relative to the largest weight. A logarithm and its exponential cost bits, so those that there are stay."""
    if like.t > 0 and np.array_equal(weights, like.kernel_weights):
        return np.asarray(like.state()["update.log_weights"])
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.log(weights / weights.max()), _LOG_OF_NOTHING))


def _state_of_term(state: State, own: str) -> State:
    """The state of a learner whose points are no longer in a pool."""
    result = {name: values for name, values in state.items() if "." not in name}
    births, places = state[f"{own}basis.births"], state[f"{own}basis.places"]
    result["basis.births"] = births
    result |= {f"basis.{name}": values for name, values in _points(state, places, births >= 0).items()}
    for name, values in state.items():
        if name.startswith(f"{own}learner."):
            result[f"update.{name.removeprefix(f'{own}learner.')}"] = values
    return result


def _points(state: State, places: NDArray[np.int64], there: NDArray[np.bool_]) -> State:
    """Some points of a state; where there is none, zeros."""
    if "basis.points" in state:
        points = state["basis.points"][places]
        points[~there] = 0
        return {"points": points}
    rows = csr_array((state["basis.values"], state["basis.features"], state["basis.offsets"]))
    chosen = rows[places]
    chosen = csr_array(chosen.multiply(there[:, None])) if not there.all() else chosen
    chosen.eliminate_zeros()
    return _csr(chosen, state)


def _csr(rows: Any, like: State) -> State:
    names = ("values", "features", "offsets")
    arrays = (rows.data, rows.indices, rows.indptr)
    return {
        name: array.astype(like[f"basis.{name}"].dtype, copy=False) for name, array in zip(names, arrays, strict=True)
    }


def _pooled(states: Sequence[State], sparse: bool) -> tuple[list[NDArray[np.int64]], State]:
    """Where the points of each state are in a pool of all of them, and the pool."""
    births = np.concatenate([state["basis.births"] for state in states])
    alive = np.flatnonzero(births >= 0)
    pool, first, place = np.unique(births[alive], return_index=True, return_inverse=True)
    places = np.zeros(len(births), np.int64)
    places[alive] = place
    ends = np.cumsum([len(state["basis.births"]) for state in states])
    result: State = {"births": pool}
    if sparse:
        parts = [
            csr_array(
                (state["basis.values"], state["basis.features"], state["basis.offsets"]),
                shape=(len(state["basis.births"]), 2**31 - 1),
            )
            for state in states
        ]
        result |= _csr(csr_array(vstack(parts))[alive[first]], states[0])
    else:
        result["points"] = np.concatenate([state["basis.points"] for state in states])[alive[first]]
    return np.split(places, ends[:-1]), result


def _divided(summed: Learner, sizes: Sequence[int]) -> NDArray[np.int64]:
    """The budget of each term, as of terms of equal weight, and at least what it has."""
    part = int(summed.budget_of_a_function * math.sqrt(len(sizes)))
    return np.array([max(1, size, part) for size in sizes], np.int64)
