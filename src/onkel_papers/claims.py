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
ones, and is a tie in between. The paper's figures are judged by their means.

A claim is judged twice where its tables have lines of a second protocol (`onkel_papers.verdict.as_found`): with the
lines of the parameters that the paper prints, and with those of the second protocol in their places. Its effect is how
far the first is ahead on average over the comparisons, with the standard error of that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from onkel_papers._lines import Line, is_about, lines_of
from onkel_papers.verdict import METRICS, Findings, Measured, TableEntry, as_found

VERDICTS = {"within": "holds", "worse": "does not hold", "undecided": "tie", "missing": "missing"}
AS_FOUND = " as found"
_FOR_THE_PAPER = ("worse", "undecided", "within")
_STANDARD_ERRORS = 2
_UNITS = {"rate": ("points", 2), "count": ("% of the points", 0), "risk": ("", 3)}


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict.

    Parameters
    ----------
    experiment, claim, says : str
    paper, ours : str
        The number of comparisons that are true, by the paper's figures and by ours.
    verdict : {"within", "worse", "undecided", "missing", ""}
        It holds, does not hold, is a tie, or could not be tested; empty where it is not judged.
    effect : str, default=""
        How far the first is ahead on average, with its standard error.
    found, found_verdict : str, default=""
        The same as `ours` and `verdict` by the second protocol; empty where there is none.
    """

    experiment: str
    claim: str
    says: str
    paper: str
    ours: str
    verdict: str
    effect: str = ""
    found: str = ""
    found_verdict: str = ""

    @property
    def said(self) -> str:
        """The verdict in words: that of the second protocol where it says more for the paper, and says so."""
        said = VERDICTS.get(self.verdict, "not judged")
        if self.found and _FOR_THE_PAPER.index(self.found_verdict) > _FOR_THE_PAPER.index(self.verdict):
            said = f"{VERDICTS[self.found_verdict]}{AS_FOUND}"
        return said

    @property
    def said_as_found(self) -> str:
        """What the second protocol says, in words."""
        return f"{self.found}: {VERDICTS[self.found_verdict]}" if self.found else ""


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
    """Return how many claims hold, do not hold, are ties, missing, or not judged; and hold, or are ties, as found.

    >>> counted([Judged("bogd-table3", "BOGD++", "is better", "16 of 18", "0 of 18", "worse")])["does not hold"]
    1
    """
    said = [claim.said for claim in claims]
    return {name: said.count(name) for name in (*VERDICTS.values(), "not judged", f"holds{AS_FOUND}", f"tie{AS_FOUND}")}


def _of_figure(experiment: str, entry: TableEntry) -> Judged:
    assert entry.paper is not None
    return Judged(experiment, f"{entry.data}: {entry.learner}", entry.paper.note, "", entry.note, entry.verdict)


def _judged(found: dict[str, Findings], lines: list[Line]) -> Judged:
    first = lines[0]
    names = first["experiment"], first["claim"], first["says"]
    if not first["how"]:
        return Judged(*names, "", "times of different machines", "")
    pairs = [
        (line, [one, *others])
        for line in lines
        for one, others in _pairs(found, line)
        if all(entry.ours is not None for entry in (one, *others))
    ]
    if not pairs:
        return Judged(*names, "", "", "missing")
    theirs = [
        _truth(line, *_compared(line, of, _printed))
        for line, of in pairs
        if all(entry.paper and entry.paper.mean is not None for entry in of)
    ]
    ours = [(line, of, _compared(line, of, _measured)) for line, of in pairs]
    replaced = [(line, [_by_second(found, line, entry) for entry in of]) for line, of in pairs]
    again = [(line, of, _compared(line, of, _measured)) for line, of in replaced] if replaced != pairs else []
    return Judged(
        *names,
        f"{theirs.count(1.0)} of {len(theirs)}" if theirs else "",
        *_said([_truth(line, *ahead) for line, _, ahead in ours], first["needed"]),
        _effect(first, [(of, ahead) for _, of, ahead in ours]),
        *(_said([_truth(line, *ahead) for line, _, ahead in again], first["needed"]) if again else ("", "")),
    )


def _said(truths: list[float | None], needed: str) -> tuple[str, str]:
    """How many comparisons are true, and the verdict."""
    true, open_ = truths.count(1.0), truths.count(None)
    enough = {"all": len(truths), "most": len(truths) // 2 + 1}.get(needed) or int(needed)
    verdict = "within" if true >= enough else "worse" if true + open_ < enough else "undecided"
    return f"{true} of {len(truths)}" + (f", {open_} open" if open_ else ""), verdict


def _effect(line: Line, compared: list[tuple[list[TableEntry], tuple[float, float]]]) -> str:
    """The mean of the leads with its standard error; counts are compared as shares of the other's count."""
    kind = METRICS[line["metric"]].kind
    if kind not in _UNITS or line["how"] == "steadier":
        return ""
    leads = []
    for (_, *others), (ahead, spread) in compared:
        whole = _measured(_best(line, others, _measured)).mean / 100 if kind == "count" else 1.0
        leads.append((ahead / whole, spread / whole))
    unit, digits = _UNITS[kind]
    mean = sum(ahead for ahead, _ in leads) / len(leads)
    error = sum(spread**2 for _, spread in leads) ** 0.5 / len(leads)
    return f"{mean:+.{digits}f} ± {error:.{digits}f} {unit}".rstrip()


def _by_second(found: dict[str, Findings], line: Line, entry: TableEntry) -> TableEntry:
    """The line of the second protocol in the place of an entry; the entry itself where there is none."""
    for one in found.values():
        if entry in one.entries:
            place = f"{one.experiment}/{as_found(entry.learner)}"
            other = _entry(found, line, place, entry)
            return entry if other is None or other.ours is None else other
    return entry


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


def _compared(line: Line, of: list[TableEntry], figure: Callable[[TableEntry], Measured]) -> tuple[float, float]:
    """By how much the first is ahead of the best of the others, and the standard error of that."""
    one, *others = of
    mine = figure(one)
    if line["how"] == "steadier":
        return ((figure(others[0]).sd or 0.0) - (mine.sd or 0.0), 0.0)
    other = figure(_best(line, others, figure))
    spread = 0.0 if figure is _printed else (mine.error**2 + other.error**2) ** 0.5
    return _sign(line) * (mine.mean - other.mean), spread


def _best(line: Line, others: list[TableEntry], figure: Callable[[TableEntry], Measured]) -> TableEntry:
    return max(others, key=lambda entry: _sign(line) * figure(entry).mean)


def _sign(line: Line) -> int:
    return 1 if METRICS[line["metric"]].best == "high" else -1


def _truth(line: Line, ahead: float, error: float) -> float | None:
    """1.0 true, 0.0 false, None open."""
    how, _, margin = line["how"].rpartition(" ") if line["how"][-1].isdigit() else (line["how"], "", "")
    slack = float(margin) - abs(ahead) if how == "alike" else ahead + float(margin or 0)
    if error > 0 and abs(slack) <= _STANDARD_ERRORS * error and (slack != 0 or margin):
        return None
    return float(slack > 0 or (slack == 0 and bool(margin)))
