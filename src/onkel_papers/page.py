"""The page of ``onkel reproduce --report``: all experiments, their tables and their curves."""

from __future__ import annotations

from typing import Any

from onkel.report import Column, Shown, View, contents, facts, page, plots, section, table
from onkel_papers import claims as claims_
from onkel_papers import title
from onkel_papers.summary import all_claims, by_kind, by_paper, failing
from onkel_papers.tables import (
    ResultTable,
    add_notes,
    choices,
    counted,
    explained,
    heading,
    runs_said,
    written_ours,
    written_paper,
)
from onkel_papers.verdict import METRICS, VERDICTS, Findings, TableEntry

_ENDS = [
    View("Accuracy against support vectors", "n_support", "accuracy", "support vectors", "share", log=True, marks=True),
    View("Accuracy against time", "seconds", "accuracy", "seconds", "share", log=True, marks=True),
]
_ALPHA = [
    View("Accuracy against α", "alpha", "accuracy", "α", "share", marks=True),
    View("Support vectors against α", "alpha", "n_support", "α", "count", marks=True),
    View("Seconds against α", "alpha", "seconds", "α", marks=True),
]
_CURVES = [
    View("On held-out rows, during learning", "rows", "held_out", "rows", "share"),
    View("On held-out rows, against support vectors", "n_support", "held_out", "support vectors", "share", log=True),
    View("On held-out rows, against time", "seconds", "held_out", "seconds", "share", log=True),
    View("Accuracy so far", "rows", "accuracy", "rows", "share"),
    View("Accuracy so far, against time", "seconds", "accuracy", "seconds", "share", log=True),
    View("Support vectors", "rows", "n_support", "rows", "count"),
]
_COLUMNS = ("rows", "seconds", "n_support", "accuracy", "held_out", "alpha")


def page_of(findings: list[Findings]) -> str:
    """Return the page."""
    counts = claims_.counted(claims_.judged(findings))
    cells = {f"cells {verdict}": sum(one.counts()[verdict] for one in findings) for verdict in VERDICTS}
    known = {
        "claims that hold": counts["holds"],
        "hold as found": counts[f"holds{claims_.AS_FOUND}"],
        "ties": counts["tie"] + counts[f"tie{claims_.AS_FOUND}"],
        "do not hold": counts["does not hold"],
    }
    claims = [_plain(table) for table in (failing(findings), all_claims(findings)) if table.lines]
    return page(
        "The papers' experiments",
        facts(known | cells),
        _plain(by_paper(findings)),
        contents(["Claims", "Counts", *(one.experiment for one in findings)]),
        section("Claims", *claims),
        section("Counts", _plain(by_kind(findings))),
        *(section(one.experiment, *_parts(one), text=_about(one)) for one in findings),
        subtitle="The papers' claims and figures beside ours. Within: at most max(2 sd, 0.5 points) worse than the "
        "paper's mean, and at most 15 % more or fewer support vectors. Times are of different machines.",
    )


def _plain(known: ResultTable) -> str:
    """A table of text under its heading."""
    return section(known.heading, table([Column(name, name, "text") for name in known.columns], known.lines), level=3)


def _about(one: Findings) -> str:
    return f"{title(one.experiment)} {runs_said(one)}{counted([one]).capitalize()}."


def _parts(one: Findings) -> list[str]:
    decided = choices(one.experiment)
    sections = [_plain(decided)] if decided.lines else []
    for name, about in one.sets.items():
        entries = [entry for entry in one.entries if entry.data == name]
        pieces = [_table([entry for entry in entries if not entry.is_claim], about)]
        pieces += [_claims([entry for entry in entries if entry.is_claim])]
        pieces += _plots(_ends(entries), _ENDS) + _plots(_of(one.curves, name, "alpha"), _ALPHA)
        pieces += _plots(_of(one.curves, name, "rows"), _CURVES)
        sections.append(section(heading(name, about), *pieces, level=3))
    sections += [drawn() for drawn in one.parts]
    if whys := explained(one):
        columns = [Column("cells", "cells", "text"), Column("why", "why", "text")]
        sections.append(section("Where ours is worse", table(columns, whys), level=3))
    return sections


def _table(entries: list[TableEntry], about: dict[str, Any]) -> str:
    """One line per learner; each metric with the paper's figure and ours."""
    lines: dict[str, dict[str, Any]] = {}
    for entry in entries:
        line = lines.setdefault(entry.learner, {"learner": entry.learner})
        if entry.paper is not None:
            line[f"{entry.metric} paper"] = Shown(entry.paper.mean, written_paper(entry))
        mean = entry.ours.mean if entry.ours else None
        line[entry.metric] = Shown(mean, written_ours(entry), entry.verdict)
    add_notes(lines, entries, about)
    columns = [Column("learner", "learner", "text")]
    for metric, known in METRICS.items():
        if any(f"{metric} paper" in line for line in lines.values()):
            columns.append(Column(f"{metric} paper", f"{known.title}, paper"))
        if any(metric in line for line in lines.values()):
            columns.append(Column(metric, f"{known.title}, ours"))
    if any("note" in line for line in lines.values()):
        columns.append(Column("note", "note", "text"))
    return table(columns, lines.values()) if lines else ""


def _claims(entries: list[TableEntry]) -> str:
    columns = [Column("claim", "the paper says", "text"), Column("ours", "ours", "text")]
    lines = [
        {"claim": written_paper(entry), "ours": Shown(entry.verdict, written_ours(entry), entry.verdict)}
        for entry in entries
    ]
    return table(columns, lines) if lines else ""


def _ends(entries: list[TableEntry]) -> list[dict[str, Any]]:
    """The final results; learners that differ only in what is in brackets (say, a budget) are points of one line."""
    ends: dict[str, dict[str, float]] = {}
    for entry in entries:
        if entry.ours and entry.metric in ("accuracy", "error", "n_support", "seconds"):
            mean = entry.ours.mean
            known = {"accuracy": mean / 100, "error": 1 - mean / 100}.get(entry.metric, mean)
            ends.setdefault(entry.learner, {})["accuracy" if entry.metric == "error" else entry.metric] = known
    lines: dict[str, list[dict[str, float]]] = {}
    for learner, point in ends.items():
        lines.setdefault(_without_brackets(learner), []).append(point)
    series = []
    for name, points in lines.items():
        points.sort(key=lambda point: point.get("n_support", point.get("seconds", 0.0)))
        columns = [column for column in ("n_support", "seconds", "accuracy") if all(column in p for p in points)]
        series.append({"name": name, **{column: [_short(point[column]) for point in points] for column in columns}})
    return series


def _of(curves: list[dict[str, Any]], data: str, needed: str) -> list[dict[str, Any]]:
    """The curves of a data set that have a column; among several budgets the last."""
    kept = {}
    for curve in curves:
        if curve["data"] == data and needed in curve:
            columns = {name: [_short(value) for value in curve[name]] for name in _COLUMNS if name in curve}
            kept[_without_brackets(curve["name"])] = {"name": curve["name"], **columns}
    return list(kept.values())


def _plots(series: list[dict[str, Any]], known: list[View]) -> list[str]:
    views = [view for view in known if any(view.x in one and view.y in one for one in series)]
    return [plots(series, views)] if views else []


def _without_brackets(name: str) -> str:
    return name.partition(" (")[0]


def _short(value: float | None) -> float | None:
    """A value with as many digits as a plot shows."""
    return None if value is None else float(f"{value:.5g}")
