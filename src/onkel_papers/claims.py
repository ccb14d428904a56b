"""The papers' claims that compare learners, judged by our figures and their spread, and by the paper's own figures.

A line of ``claims.tsv`` is a group of comparisons; lines with the same claim belong together. Its columns:

- `experiment`, `claim`, `says`: where the paper makes the claim, a short name, and its wording.
- `data`: the sets it is about, a pattern.
- `first`, `than`: learners, separated by ``|``. A ``*`` stands for the same text in both, such as a budget; a learner
  of another table is preceded by the name of that table and a slash.
- `metric`, `how`: what is compared, and how `first` has to stand to each of `than`:
  "better"; "no worse M", by at most M points; "alike M", at most M points apart; "best" and "best M", better than the
  best of them or at most M points behind; "steadier", with a smaller standard deviation; "" where it is not judged.
- `needed`: of how many comparisons it has to be true: "all", "most", or a number.

A comparison is true if it holds by more than two standard errors of the difference, false if its contrary does, and
otherwise open. A claim holds if enough comparisons are true, does not hold if there would be too few even with the open
ones, and is undecided in between. The paper's figures are judged by their means.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from onkel_papers._lines import Line, is_about, lines_of
from onkel_papers.verdict import METRICS, Findings, Measured, TableEntry

VERDICTS = {"within": "holds", "worse": "does not hold", "undecided": "undecided", "missing": "missing"}
_STANDARD_ERRORS = 2


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict.

    Parameters
    ----------
    experiment, claim, says : str
    paper, ours : str
        The number of comparisons that are true, by the paper's figures and by ours.
    verdict : {"within", "worse", "undecided", "missing", ""}
        It holds, does not hold, is undecided, or could not be tested; empty where it is not judged.
    """

    experiment: str
    claim: str
    says: str
    paper: str
    ours: str
    verdict: str

    @property
    def said(self) -> str:
        """The verdict in words."""
        return VERDICTS.get(self.verdict, "not judged")


def judged(findings: Iterable[Findings]) -> list[Judged]:
    """Return all claims about the learners of some experiments, including those of figures, in the papers' order."""
    found = {one.experiment: one for one in findings}
    claims: list[Judged] = []
    for experiment, one in found.items():
        lines: dict[str, list[Line]] = {}
        for line in lines_of("claims.tsv"):
            if line["experiment"] == experiment and any(is_about(line["data"], data) for data in one.sets):
                lines.setdefault(line["claim"], []).append(line)
        claims += [_judged(found, group) for group in lines.values()]
        claims += [_of_figure(experiment, entry) for entry in one.entries if entry.is_claim and entry.paper]
    return claims


def counted(claims: Iterable[Judged]) -> dict[str, int]:
    """Return how many claims hold, do not, are undecided, missing, or not judged.

    >>> counted([Judged("bogd-table3", "BOGD++", "is better", "16 of 18", "0 of 18", "worse")])["does not hold"]
    1
    """
    said = [claim.said for claim in claims]
    return {name: said.count(name) for name in (*VERDICTS.values(), "not judged")}


def _of_figure(experiment: str, entry: TableEntry) -> Judged:
    assert entry.paper is not None
    return Judged(experiment, f"{entry.data}: {entry.learner}", entry.paper.note, "", entry.note, entry.verdict)


def _judged(found: dict[str, Findings], lines: list[Line]) -> Judged:
    first = lines[0]
    names = first["experiment"], first["claim"], first["says"]
    if not first["how"]:
        return Judged(*names, "", "times of different machines", "")
    ours: list[float | None] = []
    theirs: list[float | None] = []
    for line in lines:
        for one, others in _pairs(found, line):
            if any(entry.ours is None for entry in (one, *others)):
                continue
            ours.append(_truth(line, *_compared(line, one, others, _measured)))
            if all(entry.paper and entry.paper.mean is not None for entry in (one, *others)):
                theirs.append(_truth(line, *_compared(line, one, others, _printed)))
    if not ours:
        return Judged(*names, "", "", "missing")
    true, open_ = ours.count(1.0), ours.count(None)
    needed = {"all": len(ours), "most": len(ours) // 2 + 1}.get(first["needed"]) or int(first["needed"])
    verdict = "within" if true >= needed else "worse" if true + open_ < needed else "undecided"
    said = f"{true} of {len(ours)}" + (f", {open_} open" if open_ else "")
    return Judged(*names, f"{theirs.count(1.0)} of {len(theirs)}" if theirs else "", said, verdict)


def _pairs(found: dict[str, Findings], line: Line) -> Iterator[tuple[TableEntry, list[TableEntry]]]:
    """Each learner of the line and those that it is compared with."""
    for place in line["first"].split("|"):
        experiment, pattern = _placed(line, place)
        for one in found[experiment].entries if experiment in found else ():
            if (
                one.metric != line["metric"]
                or not is_about(line["data"], one.data)
                or not fnmatchcase(one.learner, pattern)
            ):
                continue
            others = [_entry(found, line, other, one) for other in _rivals(line, pattern, one.learner)]
            there = [entry for entry in others if entry is not None]
            if line["how"].startswith("best"):
                yield one, there
            else:
                yield from ((one, [entry]) for entry in there)


def _rivals(line: Line, pattern: str, learner: str) -> list[str]:
    """The learners that a learner is compared with; ``*`` stands for the same text as in its own pattern."""
    before, star, after = pattern.partition("*")
    same = learner[len(before) :].removesuffix(after) if star else "*"
    return [other.replace("*", same) for other in line["than"].split("|")]


def _entry(found: dict[str, Findings], line: Line, place: str, one: TableEntry) -> TableEntry | None:
    experiment, learner = _placed(line, place)
    for entry in found[experiment].entries if experiment in found else ():
        if (entry.data, entry.learner, entry.metric) == (one.data, learner, one.metric):
            return entry
    return None


def _placed(line: Line, place: str) -> tuple[str, str]:
    experiment, slash, learner = place.rpartition("/")
    return (experiment, learner) if slash else (line["experiment"], place)


def _measured(entry: TableEntry) -> Measured:
    assert entry.ours is not None
    return entry.ours


def _printed(entry: TableEntry) -> Measured:
    assert entry.paper is not None and entry.paper.mean is not None
    return Measured(entry.paper.mean, entry.paper.sd, 1)


def _compared(line: Line, one: TableEntry, others: list[TableEntry], figure: object) -> tuple[float, float]:
    """By how much the first is ahead, and the standard error of that."""
    assert callable(figure)
    sign = 1 if METRICS[one.metric].best == "high" else -1
    mine = figure(one)
    if line["how"] == "steadier":
        return ((figure(others[0]).sd or 0.0) - (mine.sd or 0.0), 0.0)
    other = max(map(figure, others), key=lambda known: sign * known.mean)
    spread = 0.0 if figure is _printed else (mine.error**2 + other.error**2) ** 0.5
    return sign * (mine.mean - other.mean), spread


def _truth(line: Line, ahead: float, error: float) -> float | None:
    """1.0 true, 0.0 false, None open."""
    how, _, margin = line["how"].rpartition(" ") if line["how"][-1].isdigit() else (line["how"], "", "")
    slack = float(margin) - abs(ahead) if how == "alike" else ahead + float(margin or 0)
    if error > 0 and abs(slack) <= _STANDARD_ERRORS * error and (slack != 0 or margin):
        return None
    return float(slack > 0 or (slack == 0 and bool(margin)))
