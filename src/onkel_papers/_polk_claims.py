"""The POLK paper's claims about its curves and decision surfaces on the mixture, judged.

Two learners are compared by their runs, which share the draw and the order of the rows: one has less if the mean of the
differences is below zero by more than two standard errors, more if it is above by as much, and otherwise the comparison
is open. A learner does not converge if its error is more than twice the Bayes error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from onkel_papers._cells import Result
from onkel_papers._polk_cells import bayes_error
from onkel_papers.verdict import Findings, Measured

Place = tuple[str, str]  # task, model
Runs = Mapping[str, Sequence[Result]]

_SET = "multidist"
_ONLINE = ("BSGD", "Dual", "NORMA", "NPBSGD", "BPA")


def mean_errors(results: Mapping[Any, Runs]) -> dict[Any, dict[str, float]]:
    """Return each learner's error in %, by place."""
    return {
        place: {who: float(np.mean([run["error"] for run in runs])) for who, runs in group.items()}
        for place, group in results.items()
    }


def claims_of_the_mixture(found: Findings, results: Mapping[Place, Runs], draws: Iterable[int]) -> None:
    """Judge the claims about Figures 2, 3, 5 and 6."""
    error = mean_errors(results)
    bayes = 100 * float(np.mean([bayes_error(draw) for draw in draws]))
    sparse, dense = results["SVM", "sparse"], results["SVM", "dense"]

    def claim(name: str, holds: float, said: str) -> None:
        found.claim(_SET, name, holds, said)

    def listed(place: Place, *learners: str) -> str:
        return ", ".join(f"{who} {error[place][who]:.1f} %" for who in learners)

    mean = 100 * np.mean([run["curve"]["error"] for run in sparse["POLK"]], axis=0)
    rows = sparse["POLK"][0]["curve"]["rows"]
    first = next((n for n, e in zip(rows, mean, strict=True) if e < 4), None)
    said = "never" if first is None else f"after {first:,} rows"
    claim("speed", first is not None and first <= 1249, f"{said}; at the end {mean[-1]:.2f} %")
    rivals = [who for who in _ONLINE if who in sparse]
    best = min(rivals, key=error["SVM", "sparse"].__getitem__)
    ahead = min(less(sparse["POLK"], sparse[who], _error) for who in rivals)
    claim("rivals", ahead, f"{listed(('SVM', 'sparse'), 'POLK')}, the best rival, {listed(('SVM', 'sparse'), best)}")
    fails = [error[task, "sparse"][who] for task in ("SVM", "logistic") for who in ("Dual", "NORMA")]
    said = "; ".join(f"{task}: {listed((task, 'sparse'), 'Dual', 'NORMA')}" for task in ("SVM", "logistic"))
    claim("divergence", min(fails) > 2 * bayes, f"{said}; Bayes {bayes:.1f} %")
    # Figure 3
    place = "SVM", "dense"
    fails = [error[place][who] for who in ("NORMA", "Dual")]
    claim("dense", min(fails) > 2 * bayes, f"{listed(place, 'POLK', 'NPBSGD', 'NORMA', 'Dual')}; Bayes {bayes:.1f} %")
    rivals = [who for who in _ONLINE if who in dense]
    ahead = min(less(dense["POLK"], dense[who], by) for who in rivals for by in (_error, _risk))
    claim("dense, best", ahead, listed(place, "POLK", *rivals))
    gaps = [np.mean([error["SVM", m][who] - error["SVM", m]["POLK"] for who in rivals]) for m in ("sparse", "dense")]
    claim("dense, gap", gaps[1] < gaps[0], f"on average {gaps[0]:.1f} points with 16 points, {gaps[1]:.1f} with 129")
    _claim_of_speed(claim, "dense, speed", dense)
    claim("dense, end", max(error[place][w] for w in ("POLK", "NPBSGD")) < 4, listed(place, "POLK", "NPBSGD"))
    # Figures 5 and 6
    place = "logistic", "dense"
    both = [error["logistic", model]["POLK"] for model in ("sparse", "dense")]
    said = f"{both[0]:.1f} % and {both[1]:.1f} %, at a mean Bayes error of {bayes:.1f} %"
    claim("logistic", max(both) <= 5, said)
    risks = [float(np.mean([_risk(run) for run in results["logistic", m]["POLK"]])) for m in ("sparse", "dense")]
    said = f"{risks[0]:.3f} with K = 0.03, {risks[1]:.3f} with K = 0.001"
    claim("logistic, risk", max(risks) < 0.1, said)
    smooth, rough = results["logistic", "sparse"]["POLK"], sparse["POLK"]
    said = f"from test to test the risk moves by {_mean(smooth, _noise):.4f}, of the SVM by {_mean(rough, _noise):.4f}"
    claim("logistic, smooth", less(smooth, rough, _noise), said)
    fails = [error[place][who] for who in ("NORMA", "Dual")]
    claim("logistic, divergence", min(fails) > 2 * bayes, f"{listed(place, 'NORMA', 'Dual')}; Bayes {bayes:.1f} %")
    _claim_of_speed(claim, "logistic, speed", results[place], noisier=True)
    claim("logistic, end", max(error[place][w] for w in ("POLK", "NPBSGD")) <= 5, listed(place, "POLK", "NPBSGD"))


def _claim_of_speed(claim: Callable[[str, float, str], None], name: str, group: Runs, *, noisier: bool = False) -> None:
    """Whether NPBSGD has fewer errors than POLK over the first quarter of the rows, and moves more after it."""
    said = ", ".join(f"{who} {_mean(group[who], _early):.1f} %" for who in ("NPBSGD", "POLK"))
    said = f"over the first quarter of the rows {said}"
    holds = less(group["NPBSGD"], group["POLK"], _early)
    if noisier:
        holds = min(holds, less(group["POLK"], group["NPBSGD"], _noise))
        moves = " and ".join(f"{_mean(group[who], _noise):.4f}" for who in ("NPBSGD", "POLK"))
        said += f"; from test to test their risks move by {moves}"
    claim(name, holds, said)


def claim_of_modes(found: Findings, drawn: Sequence[Result]) -> None:
    """Judge whether more of the dictionary than of the rows of the same draw lies near a mode."""
    points, rows = _mean(drawn, lambda run: run["near_modes"]), _mean(drawn, lambda run: run["rows_near_modes"])
    said = f"{points:.0%} of it is within a standard deviation of a mode, of the rows {rows:.0%}"
    nearer = Measured.of(run["near_modes"] - run["rows_near_modes"] for run in drawn)
    assert nearer is not None
    found.claim(_SET, "modes", _truth(nearer), said.replace("%", " %"))


def less(runs: Sequence[Result], than: Sequence[Result], by: Callable[[Result], float]) -> float:
    """Return 1 if some runs have less of something than others on the same draws, 0 if more, 0.5 if it is open.

    >>> less([{"error": 1.0}, {"error": 5.0}], [{"error": 2.0}, {"error": 6.1}], lambda run: run["error"])
    1.0
    """
    ahead = Measured.of(by(other) - by(run) for run, other in zip(runs, than, strict=True))
    assert ahead is not None
    return _truth(ahead)


def _truth(ahead: Measured) -> float:
    return 0.5 if abs(ahead.mean) <= 2 * ahead.error else float(ahead.mean > 0)


def _mean(runs: Sequence[Result], by: Callable[[Result], float]) -> float:
    return float(np.mean([by(run) for run in runs]))


def _error(run: Result) -> float:
    return float(run["error"])


def _risk(run: Result) -> float:
    return float(run["risk"])


def _early(run: Result) -> float:
    """The mean error in % over the first quarter of the rows."""
    rows, errors = np.array(run["curve"]["rows"]), np.array(run["curve"]["error"])
    return 100 * float(errors[rows <= rows[-1] / 4].mean())


def _noise(run: Result) -> float:
    """The mean change of the risk from one test to the next, after the first quarter of the rows."""
    rows, risks = np.array(run["curve"]["rows"]), np.array(run["curve"]["risk"])
    return float(np.abs(np.diff(risks[rows > rows[-1] / 4])).mean())
