"""What the commands print: tables and JSON on standard output, progress on standard error if it is a terminal."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter as Counts
from collections.abc import Iterable
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from onkel.cli._guard import say

_GUESSING = 1.05  # times the balanced accuracy of guessing
_CHANCE = 0.6  # an area under the ROC curve above which rows are told apart, wherever the threshold is
_ENOUGH_ROWS = 100  # for a warning
_MANY_POINTS = 2000
_GAP = 2  # blanks between columns
METRICS = ("accuracy", "auc", "log_loss", "rmse", "mae")  # columns of a curve that measure quality
_SHARES = ("accuracy", "recent_accuracy", "balanced_accuracy", "commonest")
_BETTER_HIGH = ("accuracy", "balanced_accuracy", "auc", "r2")

TITLES = {
    "rows": "rows",
    "accuracy": "accuracy",
    "recent_accuracy": "recent accuracy",
    "recent_rmse": "recent RMSE",
    "balanced_accuracy": "balanced accuracy",
    "commonest": "majority class",
    "auc": "AUC",
    "log_loss": "log loss",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "pinball": "pinball loss",
    "nll": "negative log-likelihood",
    "crps": "CRPS",
    "covered": "covered",
    "width": "interval width",
    "n_support": "support vectors",
    "norm": "norm",
    "seconds": "seconds",
    "speed": "rows/s",
}


def cell(column: str, value: object) -> str:
    """Return a value as text.

    >>> cell("accuracy", 0.8312), cell("rows", 12345), cell("auc", 0.91234), cell("rmse", None)
    ('83.12 %', '12,345', '0.9123', '–')
    """
    if value is None:
        return "–"
    if column in _SHARES:
        return f"{value:.2%}".replace("%", " %")
    if column == "speed" or isinstance(value, int):
        return f"{value:,.0f}"
    if column == "seconds":
        return f"{value:,.2f}"
    return f"{value:.4f}" if isinstance(value, float) else str(value)


def how_good(point: Any, first: str | None = None) -> str:
    """Return the final metrics of a run as text, the requested metric first.

    >>> from onkel.evaluate import Point
    >>> how_good(Point(rows=9, seconds=1, n_support=3, rmse=0.5, mae=0.25, r2=0.75))
    'RMSE 0.5000, MAE 0.2500, R² 0.7500'
    """
    names = ["accuracy", "balanced_accuracy", "auc", "log_loss", "rmse", "mae", "r2"]
    names.sort(key=lambda name: name != first)
    values = {name: getattr(point, name) for name in names if getattr(point, name) is not None}
    cells = {name: f"{TITLES[name]} {cell(name, value)}" for name, value in values.items()}
    if point.commonest is not None and "accuracy" in cells:
        cells["accuracy"] += f" (majority class {cell('commonest', point.commonest)})"
    return ", ".join(cells.values())


def followed(curve: Any) -> list[str]:
    """Return how a learner has adapted to its stream: the length of its memory, and when it chose again.

    >>> from onkel.evaluate import Curve
    >>> import numpy as np
    >>> course = {"memory_rows": np.array([50, 100, 150, 200]), "memory": np.array([50, 10, 10, 10])}
    >>> followed(Curve("Newton", (), course | {"changes": np.array([8192, 16384])}))
    ['memory: 10 rows for 75 % of the stream, all rows for 25 %', 'chosen again after rows 8,192 and 16,384']
    """
    lines = []
    if len(rows := curve.course.get("memory_rows", ())):
        kinds = Counts("all" if m == r else f"{m:,.0f}" for m, r in zip(curve.course["memory"], rows, strict=True))
        (first, n), *others = kinds.most_common()
        shares = [f"{first} rows for {n / len(rows):.0%} of the stream"]
        shares += [f"{name} rows for {n / len(rows):.0%}" for name, n in others]
        lines.append("memory: " + ", ".join(shares).replace("%", " %"))
    if len(changes := curve.course.get("changes", ())):
        numbers = [f"{row:,}" for row in changes[-10:]]
        listed = " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))
        lines.append(f"chosen again after row{'s' * (len(numbers) > 1)} {listed}")
    return lines


def warnings_of(point: Any, learner: Any) -> list[str]:
    """Return warnings about a run: a model no better than guessing, support vectors without a bound."""
    found = []
    guessing = point.r2 is not None and point.r2 <= 0
    if point.accuracy is not None and point.commonest is not None and point.balanced_accuracy is not None:
        n_classes = len(learner.classes_)
        guessing = point.accuracy <= point.commonest and point.balanced_accuracy <= _GUESSING / n_classes
        guessing = guessing and (point.auc is None or point.auc <= _CHANCE)
    if guessing and point.rows >= _ENOUGH_ROWS:
        found.append(f"this is no better than guessing the {'mean' if point.rmse is not None else 'majority class'}")
    if learner.budget is None and learner.n_support_ > _MANY_POINTS:
        found.append(f"{learner.n_support_:,} support vectors without a bound: they grow with the rows; use --budget")
    return found


def warnings_of_columns(model: object) -> list[str]:
    """Return warnings about the columns of a table: strays, and categories with more values than places."""
    from onkel.inside import inside
    from onkel.preprocess.encoder import StreamEncoder

    encoder = next(iter(inside(model).transformers), None)
    if not isinstance(encoder, StreamEncoder):
        return []
    most = encoder.max_categories
    crowded = [repr(name) for name, words in encoder.categories_.items() if len(words) == most]
    notes = list(encoder.worth_telling().values())
    if not crowded:
        return notes
    return [
        *notes,
        f"{_listed(crowded)} {'holds' if len(crowded) == 1 else 'hold'} {most} different values or more, of which the "
        f"first {most} have columns of their own, and the others their mean target; --drop what only names rows",
    ]


def _listed(names: list[str]) -> str:
    return ("column " if len(names) == 1 else "columns ") + ", ".join(names)


def as_line(point: Any) -> dict[str, Any]:
    """Return the values that a point has, with the speed, as a line of a table."""
    values = {name: value for name, value in vars(point).items() if value is not None}
    return {**values, "speed": point.speed}


def print_json(value: object) -> None:
    """Print a document."""
    print(json.dumps(value, indent=2))


def print_table(columns: Iterable[str], rows: Iterable[dict[str, Any]], best: str | None = None) -> None:
    """Print a table; the row with the best value of a column stands out where there are colours.

    Heads are broken between words where the terminal is narrow. Where even that is too wide, each row is printed as
    lines of one value each.
    """
    names, lines = list(columns), list(rows)
    edge = sys.stdout.isatty() or "COLUMNS" in os.environ  # a file or a pipe has no width
    console = Console(highlight=False, width=None if edge else 200)
    if sum(_least_widths(names, lines)) + _GAP * (len(names) - 1) <= console.width:
        console.print(table(names, lines, best))
        return
    for n, line in enumerate(lines):
        if n:
            print()
        print_facts({TITLES.get(name, name): cell(name, line.get(name)) for name in names})


def bar(share: float, width: int = 30) -> str:
    """Return a number between 0 and 1 as a bar.

    >>> bar(0.5, width=4)
    '██   0.500'
    """
    eighths = round(8 * width * share)
    drawn = "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
    return f"{drawn:<{width}} {share:.3f}"


def print_facts(facts: dict[str, str]) -> None:
    """Print names and values in two columns, one pair per line."""
    width = max(map(len, facts))
    for name, value in facts.items():
        print(f"{name:<{width}}  {value}")


def table(columns: list[str], rows: list[dict[str, Any]], best: str | None = None) -> Table:
    """Return a table of values, with numbers aligned to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    for column, width in zip(columns, _least_widths(columns, rows), strict=True):
        justify: Any = "left" if _is_text(rows, column) else "right"
        table.add_column(TITLES.get(column, column), justify=justify, min_width=width)
    winner = _winner(rows, best)
    for row in rows:
        table.add_row(
            *(Text(cell(column, row.get(column))) for column in columns), style="bold green" if row is winner else ""
        )
    return table


def _least_widths(columns: list[str], rows: list[dict[str, Any]]) -> list[int]:
    """The widths that columns need for their values, and for the longest words of their headings."""
    return [
        max(map(len, [*TITLES.get(column, column).split(), *(cell(column, row.get(column)) for row in rows)]))
        for column in columns
    ]


def _is_text(rows: list[dict[str, Any]], column: str) -> bool:
    return any(isinstance(row.get(column), str) for row in rows)


def _winner(rows: list[dict[str, Any]], best: str | None) -> dict[str, Any] | None:
    if best is None or len(rows) < 2 or any(row.get(best) is None for row in rows):
        return None
    sign = 1 if best in _BETTER_HIGH else -1
    return max(rows, key=lambda row: sign * row[best])


class _LiveView:
    """An area on standard error that is redrawn; silent if that is not a terminal."""

    def __init__(self, quiet: bool) -> None:
        console = Console(stderr=True, highlight=False)
        self._live = None
        if console.is_terminal and sys.stderr is not None and not quiet:
            self._live = Live(console=console, transient=True, refresh_per_second=8)

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: Any) -> None:
        if self._live:
            self._live.stop()


class StreamView(_LiveView):
    """Progress of a stream, and of its learners; where there is no terminal, a line now and then."""

    EVERY = 60.0  # seconds between two such lines

    def __init__(self, title: str, quiet: bool = False) -> None:
        super().__init__(quiet)
        self._title = title
        self._quiet = quiet
        self._shown_at = time.monotonic()
        self._start: float | None = None
        self._first: float | None = None  # the fraction read at the start: a run may resume from a checkpoint

    def show(self, rows: int, fraction: float | None, columns: list[str], lines: list[dict[str, Any]]) -> None:
        """Show the progress of the stream and of the learners."""
        if self._quiet:
            return
        now = time.monotonic()
        if self._start is None:
            self._first, self._start = fraction, now
        took, time_left = now - self._start, None
        if fraction is not None and self._first is not None and fraction > self._first:
            time_left = f"{clock(took * (1 - fraction) / (fraction - self._first))} left"
        if self._live is None:
            if now - self._shown_at >= self.EVERY:
                self._shown_at = now
                values = [f"{TITLES[name]} {cell(name, lines[0].get(name))}" for name in columns if len(lines) == 1]
                read = [] if time_left is None else [f"{fraction:.0%} of the stream".replace("%", " %"), time_left]
                say(", ".join([f"{rows:,} rows", *read, *values]))
            return
        status = Table.grid(padding=(0, 2))
        words = [Text(self._title, style="bold"), Text(f"{rows:,} rows")]
        if time_left is not None:
            status.add_row(*words, ProgressBar(total=1.0, completed=fraction or 0.0, width=30), Text(time_left))
        else:
            status.add_row(*words, Text(f"{clock(took)} so far"))
        self._live.update(Group(status, table(columns, lines)))


class Counter(_LiveView):
    """How many tasks are done."""

    def __init__(self, quiet: bool = False, unit: str = "cells") -> None:
        super().__init__(quiet)
        self._start = time.monotonic()
        self._unit = unit
        self.title = ""

    def show(self, done: int, known: int, name: str) -> None:
        """Show how many tasks are done, of those known so far, and which was the last."""
        if self._live:
            took = clock(time.monotonic() - self._start)
            words = (Text(self.title, style="bold"), Text(f"{done:,} of {known:,} {self._unit}, {took}"), Text(name))
            line = Table.grid(padding=(0, 2))
            line.add_row(*words)
            self._live.update(line)


def clock(seconds: float) -> str:
    """Return a duration as text.

    >>> clock(5), clock(75), clock(7384)
    ('5 s', '1:15 min', '2:03 h')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d} min"
    return f"{minutes // 60}:{minutes % 60:02d} h"
