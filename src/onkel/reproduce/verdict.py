"""The papers' figures beside ours, by one rule.

- A rate in % (error, accuracy): ours may be worse than the paper's mean by at most max(2 sd, 0.5 points), sd the
  paper's; then it is "within", and "better" if it is better by more than that.
- A number of support vectors, and a sparsity, which is made of one: "within" up to 15 % more or fewer; fewer is
  "better", more is "worse".
- A claim that a figure makes holds ("within") or does not ("worse").
- Times and risks are shown and not judged: the machines differ, and so do the mixture and the textures. Nor are the
  counts and sparsities of learners without a budget where fewer rows were run than the paper's, since they do not grow
  evenly with the rows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from typing import Any

from onkel.reproduce._cells import Result
from onkel.reproduce._data import Data
from onkel.reproduce._metrics import mean_sd
from onkel.reproduce.lab import Lab

VERDICTS = ("better", "within", "worse", "missing")


@dataclass(frozen=True)
class Metric:
    """How a metric is written and judged.

    Parameters
    ----------
    title : str
    kind : {"rate", "count", "sparsity", "time", "risk", "claim"}
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
}


@dataclass(frozen=True)
class Figure:
    """What a paper prints: a mean, perhaps with a standard deviation, and what must be known of it."""

    mean: float | None
    sd: float | None
    note: str


Place = tuple[str, str, str]  # data, learner, metric


@cache
def figures() -> dict[str, dict[Place, Figure]]:
    """Return the papers' figures, by experiment and place.

    >>> figures()["bogd-table2"]["german", "OGD", "error"].mean
    30.115
    """
    found: dict[str, dict[Place, Figure]] = {}
    for file in sorted((files("onkel.reproduce") / "papers").iterdir(), key=lambda file: file.name):
        for row in csv.DictReader(file.read_text("utf-8").splitlines(), delimiter="\t"):
            mean, sd = (float(row[name]) if row[name] else None for name in ("mean", "sd"))
            place = row["data"], row["learner"], row["metric"]
            found.setdefault(row["experiment"], {})[place] = Figure(mean, sd, row["note"] or "")
    return found


@cache
def _reasons() -> list[dict[str, str]]:
    text = (files("onkel.reproduce") / "reasons.tsv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def reason(experiment: str, entry: Entry) -> str:
    """Say why a cell of a whole run is worse than the paper's: the first line of reasons.tsv that is about it, or "".

    >>> reason("spa-table2", Entry("SUSY", "RBP", "accuracy", None, (50.0,), "worse"))[:22]
    'one row in a hundred: '
    """
    place = {"experiment": experiment, "data": entry.data, "learner": entry.learner, "metric": entry.metric}
    for known in _reasons():
        if all(any(fnmatchcase(place[name], one) for one in known[name].split("|")) for name in place):
            return known["reason"]
    return ""


@dataclass(frozen=True)
class Entry:
    """One cell of a table: the paper's figure and ours.

    Parameters
    ----------
    data, learner, metric : str
    paper : Figure or None
        None for what the paper does not have.
    values : tuple of float
        Ours, one a run; none where there is no run.
    verdict : {"better", "within", "worse", "missing", ""}
        Nothing where there is nothing to judge.
    note : str
    """

    data: str
    learner: str
    metric: str
    paper: Figure | None
    values: tuple[float, ...]
    verdict: str
    note: str = ""

    def document(self) -> dict[str, Any]:
        """Return the entry as JSON has it."""
        mean, sd = mean_sd(self.values) if self.values else (None, None)
        return {
            "data": self.data,
            "learner": self.learner,
            "metric": self.metric,
            "paper": None if self.paper is None else {"mean": self.paper.mean, "sd": self.paper.sd},
            "ours": {"mean": mean, "sd": sd, "runs": list(self.values)},
            "verdict": self.verdict,
            "note": self.note,
        }


def verdict(metric: str, paper: Figure | None, values: tuple[float, ...], share: float = 1.0) -> str:
    """Judge what came out.

    Parameters
    ----------
    metric : str
    paper : Figure or None
    values : tuple of float
        One a run. Of a claim: 1.0 where it holds.
    share : float, default=1.0
        Of the paper's rows that were run, where the count depends on them.

    Examples
    --------
    >>> [verdict("error", Figure(20.0, 0.5, ""), (x,)) for x in (18.9, 20.9, 21.1)]
    ['better', 'within', 'worse']
    >>> verdict("accuracy", Figure(80.0, 0.1, ""), (79.6, 79.5)), verdict("n_support", Figure(1000, 10, ""), (1200,))
    ('within', 'worse')
    """
    if paper is None or METRICS[metric].kind in ("time", "risk"):
        return ""
    if not values:
        return "missing"
    kind = METRICS[metric].kind
    if kind in ("count", "sparsity") and share < 1:
        return ""
    ours, _ = mean_sd(values)
    if kind == "claim":
        return "within" if ours == 1.0 else "worse"
    if paper.mean is None:
        return ""
    if kind == "rate":
        gain = ours - paper.mean if METRICS[metric].best == "high" else paper.mean - ours
        allowed = max(2 * (paper.sd or 0.0), 0.5)
    else:
        theirs = paper.mean if kind == "count" else 100 - paper.mean
        gain = theirs - (ours if kind == "count" else 100 - ours)
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
        Of each data set: `rows`, `majority` (error in % of always predicting the commoner class), `paper_rows`, `note`.
    curves : list of dict
        Of the first run of each learner: `data`, `name` and columns, as `onkel.evaluate.Curve.to_dict` has them.
    parts : list of str
        Pieces of HTML that only this experiment's section of a report has.
    quick : bool
        Whether it was a quick run.
    spent : float
        Seconds of one core.
    """

    experiment: str
    entries: list[Entry] = field(default_factory=list)
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)
    curves: list[dict[str, Any]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    quick: bool = False
    spent: float = 0.0

    @classmethod
    def of(cls, experiment: str, lab: Lab, sets: Mapping[str, Data]) -> Findings:
        """Return findings with nothing found yet."""
        findings = cls(experiment, quick=lab.quick)
        for name, data in sets.items():
            rows = lab.rows(data)
            note = data.note if rows is None else "; ".join(filter(None, [data.note, f"{rows:,} rows of it"]))
            findings.sets[name] = {"note": note, "rows": None, "majority": None, "paper_rows": data.paper_rows}
        return findings

    def add(self, data: str, learner: str, runs: Iterable[Result], *metrics: str, share: float = 1.0) -> None:
        """Add what the runs of a learner gave.

        Parameters
        ----------
        data, learner : str
            As in papers/*.tsv.
        runs : iterable of dict
            Results of cells, one a permutation.
        *metrics : str
            Those of the table.
        share : float, default=1.0
            Of the paper's rows that were run, where the number of support vectors depends on them.
        """
        runs = list(runs)
        there = [run for run in runs if "missing" not in run]
        lacking = next((run["missing"] for run in runs if "missing" in run), "")
        for metric in metrics:
            self._enter(data, learner, metric, tuple(float(run[metric]) for run in there), lacking, share)
        if there:
            first = there[0]
            self.sets[data].update({name: first[name] for name in ("rows", "majority") if name in first})
            self.sets[data].pop("missing", None)
            if "curve" in first:
                self.curves.append({**first["curve"], "data": data, "name": learner})
        elif lacking and not any(entry.values for entry in self.entries if entry.data == data):
            self.sets[data]["missing"] = lacking

    def claim(self, data: str, claim: str, holds: bool | None, note: str) -> None:
        """Say whether a claim of papers/*.tsv holds (None: it could not be looked at), and what was seen."""
        self._enter(data, claim, "claim", () if holds is None else (float(holds),), note, 1.0)

    def _enter(self, data: str, learner: str, metric: str, values: tuple[float, ...], note: str, share: float) -> None:
        paper = figures().get(self.experiment, {}).get((data, learner, metric))
        self.entries.append(Entry(data, learner, metric, paper, values, verdict(metric, paper, values, share), note))

    def completed(self) -> Findings:
        """Return the findings with an entry for every figure of the paper, of the sets that were asked for."""
        there = {(entry.data, entry.learner, entry.metric) for entry in self.entries}
        for place, paper in figures().get(self.experiment, {}).items():
            if place not in there and place[0] in self.sets:
                reason = self.sets[place[0]].get("missing") or self.sets[place[0]]["note"] or "not run"
                self.entries.append(Entry(*place, paper, (), verdict(place[2], paper, ()), reason))
        return self

    def counts(self) -> dict[str, int]:
        """Return how many entries have each verdict."""
        return {name: sum(entry.verdict == name for entry in self.entries) for name in VERDICTS}
