"""The columns of a table in C99: a struct for a row, and a function that encodes it as `StreamEncoder` does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from onkel.preprocess.column_kinds import DAY, HOURS, MONTHS, WEEKDAYS, YEAR, EncodedColumn

if TYPE_CHECKING:
    from onkel.models.export.c import _Header

_KEYWORDS = (
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while"
)


def identifiers(names: Sequence[str]) -> list[str]:
    """Return distinct C identifiers for the names of columns.

    >>> identifiers(["town", "Größe in m", "Gr__e in m", "1st", "int"])
    ['town', 'Gr__e_in_m', 'Gr__e_in_m_2', 'column_1st', 'int_']
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        plain = plain if re.match(r"[A-Za-z]", plain) else f"column_{plain}"
        plain += "_" * (plain in _KEYWORDS.split())
        number = 1
        while (candidate := plain if number == 1 else f"{plain}_{number}") in found:
            number += 1
        found.append(candidate)
    return found


class HeaderColumns:
    """The lines of a header for the columns of a table."""

    def __init__(self, header: _Header, columns: tuple[EncodedColumn, ...]) -> None:
        self.header, self.p, self.columns = header, header.p, columns
        self.names = identifiers([column.name for column in columns])
        self.has_dates = any(column.kind == "date" for column in columns)
        self.has_words = any(column.kind == "category" for column in columns)

    def includes(self) -> list[str]:
        """What the header needs besides <math.h>."""
        return ["#include <limits.h>"] * self.has_dates + ["#include <string.h>"] * self.has_words

    def lines(self) -> list[str]:
        """The struct, the codes of words and the function that encodes a row."""
        named = list(zip(self.columns, self.names, strict=True))
        fields = [self._field(column, name) for column, name in named]
        lines = ["/* A row of the table. */", "typedef struct {", *fields, f"}} {self.p}_row;", ""]
        for column, name in named:
            lines += self._codes(column, name) if column.kind == "category" else []
        lines += self._date_function() if self.has_dates else []
        lines += [
            "/* The numbers that the functions below take, of a row of the table. */",
            f"static inline void {self.p}_encode(const {self.p}_row *row, {self.header.real} *x) {{",
            "  int i;",
            f"  for (i = 0; i < {self.header.model.n_features}; ++i) x[i] = 0;",
        ]
        makers = {"number": self._number, "boolean": self._boolean, "date": self._date, "category": self._category}
        start = 0
        for column, name in named:
            present, assignment, gap = makers[column.kind](column, f"row->{name}", start)
            start += column.places
            indicator = [f"x[{start}] = 1;"] if column.indicator else []
            start += column.indicator
            lines.append(f"  if ({present}) {assignment}")
            otherwise = [*([gap] if gap else []), *indicator]
            lines += [f"  else {{ {' '.join(otherwise)} }}"] if otherwise else []
        return [*lines, "}", ""]

    def _field(self, column: EncodedColumn, name: str) -> str:
        kind, meaning = {
            "number": (self.header.real, "NAN is a gap"),
            "boolean": ("int", "0 or 1; -1 is a gap"),
            "date": ("long long", "microseconds since 1970 (UTC); LLONG_MIN is a gap"),
            "category": ("int", f"{self.p}_code_{name}(text), or a place in {self.p}_words_{name}; -1 is a gap"),
        }[column.kind]
        return f"  {kind} {name}; /* {meaning} */"

    def _codes(self, column: EncodedColumn, name: str) -> list[str]:
        """The words of a category, and the function that finds the code of one."""
        from onkel.models.export.c import quoted

        p, n = self.p, len(column.all_words)
        words = ", ".join([*map(quoted, column.all_words), "0"])
        targets = [column.targets.get(word, (0.0,) * column.n_targets) for word in column.all_words]
        return [
            *([self.header.array(f"targets_{name}", np.array(targets))] if column.targets else []),
            f"static const char *const {p}_words_{name}[{n + 1}] = {{{words}}};",
            f"static inline int {p}_code_{name}(const char *text) {{",
            "  int i = 0;",
            "  if (!text) return -1;",
            f"  while (i < {n} && strcmp(text, {p}_words_{name}[i])) ++i;",
            "  return i;",
            "}",
            "",
        ]

    # -- each kind: when there is a value, what becomes of it, and what becomes of a gap

    def _number(self, column: EncodedColumn, field: str, start: int) -> tuple[str, str, str]:
        number = self.header.number
        scaled = f"({field} - {number(column.shift)}) * {number(column.factor)}"
        rest = (float(self.header.rounded(column.shift)) - column.shift) * column.factor
        return f"!isnan({field})", f"x[{start}] = {scaled}{f' + {number(rest)}' if rest else ''};", ""

    def _boolean(self, column: EncodedColumn, field: str, start: int) -> tuple[str, str, str]:
        gap = f"x[{start}] = {self.header.number(column.gap)};"
        return f"{field} >= 0", f"x[{start}] = {field} != 0;", gap

    def _category(self, column: EncodedColumn, field: str, start: int) -> tuple[str, str, str]:
        others, n = column.places - 1, len(column.all_words)
        own = f"x[{start} + ({field} < {len(column.words)} ? {field} : {others})] = 1;"
        if not column.targets:
            return f"{field} >= 0", own, ""
        first, table = start + others - column.n_targets, f"{self.p}_targets_{field.removeprefix('row->')}"
        numbers = f"for (i = 0; i < {column.n_targets} && {field} < {n}; ++i) x[{first} + i] = {table}[{field}][i];"
        return f"{field} >= 0", f"{{ {own} {numbers} }}", ""

    def _date(self, column: EncodedColumn, field: str, start: int) -> tuple[str, str, str]:
        origin = field if column.origin is None else _whole(column.origin)
        return f"{field} != LLONG_MIN", f"{self.p}_date({field}, {origin}, x + {start});", ""

    def _date_function(self) -> list[str]:
        """Month, weekday and hour on their circles, and the years since the first date.

        A month is found in years that begin in March, in cycles of 146,097 days.
        """
        header, p = self.header, self.p
        tables = [
            header.array(name, table) for name, table in (("months", MONTHS), ("weekdays", WEEKDAYS), ("hours", HOURS))
        ]
        return [
            *tables,
            f"static inline void {p}_date(long long time, long long origin, {header.real} *x) {{",
            f"  const long long within = (time % {DAY}LL + {DAY}LL) % {DAY}LL, day = (time - within) / {DAY}LL;",
            "  const int cycle = (int)(((day + 719468) % 146097 + 146097) % 146097);",
            "  const int year = (cycle - cycle / 1460 + cycle / 36524 - cycle / 146096) / 365;",
            "  const int month = ((5 * (cycle - 365 * year - year / 4 + year / 100) + 2) / 153 + 2) % 12;",
            "  const int weekday = (int)(((day + 3) % 7 + 7) % 7);",
            f"  const int hour = (int)(within / {DAY // 24}LL);",
            f"  x[0] = {p}_months[month][0];",
            f"  x[1] = {p}_months[month][1];",
            f"  x[2] = {p}_weekdays[weekday][0];",
            f"  x[3] = {p}_weekdays[weekday][1];",
            f"  x[4] = {p}_hours[hour][0];",
            f"  x[5] = {p}_hours[hour][1];",
            f"  x[6] = ({header.real})(time - origin) * {header.number(1 / YEAR)};",
            "}",
            "",
        ]


def _whole(value: int) -> str:
    return f"{value}LL" if value >= 0 else f"({value}LL)"
