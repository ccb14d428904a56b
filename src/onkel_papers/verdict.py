"""The rule by which our figures are compared with the papers'.

- A rate in % (error, accuracy): ours may be worse than the paper's mean by at most max(2 sd, 0.5 points), sd the
  paper's; then it is "within", and "better" if it is better by more than that. A tolerance above 3 points is shown.
- A number of support vectors, and a sparsity, which follows from one: "within" up to 15 % more or fewer; more is
  "worse", fewer is "better", unless the same learner's rate is worse: then it is "worse" too.
- A claim about a figure holds ("within"), does not hold ("worse"), or is a tie ("undecided").
- Times, risks, and claims about times are shown and not judged: the machines differ, and so do the mixture and the
  textures. Nor are the counts and sparsities of learners without a budget where fewer rows were run than the paper's,
  since they do not grow evenly with the rows.

A table may have a second protocol beside the one that the paper prints: lines that are marked ", as found" have the
parameters of code that the authors published, or those that the paper's own counts show (`choices.tsv` says which, and
where from). They are compared with the same figures of the paper.

Not every cell is an independent result: `counting.tsv` lists those that repeat another cell, are determined by the
protocol, are compared with a doubtful figure of the paper, use data of our own draw (the mixture and the textures of
the POLK paper), or use fewer rows than the paper. They are judged like the others and counted separately, and so are
the lines of the second protocol and a learner that always predicts the majority class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from typing import Any

from onkel_papers._cells import Result
from onkel_papers._data import Data
from onkel_papers._lines import first_about, lines_of
from onkel_papers._metrics import mean_sd
from onkel_papers.lab import Lab

VERDICTS = ("better", "within", "worse", "missing")
APART = {  # why a cell is not an independent result
    "repeat": "repeat another cell",
    "protocol": "are what the protocol makes them",
    "doubt": "stand beside a figure of the paper that is in doubt",
    "trivial": "always predict the majority class",
    "draw": "are of data of our own draw",
    "subset": "are of fewer rows than the paper's",
    "found": "are of the second protocol, as found",
}
_FOUND = ", as found"
WIDE = 3.0  # points; a tolerance above says little


@dataclass(frozen=True)
class Metric:
    """How a metric is written and judged.

    Parameters
    ----------
    title : str
    kind : {"rate", "count", "sparsity", "time", "risk", "claim", "shown claim"}
    best : {"low", "high", ""}
    digits : int
    """

    title: str
    kind: str
    best: str
    digits: int = 2


METRICS = {  # keys of a cell's result, and of papers/*.tsv
    "risk": Metric("risk", "risk", "low", 3),
    "error": Metric("error %", "rate", "low"),
    "accuracy": Metric("accuracy %", "rate", "high"),
    "sparsity": Metric("sparsity %", "sparsity", "high", 1),
    "n_support": Metric("support vectors", "count", "low", 0),
    "seconds": Metric("seconds", "time", "low"),
    "claim": Metric("claim", "claim", ""),
    "shown claim": Metric("claim", "shown claim", ""),
}
_COUNTS = ("count", "sparsity")
_NOT_JUDGED = ("time", "risk", "shown claim")


@dataclass(frozen=True)
class Figure:
    """A figure of a paper: a mean, perhaps with a standard deviation, and a note."""

    mean: float | None
    sd: float | None
    note: str


Place = tuple[str, str, str]  # data, learner, metric


def as_found(learner: str) -> str:
    """Return the name of a learner's line by the second protocol.

    >>> as_found("BPA-S"), as_found("BOGD (B=100)")
    ('BPA-S, as found', 'BOGD, as found (B=100)')
    """
    who, bracket, rest = learner.partition(" (")
    return f"{who}{_FOUND}{bracket}{rest}"


def as_printed(learner: str) -> str:
    """Return the name of the line of the paper that a learner is compared with.

    >>> as_printed("BOGD, as found (B=100)"), as_printed("BPA-S")
    ('BOGD (B=100)', 'BPA-S')
    """
    return learner.replace(_FOUND, "", 1)


@cache
def figures() -> dict[str, dict[Place, Figure]]:
    """Return the papers' figures, by experiment and place.

    >>> figures()["bogd-table2"]["german", "OGD", "error"].mean
    30.115
    """
    found: dict[str, dict[Place, Figure]] = {}
    for row in lines_of("papers"):
        mean, sd = (float(row[name]) if row[name] else None for name in ("mean", "sd"))
        place = row["data"], row["learner"], row["metric"]
        found.setdefault(row["experiment"], {})[place] = Figure(mean, sd, row["note"])
    return found


@dataclass(frozen=True)
class Measured:
    """Our result: the mean of some runs and their standard deviation (None for one run)."""

    mean: float
    sd: float | None
    runs: int

    @classmethod
    def of(cls, values: Iterable[float]) -> Measured | None:
        """Return the mean of runs; None if there are none.

        >>> Measured.of([1.0, 3.0])
        Measured(mean=2.0, sd=1.4142135623730951, runs=2)
        """
        known = [float(value) for value in values]
        return cls(*mean_sd(known), len(known)) if known else None

    @property
    def error(self) -> float:
        """The standard error of the mean; 0 for one run, whose spread is not known."""
        return (self.sd or 0.0) / math.sqrt(self.runs)


@dataclass(frozen=True)
class TableEntry:
    """One cell of a table: the paper's figure and ours.

    Parameters
    ----------
    data, learner, metric : str
    paper : Figure or None
        None where the paper has no figure.
    ours : Measured or None
        None where there is no run. For a claim the mean is 1 if it holds, 0 if it does not, and 0.5 if the runs leave
        it open.
    verdict : {"better", "within", "worse", "undecided", "missing", ""}
        Empty where there is nothing to judge.
    note : str
    apart : str
        A key of `APART` where the cell is not an independent result.
    share : float
        Of the paper's rows that were run, where the count depends on them.
    """

    data: str
    learner: str
    metric: str
    paper: Figure | None
    ours: Measured | None
    verdict: str
    note: str = ""
    apart: str = ""
    share: float = 1.0

    @property
    def is_claim(self) -> bool:
        """Whether it is a claim rather than a figure."""
        return METRICS[self.metric].kind in ("claim", "shown claim")

    def document(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {
            "data": self.data,
            "learner": self.learner,
            "metric": self.metric,
            "paper": None if self.paper is None else {"mean": self.paper.mean, "sd": self.paper.sd},
            "ours": None if self.ours is None else asdict(self.ours),
            "verdict": self.verdict,
            "apart": self.apart,
            "note": self.note,
        }


def tolerance(paper: Figure) -> float:
    """Return the tolerance in points for a rate of the paper.

    >>> tolerance(Figure(80.0, 0.1, "")), tolerance(Figure(80.0, 1.0, ""))
    (0.5, 2.0)
    """
    return max(2 * (paper.sd or 0.0), 0.5)


def verdict(metric: str, paper: Figure | None, ours: Measured | None, share: float = 1.0) -> str:
    """Return the verdict on a result.

    Parameters
    ----------
    metric : str
    paper : Figure or None
    ours : Measured or None
    share : float, default=1.0
        Of the paper's rows that were run, where the count depends on them.

    Examples
    --------
    >>> [verdict("error", Figure(20.0, 0.5, ""), Measured(x, None, 1)) for x in (18.9, 20.9, 21.1)]
    ['better', 'within', 'worse']
    >>> verdict("n_support", Figure(1000, 10, ""), Measured(1200, 5, 20))
    'worse'
    """
    kind = METRICS[metric].kind
    if paper is None or kind in _NOT_JUDGED:
        return ""
    if ours is None:
        return "missing"
    if kind in _COUNTS and share < 1:
        return ""
    if kind == "claim":
        return {1.0: "within", 0.0: "worse"}.get(ours.mean, "undecided")
    if paper.mean is None:
        return ""
    if kind == "rate":
        gain = ours.mean - paper.mean if METRICS[metric].best == "high" else paper.mean - ours.mean
        allowed = tolerance(paper)
    else:
        theirs = paper.mean if kind == "count" else 100 - paper.mean
        gain = theirs - (ours.mean if kind == "count" else 100 - ours.mean)
        allowed = 0.15 * theirs
    gain = round(gain, 9)  # 80.5 - 80.0 is no more than 0.5
    return "better" if gain > allowed else "within" if gain >= -allowed else "worse"


@dataclass
class Findings:
    """What an experiment found.

    Parameters
    ----------
    experiment : str
    entries : list of Entry
    sets : dict
        For each data set: `rows`, `majority` (error in % of always predicting the majority class), `paper_rows`,
        `note`.
    curves : list of dict
        For the first run of each learner: `data`, `name` and columns, as in `onkel.evaluate.Curve.to_dict`.
    parts : list of callable
        Each returns an HTML fragment for this experiment's section of a report.
    quick : bool
        Whether it was a quick run.
    spent : float
        Processor time in seconds.
    """

    experiment: str
    entries: list[TableEntry] = field(default_factory=list)
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)
    curves: list[dict[str, Any]] = field(default_factory=list)
    parts: list[Callable[[], str]] = field(default_factory=list)
    quick: bool = False
    spent: float = 0.0

    @classmethod
    def of(cls, experiment: str, lab: Lab, sets: Mapping[str, Data]) -> Findings:
        """Return empty findings."""
        findings = cls(experiment, quick=lab.quick)
        for name, data in sets.items():
            rows = lab.rows(data)
            note = data.note if rows is None else "; ".join(filter(None, [data.note, f"{rows:,} rows of it"]))
            findings.sets[name] = {"note": note, "rows": None, "majority": None, "paper_rows": data.paper_rows}
        return findings

    def add(self, data: str, learner: str, runs: Iterable[Result], *metrics: str, share: float = 1.0) -> None:
        """Add the results of the runs of a learner.

        Parameters
        ----------
        data, learner : str
            As in papers/*.tsv.
        runs : iterable of dict
            Results of cells, one for each permutation.
        *metrics : str
            The metrics of the table.
        share : float, default=1.0
            Of the paper's rows that were run, where the number of support vectors depends on them.
        """
        runs = list(runs)
        there = [run for run in runs if "missing" not in run]
        lacking = next((run["missing"] for run in runs if "missing" in run), "")
        if there:
            first = there[0]
            self.sets[data].update({name: first[name] for name in ("rows", "majority") if name in first})
            self.sets[data].pop("missing", None)
            if "curve" in first:
                self.curves.append({**first["curve"], "data": data, "name": learner})
        elif lacking and not any(entry.ours for entry in self.entries if entry.data == data):
            self.sets[data]["missing"] = lacking
        for metric in metrics:
            self.enter(data, learner, metric, Measured.of(float(run[metric]) for run in there), lacking, share)

    def claim(self, data: str, claim: str, holds: float | None, note: str, *, judged: bool = True) -> None:
        """Record whether a claim of papers/*.tsv holds, and what was seen.

        0.5 is a tie, None could not be tested; `judged` is false for claims about times, and for those whose threshold
        the paper does not state.
        """
        metric = "claim" if judged else "shown claim"
        self.enter(data, claim, metric, None if holds is None else Measured(float(holds), None, 1), note)

    def enter(
        self, data: str, learner: str, metric: str, ours: Measured | None, note: str = "", share: float = 1.0
    ) -> None:
        """Add an entry for a cell."""
        paper = figures().get(self.experiment, {}).get((data, as_printed(learner), metric))
        judged = verdict(metric, paper, ours, share)
        entry = TableEntry(data, learner, metric, paper, ours, judged, note, share=share)
        self.entries.append(replace(entry, apart=self._apart(entry)))

    def _apart(self, entry: TableEntry) -> str:
        """Why a cell is not an independent result; "" for all others."""
        if entry.paper is None or entry.is_claim:
            return ""
        if entry.learner != as_printed(entry.learner):
            return "found"
        place = {"experiment": self.experiment, "data": entry.data, "learner": entry.learner, "metric": entry.metric}
        known = first_about(lines_of("counting.tsv"), place)
        if known is not None and known["apart"] != "subset":
            return known["apart"]
        if is_trivial(entry, self.sets[entry.data].get("majority")):
            return "trivial"
        return "" if known is None else known["apart"]

    def completed(self) -> Findings:
        """Return the findings with an entry for every figure of the paper on the requested data sets.

        Only now is it known for all learners whether their rates are worse, in which case fewer points are not better.
        """
        there = {(entry.data, entry.learner, entry.metric) for entry in self.entries}
        for place in figures().get(self.experiment, {}):
            if place not in there and place[0] in self.sets:
                reason = self.sets[place[0]].get("missing") or self.sets[place[0]]["note"] or "not run"
                self.enter(*place, None, reason)
        lost = {(e.data, e.learner) for e in self.entries if METRICS[e.metric].kind == "rate" and e.verdict == "worse"}
        self.entries = [
            replace(entry, verdict="worse")
            if METRICS[entry.metric].kind in _COUNTS
            and entry.verdict == "better"
            and (entry.data, entry.learner) in lost
            else entry
            for entry in self.entries
        ]
        return self

    def only(self, wanted: Callable[[TableEntry], bool]) -> Findings:
        """Return the findings with some of the entries."""
        return replace(self, entries=[entry for entry in self.entries if wanted(entry)])

    def counts(self, apart: str = "") -> dict[str, int]:
        """Return how many cells have each verdict: the results, or those that are counted separately."""
        judged = [entry.verdict for entry in self.entries if entry.apart == apart and not entry.is_claim]
        return {name: judged.count(name) for name in VERDICTS}


def is_trivial(entry: TableEntry, majority: float | None) -> bool:
    """Return whether a rate is that of always predicting the majority class, in every run."""
    if METRICS[entry.metric].kind != "rate" or entry.ours is None or majority is None:
        return False
    error = entry.ours.mean if entry.metric == "error" else 100 - entry.ours.mean
    return abs(error - majority) < 0.005 and (entry.ours.sd or 0.0) < 0.005
