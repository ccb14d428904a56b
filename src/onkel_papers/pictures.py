"""Pictures of what was measured: rates against numbers of support vectors, for the papers' pages.

Each experiment of `PICTURED` has one, with a plane for each data set; learners that differ only in what is in brackets
(a budget, β, γ) are points of one line. matplotlib (the extra "plot") draws them; the same figures give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from pathlib import Path

from onkel_papers._files import write_whole
from onkel_papers.verdict import METRICS, Findings

PICTURED = ("oskl-table3", "oskl-table4", "spa-figure1", "spa-figure2", "bogd-table3", "klr-figures")
_COLUMNS = 3
_SIZE = 3.6  # of a plane, in inches

Lines = dict[str, list[tuple[float, float]]]


def lines_of_sets(findings: Findings) -> tuple[str, dict[str, Lines]]:
    """Return the metric that is drawn and, for each data set, the points of each learner: support vectors and rate.

    Examples
    --------
    >>> from onkel_papers.recorded import recorded
    >>> metric, sets = lines_of_sets(recorded("bogd-table3", ["german"]))
    >>> metric, sets["german"]["RBP"][0]
    ('error', (100.0, 36.775))
    """
    ours = {(e.data, e.learner, e.metric): e.ours.mean for e in findings.entries if e.ours and not e.is_claim}
    metric = "error" if any(place[2] == "error" for place in ours) else "accuracy"
    sets: dict[str, Lines] = {}
    for (data, learner, found), mean in ours.items():
        n_support = ours.get((data, learner, "n_support"))
        if found == metric and n_support is not None and "Newton" not in learner and ", a constant" not in learner:
            sets.setdefault(data, {}).setdefault(learner.partition(" (")[0], []).append((n_support, mean))
    return metric, {data: {who: sorted(points) for who, points in lines.items()} for data, lines in sets.items()}


def picture(findings: Findings) -> str:
    """Return the picture of an experiment as SVG."""
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    metric, sets = lines_of_sets(findings)
    n_columns = min(_COLUMNS, len(sets))
    n_rows = -(-len(sets) // n_columns)
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "onkel", "font.family": "sans-serif"}):
        figure = Figure(figsize=(_SIZE * n_columns, 0.85 * _SIZE * n_rows + 0.6), layout="constrained")
        planes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        names = list(dict.fromkeys(who for lines in sets.values() for who in lines))
        for ax, (data, lines) in zip(planes, sets.items(), strict=False):
            for who, points in lines.items():
                color, marker = f"C{names.index(who) % 10}", "os^vD"[names.index(who) // 10 % 5]
                ax.plot(*zip(*points, strict=True), color=color, marker=marker, markersize=4, linewidth=1, label=who)
            ax.set(xscale="log", xlabel="support vectors", ylabel=METRICS[metric].title, title=data)
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            ax.xaxis.set_minor_locator(NullLocator())
        for ax in planes[len(sets) :]:
            ax.remove()
        known = {label: line for ax in planes for line, label in zip(*ax.get_legend_handles_labels(), strict=True)}
        figure.legend(known.values(), known.keys(), loc="outside lower center", ncols=5, frameon=False, fontsize=8)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


def link_to(experiment: str) -> str:
    """Return the line of Markdown that shows the picture of an experiment."""
    return f"![{experiment}: rates against numbers of support vectors, a plane for each data set]({experiment}.svg)"


def draw(findings: Iterable[Findings], pages: Iterable[Path]) -> list[Path]:
    """Write the pictures that pages show, each beside its page; return their files."""
    known = {link_to(one.experiment): one for one in findings if one.experiment in PICTURED}
    made = []
    for page in pages:
        text = page.read_text("utf-8")
        for line, one in known.items():
            if line in text:
                made.append(page.with_name(f"{one.experiment}.svg"))
                write_whole(made[-1], picture(one))
    return made
