"""Zhang, Yi, Jin, Lin and He, "Online Kernel Learning with a Near Optimal Sparsity Bound" (ICML 2013): Tables 3 to 5.

One pass over the training rows, then the accuracy on the held-out rows: 5 random splits of 80 % and 20 % (magic04,
covtype), or 5 permutations of the training file (adult). Gaussian kernel, σ the 20th percentile of the distances. Table
3 scores the average (Pegasos: the last function), Table 4 the last function, Table 5 the average, in which the points
that were evicted stay and count. Parameters by 5-fold cross-validation on the first training rows, those near Pegasos's
best λ again on all of them; those of BOGD++, of which the paper says nothing, by progressive mistakes over one
permutation, as in the paper that BOGD++ is from, of the function that the table scores.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

from onkel_papers._cells import Result, cell, held_out, learner, newton, width
from onkel_papers._data import Data
from onkel_papers._protocol import Place, add_all, mean_count, refined, run_all, searched
from onkel_papers.lab import Lab
from onkel_papers.verdict import Findings

SETS = {
    "magic04": Data(("magic04",), split=0.2, scale=(0.0, 1.0), paper_rows=15_216),
    "adult": Data(("a9a",), test=("a9a.t",), paper_rows=32_561),
    "covtype": Data(
        ("covtype.16%",),
        split=0.2,
        positive=2,
        paper_rows=464_809,
        note="a random 16 % of the set, the part that is available",
    ),
}
GS = (1, 2, 4, 10)
RUNS = 5
FOLDS = 5
_RADII = [10.0**k for k in range(6)]
_ETAS = [0.01, 0.1, 1.0]
_LAMBDAS = [10.0**k for k in range(-10, 0)]
_UNBOUNDED = {"Baseline", "Margin", "Auxiliary", "Pegasos", *(f"OSKL (G={G})" for G in GS)}
_MOST_NEWTON = 2000  # a second-order step costs the square of the number of points


def table3(lab: Lab) -> Findings:
    """OSKL paper, Table 3: sparse learners without a budget, accuracy of the average on a test set."""
    sets = lab.sets(SETS)
    found = Findings.of("oskl-table3", lab, sets)
    gammas = _gammas(lab, sets)
    results = _sparse(lab, sets, gammas)
    results |= _newton(lab, sets, gammas, results)
    metrics = ("accuracy", "sparsity", "n_support", "seconds")
    add_all(lab, found, sets, results, metrics, unbounded=_UNBOUNDED)
    return found


def table4(lab: Lab) -> Findings:
    """OSKL paper, Table 4: Forgetron and BOGD++ with as many points as OSKL, accuracy of the last function."""
    results = _budgeted_and_newton(lab, average=False)
    found = Findings.of("oskl-table4", lab, lab.sets(SETS))
    add_all(lab, found, lab.sets(SETS), results, ("accuracy", "n_support", "seconds"))
    return found


def table5(lab: Lab) -> Findings:
    """OSKL paper, Table 5: Forgetron and BOGD++ with as many points as OSKL, accuracy of the average."""
    results = _budgeted_and_newton(lab, average=True)
    found = Findings.of("oskl-table5", lab, lab.sets(SETS))
    unbounded = {who for _, who in results}
    add_all(lab, found, lab.sets(SETS), results, ("accuracy", "sparsity", "n_support"), unbounded=unbounded)
    return found


def _budgeted_and_newton(lab: Lab, average: bool) -> dict[Place, list[Result]]:
    sets = lab.sets(SETS)
    gammas = _gammas(lab, sets)
    return _budgeted(lab, sets, average=average) | _newton(lab, sets, gammas, _oskl(lab, sets, gammas))


def _gammas(lab: Lab, sets: Mapping[str, Data]) -> dict[str, Any]:
    widths = lab.run({name: cell(width, data=data.spec(), percentile=20.0) for name, data in sets.items()})
    return {name: result.get("gamma") for name, result in widths.items()}


def _sparse(lab: Lab, sets: Mapping[str, Data], gammas: Mapping[str, Any]) -> dict[Place, list[Result]]:
    """The columns of Table 3."""
    grids: dict[Place, list[dict[str, Any]]] = {}
    for name, gamma in gammas.items():
        for who, sampling in (("Baseline", "none"), ("Margin", "margin"), ("Auxiliary", "auxiliary")):
            grids[name, who] = [
                learner("KLR", gamma=gamma, sampling=sampling, eta=eta, R=R) for eta, R in product(_ETAS, _radii(lab))
            ]
    pegasos = {
        (name, "Pegasos"): [learner("Pegasos", gamma=gamma, lam=lam) for lam in _LAMBDAS]
        for name, gamma in gammas.items()
    }
    found = searched(lab, sets, grids, folds=FOLDS) | refined(lab, sets, pegasos, folds=FOLDS)
    return run_all(lab, held_out, sets, found, RUNS, of="oskl-table3") | _oskl(lab, sets, gammas)


def _oskl(lab: Lab, sets: Mapping[str, Data], gammas: Mapping[str, Any]) -> dict[Place, list[Result]]:
    grids = {
        (name, f"OSKL (G={G})"): [learner("OSKL", gamma=gamma, G=G, R=R) for R in _radii(lab)]
        for name, gamma in gammas.items()
        for G in GS
    }
    return run_all(lab, held_out, sets, searched(lab, sets, grids, folds=FOLDS), RUNS)


def _budgeted(lab: Lab, sets: Mapping[str, Data], *, average: bool) -> dict[Place, list[Result]]:
    """The columns of Tables 4 and 5: the last functions or the averages, with BOGD++ tuned for these."""
    gammas = _gammas(lab, sets)
    points = _oskl(lab, sets, gammas)
    budgets = {(name, G): mean_count(points[name, f"OSKL (G={G})"]) for name in sets for G in GS}
    learners: dict[Place, Any] = {
        (name, f"Forgetron (as OSKL G={G})"): learner("Forgetron", gamma=gammas[name], budget=budget)
        for (name, G), budget in budgets.items()
    }
    caps = range(0, 5, 2) if lab.quick else range(5)
    learners |= searched(
        lab,
        sets,
        {
            (name, f"BOGD++ (as OSKL G={G})"): [
                learner(
                    "BOGD",
                    gamma=gammas[name],
                    budget=budget,
                    sampling="weighted",
                    eta=2.0**eta,
                    cap=2.0**cap,
                    lam=1 / sets[name].paper_rows ** 2,
                    average=average,
                )
                for eta, cap in product(range(-3, 4), caps)
            ]
            for (name, G), budget in budgets.items()
        },
        rows=lambda place: lab.search_rows if lab.quick else None,
    )
    scored = {place: described and {**described, "average": average} for place, described in learners.items()}
    return run_all(lab, held_out, sets, scored, RUNS, of="oskl-table5" if average else "oskl-table4")


def _newton(
    lab: Lab, sets: Mapping[str, Data], gammas: Mapping[str, Any], points: Mapping[Place, list[Result]]
) -> dict[Place, list[Result]]:
    """Newton with as many points as OSKL, up to a bound."""
    most = _MOST_NEWTON // 4 if lab.quick else _MOST_NEWTON
    return run_all(
        lab,
        held_out,
        sets,
        {
            (name, f"Newton (as OSKL G={G})"): newton(min(most, mean_count(points[name, f"OSKL (G={G})"])), gamma=gamma)
            for name, gamma in gammas.items()
            for G in GS
        },
        RUNS,
    )


def _radii(lab: Lab) -> list[float]:
    """The paper's grid of R; a quick search has the largest only, since few rows carry no information about it."""
    return _RADII[-1:] if lab.quick else _RADII
