"""Zhang, Jin, Chen, Bu and He, "Efficient Online Learning for ... Sparse Kernel Logistic Regression" (AAAI 2012).

The figures: one pass of NC, Margin and Auxiliary (h(z) = ln(γ + e^-z)), the average's accuracy on held-out rows, over 5
folds; R and λ by cross-validation on the first rows. The batch learners PCD and DCD are run on the first fold only, on
30,000 rows of it at most. They are written in NumPy and compared with a compiled loop: only the order of magnitude of
their times is meaningful. Gaussian kernel, σ the 5th percentile of the distances.

Table 2 is of rcv1, which is not available: the same learners are run on Reuters money-fx in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from onkel.report import View, plots, section
from onkel_papers._cells import NEWTON, Cell, Result, cell, held_out, learner, newton, width
from onkel_papers._data import Data
from onkel_papers._klr_cells import best_lambda, descent, text
from onkel_papers._metrics import relative_accuracy
from onkel_papers._protocol import mean_count, over_permutations, searched
from onkel_papers.lab import Lab
from onkel_papers.verdict import Findings

SETS = {
    "mushrooms": Data(("mushrooms",), split=5, paper_rows=6_499),
    "a9a": Data(("a9a",), split=5, paper_rows=26_049),
    "ijcnn1": Data(("ijcnn1", "ijcnn1.t"), split=5, paper_rows=113_353),
}
TEXTS = {
    "rcv1": Data((), paper_rows=677_399, note="not available"),
    "reuters": Data(("reuters",), test=("reuters.t",), paper_rows=7_770, note="Reuters money-fx, in place of rcv1"),
}
RUNS = 5
ETAS: tuple[float | str, ...] = ("R/√T", 0.01, 0.1, 1.0)
SHAPES = (1.01, 1.1, 2.0, 11.0, 101.0)  # γ of the auxiliary function
_RADII = [10.0**k for k in range(6)]
_LAMBDAS = [10.0**k for k in range(-5, 1)]
_QUICK_ROWS = 4_000
_LAMBDA_ROWS = {False: 4_000, True: 1_000}  # by quick
_SWEEPS = {False: 20, True: 6}
_FEW_SWEEPS = 2  # where the kernel matrix does not fit
_MOST_DESCENT = 30_000  # rows of PCD and DCD, whose sweeps cost the square of their number
_MOST_NEWTON = {False: 2_000, True: 500}

Runs = dict[str, list[Result]]


# -- the figures -------------------------------------------------------------------------------------------------------


def figures(lab: Lab) -> Findings:
    """Sparse KLR paper, Figures 1 to 5: NC, Margin, Auxiliary, PCD and DCD, and what is claimed of them."""
    sets = lab.sets(SETS)
    found = Findings.of("klr-figures", lab, sets)
    tradeoffs = []
    for name, data in sets.items():
        if lab.quick:
            found.sets[name]["note"] = f"{_QUICK_ROWS:,} rows of it"
        results = _all_runs(lab, name, data)
        for who, runs in results.items():
            bare = [{key: value for key, value in run.items() if key != "curve"} for run in runs]
            found.add(name, who, bare, "accuracy", "sparsity", "n_support", "seconds")
        if any("missing" in runs[0] for runs in results.values()):
            continue
        tradeoffs.append(_tradeoff(name, results))
        _check_claims(found, name, results)
        found.parts.append(partial(section, name, *_plots(results), level=3))
    if tradeoffs:
        views = [
            View("Sparsity", "shape", "sparsity", "γ - 1", "share", log=True),
            View("Accuracy relative to NC's", "shape", "relative", "γ - 1", "share", log=True),
        ]
        found.parts.append(
            partial(section, "Sparsity and relative accuracy (Figure 4)", plots(tradeoffs, views), level=3)
        )
    return found


def _all_runs(lab: Lab, name: str, data: Data) -> Runs:
    """Results of all learners on a set: NC, Margin, Auxiliary with the best η of NC, the batch learners, Newton."""
    gamma = lab.run({0: cell(width, data=data.spec(), percentile=5.0)})[0].get("gamma")
    steps = _steps(lab, name, data, gamma)
    nc = _runs(lab, data, {f"NC (η={eta})": steps["none", eta] for eta in ETAS})
    best = max(ETAS, key=lambda eta: _mean(nc[f"NC (η={eta})"], "accuracy"))
    margin = _runs(lab, data, {f"Margin (η={eta})": steps["margin", eta] for eta in ETAS})
    numbers = (steps["none", best] or {"numbers": {}})["numbers"]
    shared = {key: value for key, value in numbers.items() if key in ("eta", "R")}
    auxiliary = _runs(
        lab,
        data,
        {f"Auxiliary (γ={shape:g})": learner("KLR", gamma=gamma, sampling="auxiliary", shape=shape, **shared)
         for shape in SHAPES},
    )  # fmt: skip
    budget = min(_MOST_NEWTON[lab.quick], mean_count(auxiliary["Auxiliary (γ=2)"]))
    newtons = _runs(lab, data, {"Newton (as γ=2)": newton(budget, gamma=gamma)})
    return nc | margin | auxiliary | _batch_runs(lab, data, gamma) | newtons


def _steps(lab: Lab, name: str, data: Data, gamma: Any) -> dict[tuple[str, float | str], Any]:
    """A learner for each η, with the R chosen by cross-validation; Margin needs η < 2."""
    grids = {}
    for sampling in ("none", "margin"):
        for eta in ETAS:
            radii = _RADII[-1:] if lab.quick and isinstance(eta, float) else _RADII
            root = (0.8 * lab.search_rows) ** 0.5  # of the number of rows that the learner of a fold sees
            known = [(R, eta if isinstance(eta, float) else R / root) for R in radii]
            usable = known if sampling == "none" else [(R, step) for R, step in known if step < 2]
            grids[name, f"{sampling} {eta}"] = [
                learner("KLR", gamma=gamma, sampling=sampling, eta=step, R=R) for R, step in usable
            ]
    best = searched(lab, {name: data}, grids, folds=5)
    n_rows = _QUICK_ROWS if lab.quick else data.paper_rows
    chosen: dict[tuple[str, float | str], Any] = {}
    for sampling in ("none", "margin"):
        for eta in ETAS:
            found = best[name, f"{sampling} {eta}"]
            if found is not None and not isinstance(eta, float):
                found = {**found, "numbers": {**found["numbers"], "eta": found["numbers"]["R"] / n_rows**0.5}}
            chosen[sampling, eta] = found
    return chosen


def _runs(lab: Lab, data: Data, learners: Mapping[str, Any]) -> Runs:
    rows = _QUICK_ROWS if lab.quick else None
    return over_permutations(
        lab,
        dict.fromkeys(learners, lab.runs(RUNS, data)),
        lambda who, seed: cell(held_out, data=data.spec(), seed=seed, rows=rows, learner=learners[who]),
    )


def _batch_runs(lab: Lab, data: Data, gamma: Any) -> Runs:
    spec = data.spec()
    rows = _QUICK_ROWS if lab.quick else _MOST_DESCENT if data.paper_rows > _MOST_DESCENT else None
    found = lab.run({0: cell(best_lambda, data=spec, gamma=gamma, grid=_LAMBDAS, rows=_LAMBDA_ROWS[lab.quick])})[0]
    fits = 8 * (rows or data.paper_rows) ** 2 <= 2e9
    sweeps = _SWEEPS[lab.quick] if fits else _FEW_SWEEPS
    results = lab.run(
        {
            method: cell(
                descent, data=spec, seed=0, method=method, gamma=gamma, lam=found.get("lam"), sweeps=sweeps, rows=rows
            )
            for method in ("PCD", "DCD")
        }
    )
    return {method: [result] for method, result in results.items()}


def _mean(runs: list[Result], what: str) -> float:
    return float(np.mean([run.get(what, 0.0) for run in runs]))


def _tradeoff(name: str, results: Runs) -> dict[str, Any]:
    """Figure 4 as a series."""
    baseline = max(_mean(runs, "accuracy") for who, runs in results.items() if who.startswith("NC"))
    runs = [results[f"Auxiliary (γ={shape:g})"] for shape in SHAPES]
    return {
        "name": name,
        "rows": [run[0]["rows"] for run in runs],
        "shape": [shape - 1 for shape in SHAPES],
        "sparsity": [_mean(run, "sparsity") / 100 for run in runs],
        "relative": [relative_accuracy(_mean(run, "accuracy"), baseline) / 100 for run in runs],
    }


def _plots(results: Runs) -> list[str]:
    figures = [
        ("NC", View("NC (Figure 1)", "rows", "held_out", "rows", "share")),
        ("Margin", View("Margin (Figure 2)", "n_support", "held_out", "support vectors", "share")),
        ("Auxiliary", View("Auxiliary (Figure 3)", "n_support", "held_out", "support vectors", "share")),
    ]
    parts = [
        plots([{**runs[0]["curve"], "name": who} for who, runs in results.items() if who.startswith(start)], [view])
        for start, view in figures
    ]
    timed = [_best(results, "NC"), _best(results, "Margin"), "Auxiliary (γ=2)", "PCD", "DCD", "Newton (as γ=2)"]
    view = View("Accuracy against time (Figure 5)", "seconds", "held_out", "seconds", "share", log=True)
    return [*parts, plots([{**results[who][0]["curve"], "name": who} for who in timed], [view])]


def _best(results: Runs, start: str) -> str:
    """The learner of a kind with the best final result."""
    return max((who for who in results if who.startswith(start)), key=lambda who: _mean(results[who], "accuracy"))


def _check_claims(found: Findings, name: str, results: Runs) -> None:
    accuracy = {who: _mean(runs, "accuracy") for who, runs in results.items()}
    sparse = {who: _mean(runs, "sparsity") for who, runs in results.items()}
    nc = _best(results, "NC")
    root = accuracy["NC (η=R/√T)"]
    found.claim(name, "step", root >= accuracy[nc] - 1, f"{root:.1f} %, the best of all η {accuracy[nc]:.1f} %")
    curve = 100 * np.mean([run["curve"]["held_out"] for run in results[nc]], axis=0)
    half, end = curve[len(curve) // 2 - 1], curve[-1]
    found.claim(name, "levelling", abs(end - half) <= 1, f"{half:.1f} % after half of the rows, {end:.1f} % at the end")
    steps = [eta for eta in ETAS if isinstance(eta, float)]
    lost = [accuracy[f"NC (η={eta})"] - accuracy[f"Margin (η={eta})"] for eta in steps]
    said = ", ".join(f"{points:+.1f} (η={eta})" for eta, points in zip(steps, lost, strict=True))
    found.claim(name, "Margin, accuracy", max(lost) <= 0.5, f"points lost: {said}")
    removed = [sparse[f"Margin (η={eta})"] for eta in ETAS]
    said = ", ".join(f"{share:.0f} % (η={eta})" for eta, share in zip(ETAS, removed, strict=True))
    found.claim(name, "Margin, sparsity", sum(share < 50 for share in removed) > len(ETAS) / 2, f"removed: {said}")
    two, kept = accuracy["Auxiliary (γ=2)"], 100 - sparse["Auxiliary (γ=2)"]
    as_good = two >= accuracy[nc] - 0.5
    said = f"{two:.1f} % with {kept:.0f} % of the points, NC {accuracy[nc]:.1f} %"
    found.claim(name, "Auxiliary", kept > 30 or not as_good if name == "a9a" else kept <= 25 and as_good, said)
    good = [
        s
        for s in SHAPES
        if accuracy[f"Auxiliary (γ={s:g})"] >= accuracy[nc] - 1 and sparse[f"Auxiliary (γ={s:g})"] >= 50
    ]
    said = f"at least half of the points gone, at most 1 point lost: γ = {', '.join(f'{s:g}' for s in good) or 'none'}"
    found.claim(name, "range", None, said, judged=False)  # the paper does not say how large
    _check_times(found, name, results)


def _check_times(found: Findings, name: str, results: Runs) -> None:
    """Figure 5: how long PCD and DCD take to come within 0.5 points of Auxiliary, relative to Auxiliary's own time.

    Shown and not judged: it compares one run of NumPy with a compiled loop.
    """
    auxiliary = results["Auxiliary (γ=2)"][0]["curve"]
    goal = auxiliary["held_out"][-1] - 0.005
    unit = max(_seconds_to(auxiliary, goal)[0], 1e-9)
    said = []
    for who in ("PCD", "DCD"):
        seconds, reached = _seconds_to(results[who][0]["curve"], goal)
        ratio = seconds / unit
        sweeps = results[who][0]["sweeps"]
        said.append(
            f"{who} {ratio:,.1f}" if reached else f"{who} more than {ratio:,.1f} (not there in {sweeps} sweeps)"
        )
    said_of = "times the seconds of Auxiliary to within 0.5 points of its accuracy"
    found.claim(name, "time", None, f"{said_of}: {', '.join(said)}", judged=False)


def _seconds_to(curve: Mapping[str, Any], goal: float) -> tuple[float, bool]:
    """The seconds until a curve has reached an accuracy, or all of its seconds; and whether it has.

    >>> _seconds_to({"seconds": [1.0, 2.0, 3.0], "held_out": [0.5, 0.9, 0.8]}, 0.8)
    (2.0, True)
    """
    reached = [s for s, a in zip(curve["seconds"], curve["held_out"], strict=True) if a >= goal]
    return float(reached[0] if reached else curve["seconds"][-1]), bool(reached)


# -- the table ---------------------------------------------------------------------------------------------------------


def table2(lab: Lab) -> Findings:
    """Sparse KLR paper, Table 2: Auxiliary and Pegasos with the kernel (x·x'+1)² on text."""
    sets = lab.sets(TEXTS)
    found = Findings.of("klr-table2", lab, sets)
    if "reuters" not in sets:
        return found
    data, R = sets["reuters"], 1e5
    numbers: dict[str, tuple[str, dict[str, Any]]] = {
        f"Auxiliary (γ={shape:g})": ("KLR", {"shape": shape, "R": R, "eta": R / data.paper_rows**0.5})
        for shape in (1.01, 2.0, 101.0)
    }
    numbers |= {f"Pegasos (λ=1e-{k})": ("Pegasos", {"lam": 10.0**-k}) for k in (5, 7, 9)}

    def run(chosen: Mapping[str, tuple[str, dict[str, Any]]], **budget: int) -> Runs:
        def one(who: str, seed: int) -> Cell:
            recipe, given = chosen[who]
            return cell(text, data=data.spec(), seed=seed, recipe=recipe, numbers=given, **budget)

        return over_permutations(lab, dict.fromkeys(chosen, lab.runs(RUNS, data)), one)

    results = run(numbers)
    budget = min(_MOST_NEWTON[lab.quick], mean_count(results["Auxiliary (γ=2)"]))
    results |= run({"Newton (as γ=2)": ("Newton", NEWTON)}, budget=budget)
    for who, runs in results.items():
        found.add("reuters", who, runs, "accuracy", "sparsity", "n_support", "seconds")
    if "missing" not in results["Auxiliary (γ=2)"][0]:
        _check_text_claims(found, results)
    return found


def _check_text_claims(found: Findings, results: Runs) -> None:
    ours, theirs = _best(results, "Auxiliary"), _best(results, "Pegasos")
    kept = {who: 100 - _mean(results[who], "sparsity") for who in (ours, theirs)}
    said = ", ".join(f"{who} {share:.1f} %" for who, share in kept.items())
    found.claim("reuters", "sparsity", max(kept.values()) < 4, f"kept: {said}")
    a, b = _mean(results[ours], "seconds"), _mean(results[theirs], "seconds")
    found.claim("reuters", "time", None, f"{ours} {a:.2f} s, {theirs} {b:.2f} s", judged=False)
