"""The page of ``onkel reproduce --report``: all experiments, their tables and their curves."""

from __future__ import annotations

from onkel.report import Column, View, facts, page, plots, section, table
from onkel.reproduce import title
from onkel.reproduce._tables import runs_said, tables
from onkel.reproduce._verdict import VERDICTS, Findings

_CURVES = [
    View("Held-out accuracy", "rows", "held_out", "rows", "share"),
    View("Accuracy so far", "rows", "accuracy", "rows", "share"),
    View("Support vectors", "rows", "n_support", "rows", "count"),
]


def page_of(findings: list[Findings]) -> str:
    """Return the page."""
    counts = {verdict: sum(one.counts()[verdict] for one in findings) for verdict in VERDICTS}
    return page(
        "The papers' experiments",
        facts(counts),
        *(section(one.experiment, *_parts(one), text=f"{title(one.experiment)} {runs_said(one)}") for one in findings),
        subtitle="The papers' figures beside ours.",
    )


def _parts(one: Findings) -> list[str]:
    made = list(one.parts)
    for name, shown in zip(one.sets, tables(one), strict=True):
        columns = [Column(column, column, "text") for column in shown.columns]
        made.append(section(shown.heading, table(columns, shown.lines), level=3))
        curves = [curve for curve in one.curves if curve["data"] == name]
        views = [view for view in _CURVES if any(view.y in curve for curve in curves)]
        if views:
            made.append(plots(curves, views))
    return made
