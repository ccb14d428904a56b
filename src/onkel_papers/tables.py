"""Findings as text tables, one per data set, for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onkel_papers import title
from onkel_papers._files import write_whole
from onkel_papers._lines import is_about, lines_of
from onkel_papers.reasons import reason
from onkel_papers.verdict import METRICS, VERDICTS, WIDE, Findings, TableEntry, is_trivial, tolerance

UNEXPLAINED = "not explained yet"
_QUICK = "a quick run has few rows, runs and choices of parameters"
_CLAIMS = ("the paper says", "ours")


@dataclass(frozen=True)
class ResultTable:
    """A table of text.

    Parameters
    ----------
    heading : str
    columns : list of str
    lines : list of dict
        The text of each column.
    """

    heading: str
    columns: list[str]
    lines: list[dict[str, str]]


def tables(findings: Findings) -> list[ResultTable]:
    """Return a table for each data set, with a line for each learner, and one with the paper's claims."""
    tables = []
    for name, about in findings.sets.items():
        entries = [entry for entry in findings.entries if entry.data == name and not entry.is_claim]
        metrics = [metric for metric in METRICS if any(entry.metric == metric for entry in entries)]
        lines: dict[str, dict[str, str]] = {}
        for entry in entries:
            line = lines.setdefault(entry.learner, {"learner": entry.learner})
            heads = _heads(entry.metric)
            line |= dict(zip(heads, (written_paper(entry), written_ours(entry)), strict=True))
        add_notes(lines, entries, about)
        printed = {entry.metric for entry in entries if entry.paper is not None}
        columns = ["learner", *(head for metric in metrics for head in _heads(metric)[metric not in printed :])]
        columns += ["note"] if any("note" in line for line in lines.values()) else []
        tables.append(ResultTable(heading(name, about), columns, list(lines.values())))
        claims = [entry for entry in findings.entries if entry.data == name and entry.is_claim]
        if claims:
            said = [dict(zip(_CLAIMS, (written_paper(claim), written_ours(claim)), strict=True)) for claim in claims]
            tables.append(ResultTable(f"{name}: what the paper says", list(_CLAIMS), said))
    return tables


def explained(findings: Findings) -> list[dict[str, str]]:
    """Return the cells that are worse than the paper's, grouped by their reasons."""
    otherwise = _QUICK if findings.quick else UNEXPLAINED
    cells: dict[str, list[TableEntry]] = {}
    for entry in findings.entries:
        if entry.verdict == "worse" and entry.apart not in ("repeat", "found"):
            metric = "claim" if entry.is_claim else entry.metric
            known = reason(findings.experiment, entry.data, entry.learner, metric)
            cells.setdefault(str(known) if known else otherwise, []).append(entry)
    return [{"cells": _listed(entries), "why": why} for why, entries in cells.items()]


def _listed(entries: list[TableEntry]) -> str:
    """The entries of one reason, grouped by learner: a9a: Pegasos · SPA (accuracy)."""
    metrics: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        metric = "claim" if entry.is_claim else METRICS[entry.metric].title.removesuffix(" %")
        metrics.setdefault((entry.data, entry.learner), []).append(metric)
    learners: dict[tuple[str, str], list[str]] = {}
    for (data, learner), of in metrics.items():
        learners.setdefault((data, " and ".join(of)), []).append(learner)
    return "; ".join(f"{data}: {' · '.join(who)} ({what})" for (data, what), who in learners.items())


def heading(name: str, about: dict[str, Any]) -> str:
    """Return the name of a data set with its main properties.

    >>> heading("german", {"rows": 1000, "majority": 30.0, "note": ""})
    'german: 1,000 rows, always predicting the majority class errs in 30.0 %'
    """
    said = []
    if about.get("rows"):
        said.append(f"{about['rows']:,} rows")
    if about.get("majority") is not None:
        said.append(f"always predicting the majority class errs in {about['majority']:.1f} %")
    if about.get("note"):
        said.append(str(about["note"]))
    if about.get("run"):
        said.append(f"run on {about['run']}")
    if about.get("missing"):
        said.append(f"missing: {about['missing']}")
    return f"{name}: {', '.join(said)}" if said else name


def counted(findings: Iterable[Findings]) -> str:
    """Return how many results have each verdict, in words.

    >>> counted([Findings("bogd-table2")])
    '0 better, 0 within, 0 worse, 0 missing'
    """
    found = list(findings)
    return ", ".join(f"{sum(f.counts()[verdict] for f in found)} {verdict}" for verdict in VERDICTS)


def choices(experiment: str) -> ResultTable:
    """Return what was decided where the paper's text is silent or contradicts its figures."""
    columns = ["of", "choice", "why"]
    lines = [line for line in lines_of("choices.tsv") if is_about(line["experiment"], experiment)]
    return ResultTable("Choices", columns, [{name: line[name] for name in columns} for line in lines])


def filled_in(page: str, pieces: dict[str, str]) -> str:
    """Return a page with the pieces between its marks replaced; a new page if there are no marks.

    >>> filled_in("Now <!-- counts -->old<!-- /counts -->.", {"counts": "new", "tables": "many"})
    'Now <!-- counts -->new<!-- /counts -->.'
    """
    if not any(f"<!-- {name} -->" in page for name in pieces):
        return "\n".join(f"**{name}**{piece}" for name, piece in pieces.items())
    for name, piece in pieces.items():
        first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
        if first in page and last in page:
            before, _, rest = page.partition(first)
            page = f"{before}{first}{piece}{last}{rest.partition(last)[2]}"
    return page


def fill_in(folder: Path, pieces: dict[str, str]) -> list[Path]:
    """Replace the pieces between their marks in all pages of a folder; return those that have any."""
    filled = []
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text("utf-8")
        if any(f"<!-- {name} -->" in text for name in pieces):
            write_whole(page, filled_in(text, pieces))
            filled.append(page)
    return filled


def markdown(findings: Iterable[Findings]) -> str:
    """Return all tables as Markdown."""
    pieces = []
    for one in findings:
        pieces.append(f"### {one.experiment}\n\n{title(one.experiment)} {runs_said(one)}{counted([one])}.\n")
        for table in (choices(one.experiment), *tables(one)):
            if table.lines:
                pieces.append(f"\n**{table.heading}**\n\n{written(table)}")
        if whys := explained(one):
            pieces += ["\nWorse:\n\n", *(f"- {why['cells']} – {why['why']}.\n" for why in whys)]
        pieces.append("\n")
    return "".join(pieces).rstrip("\n") + "\n"


def written(table: ResultTable) -> str:
    """Return a table as Markdown."""
    lines = [[line.get(column, "") for column in table.columns] for line in table.lines]
    return "".join(map(_line, [table.columns, ["---"] * len(table.columns), *lines]))


def runs_said(findings: Findings) -> str:
    """Return how many runs the means are over and what they took, as a sentence."""
    n_runs = {entry.ours.runs for entry in findings.entries if entry.ours and not entry.is_claim}
    if not n_runs:
        return ""
    said = "One run" if n_runs == {1} else f"Means ± sd over {' or '.join(map(str, sorted(n_runs)))} runs"
    return f"{said}, {_duration(findings.spent)} of one core. "


def _duration(seconds: float) -> str:
    """Return a duration in words.

    >>> _duration(41.2), _duration(2460.0)
    ('41 seconds', '41 minutes')
    """
    return f"{seconds:.0f} seconds" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def written_paper(entry: TableEntry) -> str:
    """Return the paper's figure as text."""
    if entry.paper is None:
        return "–"
    return entry.paper.note if entry.is_claim else _number(entry.metric, entry.paper.mean, entry.paper.sd)


def written_ours(entry: TableEntry) -> str:
    """Return our figure as text, with the verdict and, in brackets, what qualifies it."""
    if entry.is_claim:
        verdicts = {"within": "holds", "worse": "does not hold", "undecided": "tie", "missing": "missing"}
        return f"{entry.note}: {verdicts.get(entry.verdict, 'not judged')}"
    if entry.ours is None:
        return "missing"
    judged = entry.verdict
    if judged and entry.paper and METRICS[entry.metric].kind == "rate" and tolerance(entry.paper) > WIDE:
        judged += f" (±{tolerance(entry.paper):.1f})"
    if judged and entry.apart:
        judged += f" ({entry.apart})"
    return f"{_number(entry.metric, entry.ours.mean, entry.ours.sd)} {judged}".rstrip()


def add_notes(lines: dict[str, dict[str, Any]], entries: list[TableEntry], about: dict[str, Any]) -> None:
    """Add notes on the entries to the line of each learner, unless the heading of the data set has them."""
    for learner, line in lines.items():
        said = [note for entry in entries if entry.learner == learner for note in _notes(entry, about)]
        if said:
            line["note"] = "; ".join(dict.fromkeys(said))


def _notes(entry: TableEntry, about: dict[str, Any]) -> list[str]:
    if entry.ours is None and entry.note != about.get("missing"):
        return [entry.note]
    said = [f"the paper: {entry.paper.note}"] if entry.paper and entry.paper.note else []
    rows, majority = about.get("rows"), about.get("majority")
    if entry.ours and rows is not None and rows < 0.95 * about["paper_rows"]:
        said.append(f"{100 * rows / about['paper_rows']:.0f} % of the paper's rows")
    if is_trivial(entry, majority):
        said.append("always the majority class")
    return said


def _number(metric: str, mean: float | None, sd: float | None) -> str:
    if mean is None:
        return "–"
    digits = METRICS[metric].digits
    return f"{mean:,.{digits}f}" + ("" if sd is None else f" ± {sd:,.{digits}f}")


def _heads(metric: str) -> tuple[str, str]:
    return (f"{METRICS[metric].title}, paper", f"{METRICS[metric].title}, ours")


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |\n"
