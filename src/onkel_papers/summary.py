"""What was reproduced, as tables and as the generated parts of the documentation's pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from onkel_papers import claims as claims_
from onkel_papers._lines import lines_of
from onkel_papers.claims import Judged
from onkel_papers.pictures import PICTURED, link_to
from onkel_papers.reasons import CAUSES, Reason, reason
from onkel_papers.tables import UNEXPLAINED, ResultTable, markdown, tables, written, written_ours, written_paper
from onkel_papers.verdict import APART, METRICS, VERDICTS, WIDE, Findings, TableEntry, tolerance

PAPERS = {"oskl": "OSKL", "spa": "SPA", "bogd": "BOGD", "polk": "POLK", "klr": "sparse KLR"}
_SAID = ("paper", "the paper says", "its figures", "as printed", "ahead by", "as found")  # of a claim
_KINDS = {"errors and accuracies": ("rate",), "support vectors, sparsities": ("count", "sparsity")}


def by_paper(findings: Sequence[Findings]) -> ResultTable:
    """Return a line for each paper: what was reproduced, what was not and why, and counts of claims and cells."""
    on_record = any(about.get("run") for one in findings for about in one.sets.values())
    said = ["reproduced", "not reproduced, and why"] if on_record else []
    headlines = {line["paper"]: line for line in lines_of("headlines.tsv")}
    lines = []
    for paper, title in PAPERS.items():
        of = [one for one in findings if one.experiment.partition("-")[0] == paper]
        if of:
            lines.append({"paper": title, **{name: headlines[title][name] for name in said}, **_counts(of)})
    if len(lines) > 1:
        lines.append({"paper": "all", **_counts(findings)})
    return ResultTable("In short", ["paper", *said, "claims", "cells"], lines)


def _counts(findings: Iterable[Findings]) -> dict[str, str]:
    found = list(findings)
    claims = claims_.counted(claims_.judged(found))
    judged = {
        "hold": claims["holds"],
        "as found": claims[f"holds{claims_.AS_FOUND}"],
        "tie": claims["tie"] + claims[f"tie{claims_.AS_FOUND}"],
        "do not": claims["does not hold"],
    }
    cells = {verdict: sum(one.counts()[verdict] for one in found) for verdict in VERDICTS}
    return {
        name: ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
        for name, counts in (("claims", judged), ("cells", cells))
    }


def by_kind(findings: Sequence[Findings]) -> ResultTable:
    """Return a line for each kind of cell: results first, then those that are counted separately."""
    entries = [entry for one in findings for entry in one.entries if not entry.is_claim]
    results = [entry for entry in entries if not entry.apart]
    lines = []
    for title, kinds in _KINDS.items():
        lines.append(_line(title, [entry for entry in results if METRICS[entry.metric].kind in kinds]))
    wide = [e for e in results if METRICS[e.metric].kind == "rate" and e.paper and tolerance(e.paper) > WIDE]
    lines.append(_line(f"of these, by a tolerance above {WIDE:.0f} points", wide))
    for apart, title in APART.items():
        lines.append(_line(f"apart: those that {title}", [entry for entry in entries if entry.apart == apart]))
    return ResultTable("Cells by kind", ["cells", *VERDICTS], [line for line in lines if line])


def _line(title: str, entries: list[TableEntry]) -> dict[str, str]:
    counts = {verdict: sum(entry.verdict == verdict for entry in entries) for verdict in VERDICTS}
    return {"cells": title, **{name: str(n) for name, n in counts.items()}} if any(counts.values()) else {}


def failing(findings: Sequence[Findings]) -> ResultTable:
    """Return the claims that do not hold, and why."""
    quick = any(one.quick for one in findings)
    lines = []
    for claim in claims_.judged(findings):
        if claim.said == claims_.VERDICTS["worse"]:
            known = reason_of(claim)
            why = str(known) if known else "a quick run has few rows and runs" if quick else UNEXPLAINED
            lines.append({**_row_of(claim), "whose": known.cause if known else "unknown", "why": why})
    return ResultTable("What does not hold", [*_SAID, "whose", "why"], lines)


def all_claims(findings: Sequence[Findings]) -> ResultTable:
    """Return every claim with its verdict."""
    lines = [{**_row_of(claim), "verdict": claim.said} for claim in claims_.judged(findings)]
    return ResultTable("All claims", [*_SAID, "verdict"], lines)


def _row_of(claim: Judged) -> dict[str, str]:
    of = (_place(claim), claim.says, claim.paper, claim.ours, claim.effect, claim.said_as_found)
    return dict(zip(_SAID, of, strict=True))


def reason_of(claim: Judged) -> Reason | None:
    """Return the reason why a claim does not hold."""
    data, colon, name = claim.claim.partition(": ")
    return reason(claim.experiment, data if colon else "", name if colon else claim.claim, "claim")


def _place(claim: Judged) -> str:
    """The table and, for a claim of a figure, the data set."""
    data, colon, _ = claim.claim.partition(": ")
    return f"{claim.experiment}, {data}" if colon else claim.experiment


def by_cause(findings: Sequence[Findings]) -> ResultTable:
    """Return the claims that do not hold, one line for each cause."""
    causes: dict[str, list[dict[str, str]]] = {}
    for line in failing(findings).lines:
        causes.setdefault(line["why"], []).append(line)
    lines = [
        {
            "what does not hold": "; ".join(f"{line['paper']}: {line['the paper says']}" for line in of),
            "whose": CAUSES[of[0]["whose"]],
            "why": why,
        }
        for why, of in causes.items()
    ]
    return ResultTable("Where we differ", ["what does not hold", "whose", "why"], lines)


def examples(findings: Sequence[Findings]) -> ResultTable:
    """Return one claim of each paper, with the figures behind it and the command that runs them."""
    entries = {(one.experiment, e.data, e.learner, e.metric): e for one in findings for e in one.entries}
    lines = []
    for line in lines_of("examples.tsv"):
        learners, metrics = line["learners"].split("|"), line["metrics"].split("|")
        places = {who: [(line["experiment"], line["data"], who, metric) for metric in metrics] for who in learners}
        of = {who: [entries[place] for place in at if place in entries] for who, at in places.items()}
        if any(of.values()):
            figures = {"the paper": _figures(of, written_paper), "here": _figures(of, written_ours)}
            command = f"`onkel reproduce {line['experiment']} --data {line['data']}`"
            lines.append(
                {"paper": line["paper"], "says": line["says"], **figures, "why": line["cause"], "run": command}
            )
    return ResultTable("One claim of each paper", ["paper", "says", "the paper", "here", "why", "run"], lines)


def _figures(of: dict[str, list[TableEntry]], figure: Callable[[TableEntry], str]) -> str:
    """The figures of some learners in words; a claim needs neither the learner's name nor the metric's."""
    said = [
        (
            who,
            ", ".join(
                figure(e) if e.is_claim else f"{METRICS[e.metric].title.removesuffix(' %')} {figure(e)}"
                for e in entries
            ),
        )
        for who, entries in of.items()
    ]
    return "; ".join(words if of[who][0].is_claim else f"{who}: {words}" for who, words in said if words)


def is_of_newton(entry: TableEntry) -> bool:
    """Whether a line is of the learner that no paper has."""
    return "Newton" in entry.learner


def pieces(findings: Sequence[Findings]) -> dict[str, str]:
    """Return the generated parts of docs/reproduction.md and of the pages in docs/reproduction, as Markdown."""
    short = by_paper(findings)
    linked = replace(short, lines=[{**line, "paper": _linked(line["paper"])} for line in short.lines])
    shown = {
        "summary": linked,
        "examples": examples(findings),
        "causes": by_cause(findings),
        "kinds": by_kind(findings),
    }
    made = {name: written(table) for name, table in shown.items() if table.lines}
    made["newton"] = "\n".join(filter(None, map(_of_newton, findings)))
    for paper in PAPERS:
        of = [one for one in findings if one.experiment.partition("-")[0] == paper]
        if of:
            own = markdown(one.only(lambda entry: not is_of_newton(entry)) for one in of)
            drawn = [link_to(one.experiment) for one in of if one.experiment in PICTURED]
            pictures = "\n\n".join(["\n## Pictures", *drawn, ""]) if drawn else ""
            made[paper] = f"## Claims\n\n{written(all_claims(of))}{pictures}\n## Tables\n\n{own}"
    return {f"papers: {name}": f"\n\n{piece}\n" for name, piece in made.items() if piece}


def _of_newton(findings: Findings) -> str:
    """The lines of Newton in the tables of an experiment."""
    of = [table for table in tables(findings.only(is_of_newton)) if table.lines]
    pieces = "".join(f"\n**{table.heading}**\n\n{written(table)}" for table in of)
    return f"### {findings.experiment}\n{pieces}" if of else ""


def _linked(title: str) -> str:
    """The title of a paper as a link to its page."""
    return next((f"[{title}](reproduction/{name}.md)" for name, known in PAPERS.items() if known == title), title)
