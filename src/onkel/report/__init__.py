"""Reports as one HTML file each: no network, no other files, readable on a phone, in light and in dark.

A page is made of parts (`section`, `facts`, `plots`, `table`, ...), each a piece of HTML; `comparison` puts them
together for ``onkel compare --report``.

>>> html = page("Two numbers", facts({"rows": 3}), table(["x"], [{"x": 1.0}, {"x": 2.0}]))
>>> html.startswith("<!doctype html>"), "src=" in html
(True, False)
"""

from onkel.report._comparison import comparison
from onkel.report._parts import (
    Column,
    Shown,
    View,
    bars,
    contents,
    details,
    facts,
    page,
    picture,
    plots,
    section,
    table,
)

__all__ = [
    "Column",
    "Shown",
    "View",
    "bars",
    "comparison",
    "contents",
    "details",
    "facts",
    "page",
    "picture",
    "plots",
    "section",
    "table",
]
