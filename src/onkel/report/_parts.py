"""The parts of a page. Whatever comes from outside is escaped here, and nowhere else."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from typing import Any

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="onkel">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{title}</h1>{subtitle}</header>
<main>
{parts}
</main>
<script>
{script}</script>
</body>
</html>
"""


@dataclass(frozen=True)
class View:
    """One plot of `plots`: a column of every series over another.

    Parameters
    ----------
    title : str
    x, y : str
        Names of columns.
    x_title : str
    kind : {"share", "number", "count"}
        How y is written.
    log : bool, default=False
        Whether x is logarithmic; the reader can make it so.
    log_y : bool, default=False
        Whether y is logarithmic.
    marks : bool, default=False
        Whether each point is one of its own, with a mark, and not a moment of a run.
    """

    title: str
    x: str
    y: str
    x_title: str
    kind: str = "number"
    log: bool = False
    log_y: bool = False
    marks: bool = False


@dataclass(frozen=True)
class Column:
    """A column of `table`.

    Parameters
    ----------
    name : str
        The key of its values.
    title : str
    kind : {"text", "share", "number", "count", "seconds"}
        How values are written.
    best : {"", "high", "low"}
        Which value stands out.
    """

    name: str
    title: str
    kind: str = "number"
    best: str = ""


@dataclass(frozen=True)
class Shown:
    """A value of `table` that brings its own text.

    Parameters
    ----------
    value : float, str or None
        What the column is sorted by.
    text : str
    mark : {"", "better", "within", "worse", "missing"}
        How the cell looks.
    """

    value: float | str | None
    text: str
    mark: str = ""


def page(title: str, *parts: str, subtitle: str = "") -> str:
    """Return a whole page.

    >>> "<h1>a &lt; b</h1>" in page("a < b")
    True
    """
    folder = files(__package__)
    return _PAGE.format(
        title=escape(title),
        subtitle=f"<p>{escape(subtitle)}</p>" if subtitle else "",
        style=(folder / "style.css").read_text("utf-8"),
        script=(folder / "page.js").read_text("utf-8"),
        parts="\n".join(parts),
    )


def section(title: str, *parts: str, text: str = "", level: int = 2) -> str:
    """Return parts under a heading, a place that `contents` can point at.

    >>> section("a < b", "<hr>")
    '<section class="part" id="a &lt; b"><h2>a &lt; b</h2><hr></section>'
    """
    name = escape(title)
    place = f' id="{name}"' if level == 2 else ""
    paragraph = f"<p>{escape(text)}</p>" if text else ""
    return f'<section class="part"{place}><h{level}>{name}</h{level}>{paragraph}{"".join(parts)}</section>'


def contents(titles: Iterable[str]) -> str:
    """Return links to sections.

    >>> contents(["one"])
    '<nav class="contents"><a href="#one">one</a></nav>'
    """
    links = "".join(f'<a href="#{escape(title)}">{escape(title)}</a>' for title in titles)
    return f'<nav class="contents">{links}</nav>'


def facts(values: dict[str, Any]) -> str:
    """Return a row of small cards, a name and a value each."""
    return f'<dl class="facts">{_pairs(values)}</dl>'


def plots(series: Iterable[dict[str, Any]], views: Iterable[View]) -> str:
    """Return plots that share a legend.

    A series is a name and columns: lists of numbers, None where there is no value. Columns of rows have names that end
    in "rows"; a column "changes" has rows that are marked wherever rows are drawn.

    >>> series = {"name": "a", "rows": [1, 2], "accuracy": [0.5, 0.75]}
    >>> html = plots([series], [View("How good", "rows", "accuracy", "rows", "share")])
    >>> html.count("<figure"), "application/json" in html
    (1, True)
    """
    views = list(views)
    # In a script element only "</" and "<!--" end or change anything, and no text of JSON needs a bare "<".
    content = json.dumps({"series": list(series), "views": [asdict(view) for view in views]}).replace("<", "\\u003c")
    figures = "".join(
        f'<figure tabindex="0"><figcaption>{escape(view.title)}</figcaption><div class="canvas"></div></figure>'
        for view in views
    )
    return (
        '<section class="plots"><div class="legend" role="group" aria-label="What is shown"></div>'
        f'<div class="grid">{figures}</div><script type="application/json">{content}</script>'
        "<noscript><p>The plots need JavaScript; the tables do not.</p></noscript></section>"
    )


def picture(title: str, png: bytes) -> str:
    """Return a figure of a picture, which becomes a part of the page.

    >>> picture("A dot", b"...")
    '<figure class="picture"><figcaption>A dot</figcaption><img alt="A dot" src="data:image/png;base64,Li4u"></figure>'
    """
    caption, content = escape(title), b64encode(png).decode()
    return (
        f'<figure class="picture"><figcaption>{caption}</figcaption>'
        f'<img alt="{caption}" src="data:image/png;base64,{content}"></figure>'
    )


def table(columns: Iterable[Column | str], rows: Iterable[dict[str, Any]], *, swatches: bool = False) -> str:
    """Return a table that is sorted by a click on a column's head; swatches are the colours of `plots`, row by row."""
    known = [Column(c, c) if isinstance(c, str) else c for c in columns]
    rows = list(rows)
    best = {c.name: _best(c, [row.get(c.name) for row in rows]) for c in known}
    heads = "".join(
        f'<th scope="col" class="{c.kind}"><button type="button">{escape(c.title)}</button></th>' for c in known
    )
    prose = all(c.kind == "text" for c in known)  # which a narrow screen shows as a list
    lines = []
    for i, row in enumerate(rows):
        cells = []
        for j, c in enumerate(known):
            value = row.get(c.name)
            if isinstance(value, Shown):
                text, classes = escape(value.text), f"{c.kind} {value.mark}".rstrip()
                value = value.value
            else:
                text = _written(value, c.kind)
                classes = f"{c.kind} best" if value is not None and value == best[c.name] else c.kind
            series = f' data-series="{i}"' if swatches and j == 0 else ""
            series += f' data-title="{escape(c.title)}"' if prose else ""
            key = "" if value is None else escape(str(value))
            cells.append(f'<td class="{classes}" data-value="{key}"{series}>{text}</td>')
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="table"><table><thead><tr>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def bars(title: str, values: dict[str, dict[str, float]]) -> str:
    """Return a section of bars under names, each between 0 and 1.

    >>> bars("Importance", {"newton": {"age": 1.0}}).count("<meter")
    1
    """
    drawn = "".join(
        f"<div><h3>{escape(name)}</h3><dl>"
        + "".join(
            f'<dt>{escape(label)}</dt><dd><meter value="{value:.3f}"></meter>{value:.2f}</dd>'
            for label, value in each.items()
        )
        + "</dl></div>"
        for name, each in values.items()
    )
    return f'<section class="bars"><h2>{escape(title)}</h2><div>{drawn}</div></section>'


def details(title: str, folds: dict[str, dict[str, Any]]) -> str:
    """Return a section of folds, each of which opens to names and values."""
    opened = (
        f"<details><summary>{escape(name)}</summary><dl>{_pairs(values)}</dl></details>"
        for name, values in folds.items()
    )
    return f'<section><h2>{escape(title)}</h2><div class="folds">{"".join(opened)}</div></section>'


def _pairs(values: dict[str, Any]) -> str:
    return "".join(f"<div><dt>{escape(name)}</dt><dd>{_written(value)}</dd></div>" for name, value in values.items())


def _best(column: Column, values: list[Any]) -> Any:
    values = [value for value in values if value is not None]
    if not column.best or len(values) < 2:
        return None
    return max(values) if column.best == "high" else min(values)


def _written(value: Any, kind: str = "") -> str:
    """A value as one reads it, escaped.

    >>> _written(0.83123, "share"), _written(12345), _written(0.123456), _written("<b>"), _written(None)
    ('83.12 %', '12,345', '0.1235', '&lt;b&gt;', '–')
    """
    if value is None:
        return "–"
    if isinstance(value, list):
        return ", ".join(_written(item) for item in value)
    if kind == "share":
        return f"{100 * value:.2f} %"
    if kind == "count" or (isinstance(value, int) and not isinstance(value, bool)):
        return f"{value:,.0f}"
    if kind == "seconds":
        return f"{value:,.2f}"
    if kind == "number" and 1e-3 <= abs(value) < 1e4:
        return f"{value:.4f}"
    return f"{value:.4g}" if isinstance(value, float) else escape(str(value))
