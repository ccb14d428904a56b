"""Zhao, Wang, Wu, Jin and Hoi, "Fast Bounded Online Gradient Descent ..." (ICML 2012): Tables 2 and 3.

Progressive mistakes of the last function over 20 permutations; hinge loss, gaussian kernel of "width 8", features as
they are in the files. η and the cap γ are searched, λ is the middle of its grid: over T rows it shrinks a function by
ηλT, at most 64/T. Sets of up to 40,000 rows are searched on all of them, over two or three permutations.

The second protocol searches nothing: η = 0.2 and γ = 10 are what the script of jingcoco/Online-Kernel-Learning has
(`binary/experiment.m`), code that an author of the paper published with a later comparison; it has no BOGD++, which
gets the same. η = 1 for OGD on magic04 is what the paper's count of points shows.

The authors count a score of exactly 0 as +1, which their Perceptron's figures show. Kernel values underflow on spambase
in one row of a hundred: there its classes are exchanged, so that 0 stands for theirs.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from onkel_papers._cells import learner, newton, progressive
from onkel_papers._data import Data
from onkel_papers._metrics import paired_p
from onkel_papers._protocol import add_all, run_all, searched
from onkel_papers.lab import Lab
from onkel_papers.verdict import Findings, as_found

SETS = {
    "german": Data(("german.numer",), paper_rows=1_000),
    "spambase": Data(("spambase",), positive=0, paper_rows=4_601),
    "w8a": Data(("w8a",), paper_rows=64_700, note="without w8a.t, which is not available: 49,749 of 64,700 rows"),
    "magic04": Data(("magic04",), paper_rows=19_020),
    "ijcnn1": Data(("ijcnn1", "ijcnn1.t"), paper_rows=141_691),
    "cod-rna": Data(("cod-rna.t",), paper_rows=271_617),
}
BUDGETS = {
    "german": (100, 150, 200),
    "spambase": (100, 200, 300),
    "w8a": (200, 400, 600),
    "magic04": (500, 1000, 1500),
    "ijcnn1": (500, 1000, 2000),
    "cod-rna": (500, 1000, 2000),
}
GAMMA = 1 / 128
RUNS = 20
_POWERS = range(-3, 4)
_CAPS = range(5)
_OTHER_WAY = ("german", "spambase", "magic04")  # also run with the constant term reversed at their smallest budget
_CODE: dict[str, Any] = {"eta": 0.2, "cap": 10.0}
_WHOLE = 40_000  # the number of rows up to which a whole set is searched


def table2(lab: Lab) -> Findings:
    """BOGD paper, Table 2: Perceptron and OGD without a budget, progressive mistakes."""
    sets = lab.sets(SETS)
    found = Findings.of("bogd-table2", lab, sets)
    learners: dict[tuple[str, str], Any] = {(name, "Perceptron"): learner("Perceptron", gamma=GAMMA) for name in sets}
    learners |= searched(
        lab,
        sets,
        {
            (name, "OGD"): [learner("OGD", gamma=GAMMA, eta=2.0**eta, lam=_lam(lab, data)) for eta in _POWERS]
            for name, data in sets.items()
        },
    )
    if "magic04" in sets:
        learners["magic04", as_found("OGD")] = learner("OGD", gamma=GAMMA, eta=1.0, lam=_lam(lab, sets["magic04"]))
    metrics = ("error", "n_support", "seconds")
    results = run_all(lab, progressive, sets, learners, RUNS)
    add_all(lab, found, sets, results, metrics, unbounded={who for _, who in learners})
    for name in sets:
        perceptron, ogd = (
            [run["error"] for run in results[name, who] if "missing" not in run] for who in ("Perceptron", "OGD")
        )
        p = paired_p(ogd, perceptron)
        said = f"paired t-test, p = {p:.2g}" if p is not None else "fewer than two runs"
        found.claim(
            name, "OGD over Perceptron", None if p is None else bool(p < 0.05 and sum(ogd) < sum(perceptron)), said
        )
    return found


def table3(lab: Lab) -> Findings:
    """BOGD paper, Table 3: learners with three budgets a data set, progressive mistakes."""
    sets = lab.sets(SETS)
    found = Findings.of("bogd-table3", lab, sets)
    places = [(name, budget, False) for name in sets for budget in BUDGETS[name]]
    places += [(name, BUDGETS[name][0], True) for name in sets if name in _OTHER_WAY]
    learners: dict[tuple[str, str], Any] = {}
    grids = {}
    budgets = {}
    for name, budget, other_way in places:
        # The papers' learners have no constant term and Newton has one, or the other way round.
        constant: dict[str, Any] = {"gamma": GAMMA, "budget": budget, "fit_intercept": other_way}
        second = newton(budget, gamma=GAMMA)
        if other_way:
            del second["fit_intercept"]
        fixed = {
            "RBP": learner("RBP", **constant),
            "Forgetron": learner("Forgetron", **constant),
            "Projectron": learner("Projectron", **constant, rule="2008"),
            "Projectron++": learner("Projectron", **constant, rule="2008", aggressive=True),
            "Newton": second,
        }
        learners |= {(name, _named(who, budget, other_way)): described for who, described in fixed.items()}
        for who, sampling in (("BOGD", "uniform"), ("BOGD++", "weighted")):
            place = name, _named(who, budget, other_way)
            budgets[place] = budget
            grids[place] = [
                learner(
                    "BOGD",
                    **constant,
                    sampling=sampling,
                    eta=2.0**eta,
                    cap=2.0**cap,
                    lam=_lam(lab, sets[name]),
                )
                for eta, cap in product(_POWERS, _CAPS)
            ]
            if not other_way:
                by_code = learner("BOGD", **constant, sampling=sampling, **_CODE, lam=_lam(lab, sets[name]))
                learners[name, as_found(_named(who, budget, False))] = by_code

    def rows(place: tuple[str, str]) -> int | None:
        if lab.quick:
            return lab.search_rows
        return None if sets[place[0]].paper_rows <= _WHOLE else max(lab.search_rows, 20 * budgets[place])

    def permutations(place: tuple[str, str]) -> int:
        known = sets[place[0]].paper_rows
        return 1 if lab.quick or known > _WHOLE else 2 if known > lab.search_rows else 3

    learners |= searched(lab, sets, grids, rows=rows, permutations=permutations)
    results = run_all(lab, progressive, sets, learners, RUNS, of="bogd-table3")
    order = ("RBP", "Forgetron", "Projectron", "Projectron++", "BOGD", "BOGD++", "Newton")
    printed = [(name, _named(who, budget, other_way)) for name, budget, other_way in places for who in order]
    lines = [*printed, *((name, as_found(who)) for name, who in printed)]
    ordered = {line: results[line] for line in lines if line in results}
    add_all(lab, found, sets, ordered, ("error", "n_support", "seconds"))
    return found


def _named(who: str, budget: int, other_way: bool) -> str:
    """The name of a line in the table.

    >>> _named("RBP", 100, True), _named("Newton", 100, True), _named("Newton", 100, False)
    ('RBP, a constant (B=100)', 'Newton, no constant (B=100)', 'Newton (B=100)')
    """
    said = (", no constant" if who == "Newton" else ", a constant") if other_way else ""
    return f"{who}{said} (B={budget})"


def _lam(lab: Lab, data: Data) -> float:
    """The middle of the paper's grid of λ, 1/T²."""
    return 1 / (lab.share(data) * data.paper_rows) ** 2
