"""Steps that several experiments share: search a grid for each learner, then run all learners over permutations.

Learners are identified by (data set, name in the table). A learner whose data set is missing is None: the result of its
cells is known without a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from onkel_papers._cells import Cell, Result, cell, cross_validate, search, tune
from onkel_papers._data import Data
from onkel_papers._metrics import mean_sd
from onkel_papers.lab import Lab
from onkel_papers.verdict import METRICS, Findings, as_printed, figures, tolerance

Key = TypeVar("Key")
Place = tuple[str, str]
Described = dict[str, Any]

_MOST_RUNS = 60  # of a learner whose mean is not known well enough


def searched(
    lab: Lab,
    sets: Mapping[str, Data],
    grids: Mapping[Place, Sequence[Described]],
    *,
    folds: int | None = None,
    rows: Callable[[Place], int | None] | None = None,
    permutations: Callable[[Place], int] | None = None,
) -> dict[Place, Any]:
    """Return the best learner of each grid.

    Parameters
    ----------
    lab : Lab
    sets : dict of Data
    grids : dict of lists of learners
    folds : int, default=None
        Number of folds of the cross-validation; None: progressive mistakes on one permutation.
    rows : callable, default=None
        How many rows of a permutation to search on (None: all); `Lab.search_rows` by default.
    permutations : callable, default=None
        How many permutations to search on; one by default.
    """

    def of(place: Place) -> dict[str, Any]:
        if folds is not None:
            return {"seed": 0, "folds": folds}
        return {"seeds": list(range(1 if permutations is None else permutations(place)))}

    found = lab.run(
        {
            place: cell(
                search if folds is None else cross_validate,
                data=sets[place[0]].spec(),
                rows=lab.search_rows if rows is None else rows(place),
                grid=list(grid),
                **of(place),
            )
            for place, grid in grids.items()
        }
    )
    return {place: result.get("best") for place, result in found.items()}


def refined(
    lab: Lab, sets: Mapping[str, Data], grids: Mapping[Place, Sequence[Described]], *, folds: int
) -> dict[Place, Any]:
    """Return the best learner of each grid by cross-validation, first on few rows, then near the best on all rows.

    For a parameter whose best value moves with the number of rows: the best on the first rows and its neighbours in the
    grid are tried again on all training rows. A quick run skips the second step.
    """
    found = searched(lab, sets, grids, folds=folds)
    if lab.quick:
        return found
    near = {}
    for place, grid in grids.items():
        if found[place] is not None:
            at = list(grid).index(found[place])
            near[place] = grid[max(0, at - 1) : at + 2]
    return found | searched(lab, sets, near, folds=folds, rows=lambda place: None)


def tuned(
    lab: Lab,
    sets: Mapping[str, Data],
    learners: Mapping[tuple[str, Any], Described],
    parameter: str,
    wanted: Mapping[str, Any],
    high: float,
) -> dict[tuple[str, Any], Result]:
    """Return the `parameter` between 1 and `high` for which each learner has the wanted number of points."""
    return lab.run(
        {
            (name, which): cell(
                tune,
                data=sets[name].spec(),
                seed=0,
                rows=lab.rows(sets[name]),
                learner=described,
                parameter=parameter,
                wanted=wanted[name],
                low=1.0,
                high=high,
            )
            for (name, which), described in learners.items()
        }
    )


def run_all(
    lab: Lab,
    function: Callable[..., Result],
    sets: Mapping[str, Data],
    learners: Mapping[Place, Any],
    runs: int,
    *,
    of: str = "",
) -> dict[Place, list[Result]]:
    """Return the results of each learner over the permutations.

    Parameters
    ----------
    lab : Lab
    function : callable
        The function of the cells, with parameters `data`, `seed`, `rows` and `learner`.
    sets : dict of Data
    learners : dict of learners
    runs : int
        Number of runs in the paper.
    of : str, default=""
        The experiment. Where the rates of a cheap learner vary by more than the tolerance of its table, further runs
        are added until the standard error of the mean is a third of the tolerance.
    """
    seeds = {place: lab.runs(runs, sets[place[0]], cheap=_is_cheap(described)) for place, described in learners.items()}

    def one(place: Place, seed: int) -> Cell:
        data = sets[place[0]]
        return cell(function, data=data.spec(), seed=seed, rows=lab.rows(data), learner=learners[place])

    results = over_permutations(lab, seeds, one)
    if lab.quick or lab.asked_runs is not None:
        return results
    more = {
        place: range(len(known), enough_runs(of, place, known))
        for place, known in results.items()
        if _is_cheap(learners[place])
    }
    further = over_permutations(lab, more, one)
    return {place: known + further.get(place, []) for place, known in results.items()}


def enough_runs(experiment: str, place: Place, runs: Sequence[Result]) -> int:
    """Return the number of runs after which the mean of a rate is known to a third of its tolerance.

    >>> enough_runs("oskl-table4", ("magic04", "Forgetron (as OSKL G=4)"), [{"accuracy": 70.0}, {"accuracy": 77.0}])
    29
    """
    enough = len(runs)
    printed = place[0], as_printed(place[1])
    for (*of, metric), paper in figures().get(experiment, {}).items():
        values = [run[metric] for run in runs if metric in run]
        if tuple(of) == printed and METRICS[metric].kind == "rate" and len(values) > 1:
            allowed, spread = tolerance(paper), mean_sd(values)[1] or 0.0
            if spread > allowed:
                enough = max(enough, min(_MOST_RUNS, math.ceil((3 * spread / allowed) ** 2)))
    return enough


def over_permutations(
    lab: Lab, seeds: Mapping[Key, Collection[int]], one: Callable[[Key, int], Cell]
) -> dict[Key, list[Result]]:
    """Return the results of each learner's cells, one for each of its seeds."""
    results = lab.run({(key, seed): one(key, seed) for key in seeds for seed in seeds[key]})
    return {key: [results[key, seed] for seed in seeds[key]] for key in seeds}


def _is_cheap(described: Described | None) -> bool:
    """Whether a learner has one kernel, first-order steps, and few points: a budget, or it samples rows."""
    if described is None or described["recipe"] == "Newton" or "combination" in described:
        return False
    return "budget" in described or described["recipe"] in ("SPA", "OSKL")


def add_all(
    lab: Lab,
    found: Findings,
    sets: Mapping[str, Data],
    results: Mapping[Place, list[Result]],
    metrics: Sequence[str],
    *,
    unbounded: Collection[str] = (),
) -> None:
    """Add all results; the counts of unbounded learners are judged if there are as many rows as in the paper."""
    for (name, who), runs in results.items():
        share = lab.share(sets[name]) if who in unbounded else 1.0
        found.add(name, who, runs, *metrics, share=share)


def mean_count(runs: Sequence[Result]) -> int:
    """Return the mean number of support vectors of some runs, as the budget of another learner (1 if there is none).

    >>> mean_count([{"n_support": 10}, {"n_support": 13}]), mean_count([{"missing": "lost"}])
    (12, 1)
    """
    counts = [run["n_support"] for run in runs if "missing" not in run]
    return max(1, round(sum(counts) / len(counts))) if counts else 1
