"""Streams of CSV and TSV text: pyarrow reads what is right, Python finds the line and the column of what is not."""

from __future__ import annotations

import csv
import math
from typing import Any

import numpy as np

from onkel.streams._bytes import Bytes
from onkel.streams._columns import choose, labels, not_numbers
from onkel.streams._stream import Chunk
from onkel.streams._text import TextStream
from onkel.utils.extras import pyarrow
from onkel.utils.validation import check_flag

MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}  # in small letters


class CsvStream(TextStream):
    """Rows of CSV or TSV text; blank lines are no rows.

    The first row decides whether the target is a number or text. Fields must not hold line ends.
    """

    def __init__(
        self,
        source: Bytes,
        *,
        target: Any,
        columns: Any,
        header: bool | None,
        delimiter: str,
        dtype: str,
        chunk_rows: int,
        on_error: str,
    ) -> None:
        self._arrow_csv = pyarrow("CSV text", "pyarrow.csv")
        if not isinstance(delimiter, str) or len(delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        super().__init__(source, chunk_rows=chunk_rows, on_error=on_error)
        self._delimiter = delimiter
        self._dtype = dtype
        first = self._fields(self._first_line())
        if header is None:
            header = not any(_number(field) is not None for field in first)
        check_flag("header", header)
        self._header = header
        self._n_fields = len(first)
        self._chosen = choose(self.name, first if header else range(1, len(first) + 1), target, columns, last=True)
        self.columns = self._chosen.feature_names if header else None
        self.n_features = len(self._chosen.features)
        self._skip_header()
        self._text_target = self._look_at(self._fields(self._first_line()))

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
        return [field.strip() for field in next(csv.reader([text], delimiter=self._delimiter), [])]

    def _look_at(self, first: list[str]) -> bool:
        """Refuse features of text by the first row; say whether the target is text."""
        if len(first) != self._n_fields:
            return False  # no row, or a wrong one, which will be complained of when it is read
        for i in self._chosen.features:
            if _number(first[i]) is None and first[i].lower() not in MISSING:
                raise not_numbers(self.name, i, self._chosen.names[i], f"text such as {first[i]!r}")
        goal = self._chosen.target
        return goal is not None and _number(first[goal]) is None

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

    def _parse_at_once(self, text: bytes) -> Chunk | None:
        """The chunk of lines that are all right, or None."""
        arrow, arrow_csv = pyarrow("CSV text"), self._arrow_csv
        names = [str(i) for i in range(self._n_fields)]
        goal = self._chosen.target
        wanted = [names[i] for i in self._chosen.features] + ([] if goal is None else [names[goal]])
        types = dict.fromkeys(wanted, arrow.float64())
        if self._text_target:
            types[wanted[-1]] = arrow.string()
        try:
            table = arrow_csv.read_csv(
                arrow.BufferReader(text),
                read_options=arrow_csv.ReadOptions(use_threads=False, column_names=names, block_size=len(text) + 1),
                parse_options=arrow_csv.ParseOptions(delimiter=self._delimiter),
                convert_options=arrow_csv.ConvertOptions(column_types=types, include_columns=wanted),
            )
        except arrow.ArrowInvalid:
            return None
        X = np.empty((table.num_rows, len(self._chosen.features)), self._dtype)
        with np.errstate(over="ignore"):
            for i, column in enumerate(table.columns[: X.shape[1]]):
                X[:, i] = column.to_numpy()
        y = None if goal is None else labels(table.column(X.shape[1]).to_numpy())
        if not np.isfinite(X).all() or (y is not None and y.dtype.kind == "f" and not np.isfinite(y).all()):
            return None
        return X, y

    def _parse_line_by_line(self, ends: list[int]) -> tuple[Chunk | None, list[str]]:
        """The rows of lines that are not all right, and what is wrong with those that are not."""
        rows: list[list[float]] = []
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
        return (np.asarray(rows, self._dtype), None if self._chosen.target is None else labels(goals)), problems

    def _can_hold(self, value: float) -> bool:
        with np.errstate(over="ignore"):
            return math.isfinite(np.dtype(self._dtype).type(value))

    def _row(self, fields: list[str]) -> tuple[list[float], Any]:
        place = f"{self.name}, line {self._line + 1}"
        if len(fields) != self._n_fields:
            raise ValueError(f"{place}: expected {self._n_fields} fields, got {len(fields)}")
        row = []
        for i in self._chosen.features:
            value = _number(fields[i])
            if value is None or not self._can_hold(value):
                column = f"column {i + 1}" + (f" ({self._chosen.names[i]!r})" if self._header else "")
                raise ValueError(f"{place}, {column}: expected a finite number, got {fields[i]!r}")
            row.append(value)
        goal = self._chosen.target
        if goal is None or self._text_target:
            return row, None if goal is None else fields[goal]
        value = _number(fields[goal])
        if value is None or not math.isfinite(value):
            raise ValueError(f"{place}, column {goal + 1}: expected a number as target, got {fields[goal]!r}")
        return row, value


def _number(text: str) -> float | None:
    """A field's number; None where there is none."""
    if "_" in text:  # a number for Python, and nowhere else
        return None
    try:
        return float(text)
    except ValueError:
        return None
