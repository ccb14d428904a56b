"""Cells, of which experiments consist. Each is a pure function of JSON parameters with a JSON result.

The functions below are those that most tables need; an experiment may have its own. They take `data` (see
`onkel_papers._data.Data.spec`), `rows` (None: all), `seed` (the permutation, and the learner's draws) and learners
as `learner` describes them.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import onkel
from onkel import evaluate
from onkel.parts import POOL
from onkel_papers import _metrics
from onkel_papers._data import Permutation, shuffled

Result = dict[str, Any]

_HELD_OUT_POINTS = 10


@dataclass(frozen=True)
class Cell:
    """A function and its parameters.

    Parameters
    ----------
    function : callable
        A function of a module, so that another process can import it.
    parameters : dict
    """

    function: Callable[..., Result]
    parameters: dict[str, Any]

    def document(self) -> dict[str, Any]:
        """Return the JSON object that identifies the cell."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        return {"version": onkel.__version__, "function": name, "parameters": self.parameters}

    @property
    def name(self) -> str:
        """The name of its file: the function and the learner, for the reader, and a digest of everything."""
        digest = hashlib.sha256(json.dumps(self.document(), sort_keys=True).encode()).hexdigest()[:24]
        chosen = self.parameters.get("learner")
        who = f"-{chosen['recipe']}" if isinstance(chosen, dict) else ""
        return f"{self.function.__name__}{who}-{digest}.json"

    @property
    def label(self) -> str:
        """A short description for the progress display."""
        known = self.parameters
        words = [*known.get("data", {}).get("train", []), (known.get("learner") or {}).get("recipe", "")]
        return " ".join([self.function.__name__.replace("_", " "), *filter(None, words)])


def cell(function: Callable[..., Result], **parameters: Any) -> Cell:
    """Return a cell.

    >>> planned = cell(progressive, data={}, seed=0, learner=learner("Perceptron", gamma=0.4))
    >>> planned.name[:23], len(planned.name), planned.label
    ('progressive-Perceptron-', 52, 'progressive Perceptron')
    """
    return Cell(function, parameters)


# -- learners ---------------------------------------------------------------------------------------------------------


def learner(
    recipe: str,
    *,
    gamma: Any = None,
    pool: int | None = None,
    combination: str | None = None,
    at_zero: str | None = None,
    budget: int | None = None,
    average: bool | None = None,
    fit_intercept: bool = False,
    **numbers: Any,
) -> dict[str, Any]:
    """Describe a learner.

    Parameters
    ----------
    recipe : str
        A name of `onkel.recipes`.
    gamma : float or "stream", default=None
        Width of the gaussian kernel.
    pool : int, default=None
        Alternatively, the number of one of the SPA paper's 16 kernels.
    combination : str, default=None
        Alternatively, all 16 kernels with this combination.
    at_zero : str, default=None
        How a combination treats a score of 0.
    budget, average, fit_intercept
        As in the estimators.
    **numbers
        The recipe's parameters.
    """
    given = {"gamma": gamma, "pool": pool, "combination": combination, "at_zero": at_zero}
    given |= {"budget": budget, "average": average}
    shared = {name: value for name, value in given.items() if value is not None}
    return {"recipe": recipe, **shared, **({"fit_intercept": True} if fit_intercept else {}), "numbers": numbers}


NEWTON: dict[str, Any] = {"lam": 0.01, "forget": 1.0}  # in every table, since permuted rows do not drift


def newton(budget: int, **kernel: Any) -> dict[str, Any]:
    """Describe the second-order learner, which has a constant term, the same λ and one kernel in every table."""
    return learner("Newton", budget=budget, fit_intercept=True, **kernel, **NEWTON)


def new_estimator(described: dict[str, Any], seed: int) -> Any:
    """Return a new estimator.

    >>> new_estimator(learner("SPA", gamma=0.4, eta=0.1, beta=20), 3).gamma
    0.4
    """
    recipe = getattr(onkel.recipes, described["recipe"])(**described["numbers"])
    shared: dict[str, Any] = {
        name: described[name] for name in ("gamma", "budget", "average", "fit_intercept") if name in described
    }
    shared["random_state"] = seed
    if "combination" in described:
        several = {name: described[name] for name in ("combination", "at_zero") if name in described}
        return onkel.MultiKernelClassifier(recipe, **several, **shared)
    if "pool" in described:
        shared["kernel"] = POOL[described["pool"]]
    return onkel.KernelClassifier(recipe, **shared)


# -- runs -------------------------------------------------------------------------------------------------------------


def progressive(*, data: Result, seed: int, learner: Result, rows: int | None = None) -> Result:
    """Run a learner over a permutation of the rows; each row is predicted before it is learned from."""
    drawn = shuffled(data, seed, rows)
    est = new_estimator(learner, seed)
    curve = evaluate.progressive(est, [(drawn.X, drawn.y)], classes=[-1, 1], clock=time.process_time)
    accuracy = 100 * float(curve["accuracy"][-1])
    return _result(est, curve, drawn, accuracy=accuracy, error=100 - accuracy)


def held_out(*, data: Result, seed: int, learner: Result, rows: int | None = None) -> Result:
    """Run a learner over the training rows; test it on some held-out rows during learning and on all at the end."""
    drawn = shuffled(data, seed, rows)
    est = new_estimator(learner, seed)
    curve = evaluate.progressive(
        est,
        [(drawn.X, drawn.y)],
        classes=[-1, 1],
        every=-(-len(drawn.y) // _HELD_OUT_POINTS),
        held_out=drawn.sample,
        clock=time.process_time,
    )
    return _result(est, curve, drawn, accuracy=100 * float(est.score(drawn.X_test, drawn.y_test)))


def _result(est: Any, curve: evaluate.Curve, drawn: Permutation, **quality: float) -> Result:
    n_support = int(getattr(est, "n_support_total_", est.n_support_))
    return {**summary(drawn, n_support, curve.last.seconds, **quality), "curve": curve.to_dict()}


def summary(drawn: Permutation, n_support: int, seconds: float, **quality: float) -> Result:
    """Return the figures that every run of a table reports."""
    return {
        **quality,
        "n_support": n_support,
        "sparsity": _metrics.sparsity(n_support, len(drawn.y)),
        "seconds": seconds,
        "rows": len(drawn.y),
        "majority": drawn.majority,
    }


# -- searches ---------------------------------------------------------------------------------------------------------


def search(*, data: Result, seeds: list[int], grid: list[Result], rows: int | None = None) -> Result:
    """Return the learner of a grid with the fewest progressive mistakes on some permutations (the first if equal)."""
    permutations = [(seed, shuffled(data, seed, rows)) for seed in seeds]

    def mistakes(described: Result) -> float:
        def on(seed: int, drawn: Permutation) -> float:
            scores = new_estimator(described, seed).predict_then_learn(drawn.X, drawn.y, classes=[-1, 1])
            return float(np.mean((scores > 0) != (drawn.y > 0)))

        return float(np.mean([on(*permutation) for permutation in permutations]))

    return _best(grid, mistakes)


def cross_validate(*, data: Result, seed: int, grid: list[Result], folds: int, rows: int | None = None) -> Result:
    """Return the learner of a grid with the least mean error over the folds of the training rows."""
    drawn = shuffled(data, seed, rows)
    fold = np.arange(len(drawn.y)) % folds

    def error(described: Result) -> float:
        wrong = 0
        for k in range(folds):
            est = new_estimator(described, seed).partial_fit(drawn.X[fold != k], drawn.y[fold != k], classes=[-1, 1])
            wrong += int(np.count_nonzero(est.predict(drawn.X[fold == k]) != drawn.y[fold == k]))
        return wrong / len(drawn.y)

    return _best(grid, error)


def _best(grid: list[Result], error_of: Callable[[Result], float]) -> Result:
    """The learner with the smallest error; learners that a recipe refuses, or that overflow, are skipped."""
    errors: list[float | None] = []
    for described in grid:
        try:
            errors.append(error_of(described))
        except (ValueError, OverflowError) as error:
            refusal = error
            errors.append(None)
    tried = [error for error in errors if error is not None]
    if not tried:
        raise ValueError(f"no learner of the grid could be run: {refusal}")
    return {"best": grid[errors.index(min(tried))], "errors": errors}


def width(*, data: Result, percentile: float) -> Result:
    """Return the kernel's γ at a percentile of the distances between training rows."""
    drawn = shuffled(data, 0)
    return {"gamma": onkel.gamma_from_percentile(drawn.X, percentile, random_state=0)}


def tune(
    *,
    data: Result,
    seed: int,
    learner: Result,
    parameter: str,
    wanted: float,
    low: float,
    high: float,
    rows: int | None = None,
) -> Result:
    """Find the value of `parameter` between `low` and `high` that gives the wanted number of support vectors.

    The logarithm is bisected on one permutation; the number must fall as the parameter grows.
    """
    drawn = shuffled(data, seed, rows)
    best: tuple[float, float, int] | None = None
    for _ in range(12):
        value = float(np.sqrt(low * high))
        described = {**learner, "numbers": {**learner["numbers"], parameter: value}}
        est = new_estimator(described, seed).partial_fit(drawn.X, drawn.y, classes=[-1, 1])
        off = abs(est.n_support_ - wanted)
        if best is None or off < best[0]:
            best = off, value, int(est.n_support_)
        if off <= 0.01 * wanted:
            break
        low, high = (value, high) if est.n_support_ > wanted else (low, value)
    assert best is not None
    return {parameter: best[1], "n_support": best[2]}
