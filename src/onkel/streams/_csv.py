"""Streams of CSV and TSV text: pyarrow reads what is right, Python finds the line and the column of what is not."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.streams._bytes import Bytes
from onkel.streams._columns import choose, not_numbers
from onkel.streams._stream import Chunk
from onkel.streams._text import TextStream
from onkel.streams.table import Table
from onkel.streams.values import MISSING
from onkel.streams.values import number_of as _number
from onkel.utils.extras import pyarrow
from onkel.utils.labels import as_labels
from onkel.utils.validation import check_flag

_EXACT = 2**53  # below it a double holds all whole numbers


class CsvStream(TextStream):
    """Rows of CSV or TSV text; blank lines are no rows.

    The first target that is not missing decides whether targets are numbers or text. Blanks around a field are no part
    of it. Fields must not hold line ends, and these are ``\\n`` or ``\\r\\n``.
    """

    def __init__(
        self,
        source: Bytes,
        *,
        target: object,
        columns: object,
        header: bool | None,
        delimiter: str,
        dtype: str,
        chunk_rows: int,
        on_error: str,
        drop: object = None,
        table: bool = False,
    ) -> None:
        self._arrow_csv = pyarrow("CSV text", "pyarrow.csv")
        if not isinstance(delimiter, str) or len(delimiter) != 1:  # type: ignore[redundant-expr]
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        super().__init__(source, chunk_rows=chunk_rows, on_error=on_error)
        self._delimiter = delimiter
        self._dtype = dtype
        self._table = table  # whether features are handed out as text, which whoever reads them makes something of
        first = self._fields(self._first_line())
        if header is None:
            header = not any(_number(field) is not None for field in first)
        check_flag("header", header)
        self._header = header
        self._n_fields = len(first)
        self._chosen = choose(
            self.name, first if header else range(1, len(first) + 1), target, columns, last=True, drop=drop
        )
        self.columns = self._chosen.feature_names if header or table else None
        self.n_features = len(self._chosen.features)
        self._skip_header()
        self._text_target = self._look_ahead()

    def _first_line(self) -> bytes:
        """The next line that is not blank, which it leaves where it is."""
        while self._fill():
            end = self._text.find(b"\n", self._used)
            line = self._text[self._used : end if end >= 0 else len(self._text)]
            if line.strip():
                return line
            self._used += len(line) + 1
            self._line += 1
        return b""

    def _skip_header(self) -> None:
        if self._header:
            self._used += len(self._first_line()) + 1
            self._line += 1

    def _fields(self, line: bytes) -> list[str]:
        text = line.decode("utf-8-sig", "backslashreplace").strip("\r\n")
        if "\r" in text:
            raise ValueError(
                f"{self._place()}: expected lines that end in \\n or \\r\\n, and there is a \\r within one"
            )
        reader = csv.reader([text + "\n", "\n"], delimiter=self._delimiter)
        try:
            fields = next(reader)
        except csv.Error as error:
            raise ValueError(f"{self._place()}: {error}") from None
        if reader.line_num > 1:
            raise ValueError(
                f"{self._place()}: expected a quote at the end of a field (fields must not hold line ends)"
            )
        return [field.strip() for field in fields]

    def _place(self) -> str:
        return f"{self.name}, line {self._line + 1}"

    def _look_ahead(self) -> bool:
        """Refuse features of text by the first row; say whether the target is text, by the first that there is.

        Rows that are wrong are reported when they are read.
        """
        self._first_line()
        goal = self._chosen.target
        text_target = False
        for n, line in enumerate(self._text[self._used :].split(b"\n", self.chunk_rows)):
            try:
                fields = self._fields(line)
            except ValueError:
                continue
            if len(fields) != self._n_fields:
                continue
            for i in self._chosen.features if n == 0 and not self._table else ():
                if _number(fields[i]) is None and fields[i].lower() not in MISSING:
                    raise not_numbers(self.name, i, self._chosen.names[i], f"text such as {fields[i]!r}")
            text_target = goal is not None and _number(fields[goal]) is None
            if goal is None or fields[goal].lower() not in MISSING:
                break
        return text_target

    def _next(self) -> Chunk | None:
        if self._line == 0:  # rewound
            self._skip_header()
        return super()._next()

    def _parse(self) -> tuple[Chunk | None, list[str]]:
        lines = self._lines()
        chunk = self._parse_at_once(self._text[self._used : self._used + lines[-1]])
        if chunk is not None:
            self._used, self._line = self._used + lines[-1], self._line + len(lines)
            return (None if chunk[0].shape[0] == 0 else chunk), []
        return self._parse_line_by_line(lines)

    def _lines(self) -> list[int]:
        """Where the next lines end, at most a chunk of them, counted from what was used."""
        ends = (
            np.flatnonzero(np.frombuffer(self._text, np.uint8, offset=self._used) == ord("\n"))[: self.chunk_rows] + 1
        )
        left = len(self._text) - self._used
        if self._last and len(ends) < self.chunk_rows and (len(ends) == 0 or ends[-1] < left):
            return [*ends.tolist(), left]
        return list(ends.tolist())

    def _parse_at_once(self, text: bytes, exact: bool = False) -> Chunk | None:
        """The chunk of lines that are all right, or None; `exact` reads whole targets to the last digit."""
        if not _has_plain_lines(text, self._delimiter):
            return None
        arrow, arrow_csv = pyarrow("CSV text"), self._arrow_csv
        names = [str(i) for i in range(self._n_fields)]
        goal = self._chosen.target
        wanted = [names[i] for i in self._chosen.features] + ([] if goal is None else [names[goal]])
        types = dict.fromkeys(wanted, arrow.string() if self._table else arrow.float64())
        if goal is not None:
            types[wanted[-1]] = arrow.string() if self._text_target or exact else arrow.float64()
        try:
            table = arrow_csv.read_csv(
                arrow.BufferReader(text),
                read_options=arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
                parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter),
                convert_options=arrow_csv.ConvertOptions(column_types=types, include_columns=wanted),
            )
        except arrow.ArrowInvalid:
            return None
        n_features = len(self._chosen.features)
        X: Any = None
        if self._table:
            X = self._as_table([column.to_numpy() for column in table.columns[:n_features]])
        else:
            X = np.empty((table.num_rows, n_features), self._dtype)
            with np.errstate(over="ignore"):
                for i, column in enumerate(table.columns[:n_features]):
                    X[:, i] = column.to_numpy()
            if not np.isfinite(X).all():
                return None
        if goal is None:
            return X, None
        targets = table.column(n_features).to_numpy()
        if targets.dtype.kind == "f":
            if not np.isfinite(targets).all():
                return None
            return self._parse_at_once(text, exact=True) if (np.abs(targets) >= _EXACT).any() else (X, targets)
        stripped = [str(target).strip() for target in targets]
        if not all(stripped):
            return None
        return X, self._targets(stripped if self._text_target else [_target(target) for target in stripped])

    def _as_table(self, columns: list[NDArray[Any]]) -> Table:
        return Table(tuple(self._chosen.feature_names), tuple(columns), typed=False)

    def _targets(self, values: list[Any]) -> NDArray[Any]:
        try:
            return as_labels(values)
        except ValueError as error:
            raise ValueError(f"{self.name}, before line {self._line + 1}: {error}") from None

    def _parse_line_by_line(self, ends: list[int]) -> tuple[Chunk | None, list[str]]:
        """The rows of lines that are not all right, and what is wrong with those that are not."""
        rows: list[list[Any]] = []
        goals: list[Any] = []
        problems: list[str] = []
        begin, text = 0, self._text[self._used : self._used + ends[-1]]
        for end in ends:
            line, begin = text[begin:end], end
            if line.strip():
                try:
                    row, goal = self._row(self._fields(line))
                    rows.append(row)
                    goals.append(goal)
                except ValueError as problem:
                    problems.append(str(problem))
                    if self.on_error == "raise":
                        break
            self._used += len(line)
            self._line += 1
        if not rows:
            return None, problems
        if self._table:
            X: Any = self._as_table([np.array(column, object) for column in zip(*rows, strict=True)])
        else:
            X = np.asarray(rows, self._dtype)
        return (X, None if self._chosen.target is None else self._targets(goals)), problems

    def _can_hold(self, value: float) -> bool:
        with np.errstate(over="ignore"):
            return math.isfinite(np.dtype(self._dtype).type(value))

    def _row(self, fields: list[str]) -> tuple[list[Any], Any]:
        place = self._place()
        if len(fields) != self._n_fields:
            raise ValueError(f"{place}: expected {self._n_fields} fields, got {len(fields)}")
        row: list[Any] = [fields[i] for i in self._chosen.features] if self._table else []
        for i in () if self._table else self._chosen.features:
            value = _number(fields[i])
            if value is None or not self._can_hold(value):
                raise ValueError(f"{place}, {self._column(i)}: expected a finite number, got {fields[i]!r}")
            row.append(value)
        goal = self._chosen.target
        if goal is None:
            return row, None
        if self._text_target:
            if not fields[goal]:
                raise ValueError(f"{place}, {self._column(goal)}: expected a target, got ''")
            return row, fields[goal]
        target = _target(fields[goal])
        if target is None or not math.isfinite(target):
            raise ValueError(f"{place}, {self._column(goal)}: expected a number as target, got {fields[goal]!r}")
        return row, target

    def _column(self, i: int) -> str:
        return f"column {i + 1}" + (f" ({self._chosen.names[i]!r})" if self._header else "")


def _has_plain_lines(text: bytes, delimiter: str) -> bool:
    """Whether lines end in \\n or \\r\\n alone, and no field holds a line's end."""
    if text.count(b"\r") > text.count(b"\r\n") + text.endswith(b"\r"):
        return False
    if b'"' not in text:
        return True
    reader = csv.reader(io.StringIO(text.decode("utf-8", "replace")), delimiter=delimiter, strict=True)
    try:
        return sum(1 for _ in reader) == reader.line_num
    except csv.Error:
        return False


def _target(text: str) -> float | int | None:
    """A target's number, an integer where no double holds it."""
    value = _number(text)
    if value is None or not abs(value) >= _EXACT or not text.lstrip("+-").isdecimal():
        return value
    whole = int(text)
    return whole if math.isinf(value) or whole != value else value
