"""Tables in memory: columns with names and types, of any library, as the encoder reads them."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.utils.labels import is_missing

MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}  # in small letters: text that stands for no value
BOOLEANS = {"true": True, "false": False}
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, eq=False)
class Table:
    """Some rows of a table.

    A column is an array of float64 (NaN where a value is missing), of bool, of datetime64[us] (NaT), or of objects:
    text, None where it is missing, or a mixture of whatever values Python has.

    Parameters
    ----------
    names : tuple of str
    columns : tuple of ndarray
    typed : bool, default=True
        False where all that is known is text, as in CSV: whether it stands for numbers, dates or categories, or for
        nothing at all ("NA", "?"), is then for the reader to say.

    Examples
    --------
    >>> from onkel.streams.table import Table
    >>> table = Table.of({"age": [31, 44], "town": ["Bern", None]})
    >>> table.shape, table[1:].columns[0]
    ((2, 2), array([44.]))
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    typed: bool = True

    def __post_init__(self) -> None:
        twice = next((name for name in self.names if self.names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"the table has {self.names.count(twice)} columns called {twice!r}: rename all but one")

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return (len(self.columns[0]) if self.columns else 0), len(self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Table:
        """Return some of the rows: a slice, or an array of their numbers or of booleans."""
        return Table(self.names, tuple(column[rows] for column in self.columns), self.typed)

    def of_names(self, names: Sequence[str]) -> Table:
        """Return the columns of these names, in their order; refuse a table that lacks one or has another."""
        if list(names) == list(self.names):
            return self
        lacking = next((name for name in names if name not in self.names), None)
        known = _listed(names)
        if lacking is not None:
            raise ValueError(f"X has no column {lacking!r}; the columns so far are {known}")
        strange = next((name for name in self.names if name not in names), None)
        if strange is not None:
            raise ValueError(f"X has a column {strange!r}, which earlier rows did not have; the columns are {known}")
        return Table(tuple(names), tuple(self.columns[self.names.index(name)] for name in names), self.typed)

    def column(self, name: str) -> NDArray[Any]:
        """Return the column of a name."""
        return self.columns[self.names.index(name)]

    def without(self, names: Sequence[str]) -> Table:
        """Return all columns but these."""
        kept = [i for i, name in enumerate(self.names) if name not in names]
        return Table(tuple(self.names[i] for i in kept), tuple(self.columns[i] for i in kept), self.typed)

    def numbers(self, dtype: str = "float64") -> NDArray[Any]:
        """Return all columns as one matrix, or refuse the first value that is missing or no number."""
        array = np.empty(self.shape, dtype)
        for i, (name, column) in enumerate(zip(self.names, self.columns, strict=True)):
            for row, value in enumerate(column.tolist()):
                number = value_as("number", value, not self.typed)
                if number is None:
                    raise ValueError(
                        f"X contains {value!r} at row {row}, column {i} ({name!r}); expected a finite number"
                    )
                array[row, i] = number
        return array

    @staticmethod
    def joined(parts: Sequence[Table]) -> Table:
        """Put rows of tables with the same names behind one another."""
        columns = [[part.columns[i] for part in parts] for i in range(len(parts[0].names))]
        return Table(parts[0].names, tuple(map(_concatenated, columns)), parts[0].typed)

    @classmethod
    def of(cls, X: Any) -> Table:
        """Return what pandas, polars, Arrow, a dict of columns, a list of dicts or an array holds as a table.

        Examples
        --------
        >>> Table.of([{"a": 1, "b": "x"}, {"a": 2}]).columns[1]
        array(['x', None], dtype=object)
        """
        if isinstance(X, Table):
            return X
        if isinstance(X, Mapping):
            return cls._of_columns({str(name): values for name, values in X.items()}, len(X))
        if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
            return cls(_names(X.columns), tuple(_of_pandas(X.iloc[:, i]) for i in range(X.shape[1])))
        if hasattr(X, "to_series") and hasattr(X, "columns"):  # polars
            return cls(_names(X.columns), tuple(_of_arrow(X.to_series(i).to_arrow()) for i in range(X.shape[1])))
        if hasattr(X, "schema") and hasattr(X, "num_rows"):  # a table or a record batch of Arrow
            return cls(_names(X.schema.names), tuple(_of_arrow(X.column(i)) for i in range(X.num_columns)))
        if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
            names = list(dict.fromkeys(str(name) for row in X for name in row))
            records = [{str(name): value for name, value in row.items()} for row in X]
            return cls._of_columns({name: [row.get(name) for row in records] for name in names}, len(names))
        rows = np.asarray(X)
        if rows.ndim != 2:
            raise ValueError(f"expected a table (a data frame, a dict of columns, a matrix), got {type(X).__name__}")
        return cls(tuple(map(str, range(rows.shape[1]))), tuple(_of_values(rows[:, i]) for i in range(rows.shape[1])))

    @classmethod
    def _of_columns(cls, columns: dict[str, Any], n_names: int) -> Table:
        if len(columns) != n_names:
            raise ValueError("some columns have the same name: rename all but one")
        arrays = tuple(_of_values(values) for values in columns.values())
        if len({len(column) for column in arrays}) > 1:
            lengths = ", ".join(f"{name!r} {len(column)}" for name, column in zip(columns, arrays, strict=True))
            raise ValueError(f"the columns of a table must have the same number of rows, got {lengths}")
        return cls(tuple(columns), arrays)


def _names(names: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(name) for name in names)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")


def _concatenated(parts: list[NDArray[Any]]) -> NDArray[Any]:
    kinds = {part.dtype.kind for part in parts}
    return np.concatenate(parts if len(kinds) == 1 else [part.astype(object) for part in parts])


def _of_values(values: Any) -> NDArray[Any]:
    """A column of an array, or of whatever Python has."""
    array = values if isinstance(values, np.ndarray) else np.empty(len(values), object)
    if array is not values:
        array[:] = list(values)
    if array.ndim != 1:
        raise ValueError(f"a column of a table must be a vector, got shape {array.shape}")
    kind = array.dtype.kind
    if kind in "fiu":
        return array.astype(np.float64)
    if kind == "b":
        return array
    if kind == "M":
        return array.astype("datetime64[us]")
    if kind in "USOT":
        return _settled(array.astype(object))
    raise ValueError(f"a column of a table must be numbers, booleans, dates or text, got {array.dtype}")


def _settled(values: NDArray[Any]) -> NDArray[Any]:
    """Objects as an array of one type where they are of one: numbers, booleans or dates, some perhaps missing."""
    kinds = {kind_of_value(value, parse=False) for value in values.tolist()} - {None}
    if kinds == {"number"}:
        return np.array([np.nan if is_missing(value) else float(value) for value in values.tolist()])
    if kinds == {"boolean"} and not any(is_missing(value) for value in values.tolist()):
        return values.astype(bool)
    return values


def _of_pandas(series: Any) -> NDArray[Any]:
    kind = getattr(series.dtype, "kind", "O")
    if kind in "fiu":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "b" and not series.isna().any():
        return np.asarray(series.to_numpy(dtype=bool))
    if kind == "M":
        zone = getattr(series.dtype, "tz", None)
        plain = series if zone is None else series.dt.tz_convert("UTC").dt.tz_localize(None)
        return np.asarray(plain.to_numpy(dtype="datetime64[us]"))
    values = series.astype(object)
    return np.asarray(values.where(values.notna(), None).to_numpy(dtype=object))


def _of_arrow(column: Any) -> NDArray[Any]:
    kind = str(column.type)
    if kind.startswith("dictionary"):
        column = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
        kind = str(column.type)
    if kind.startswith(("int", "uint", "float", "double", "halffloat", "decimal")):
        return np.asarray(column.cast("float64").to_numpy(zero_copy_only=False), np.float64)
    if kind == "bool" and column.null_count == 0:
        return np.asarray(column.to_numpy(zero_copy_only=False), bool)
    if kind.startswith(("timestamp", "date")):
        return np.array([_microseconds(value) for value in column.to_pylist()], "datetime64[us]")
    if kind == "null":
        return np.full(len(column), np.nan)
    return np.array(column.to_pylist() or [], object)


def _microseconds(value: Any) -> np.datetime64:
    if value is None:
        return np.datetime64("NaT", "us")
    return np.datetime64((as_naive(value) - _EPOCH) // _MICROSECOND, "us")


def as_naive(value: dt.date) -> dt.datetime:
    """Return a date or a time as a time of UTC without a zone."""
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)


def kind_of_value(value: Any, parse: bool) -> str | None:
    """Return what a value is: "number", "boolean", "date" or "category" (text); None where it is missing.

    To ``parse`` is to read text as what it says; dates are always read.

    Examples
    --------
    >>> [kind_of_value(text, parse=True) for text in ("1e3", "true", "2024-05-01", "Bern", "NA")]
    ['number', 'boolean', 'date', 'category', None]
    >>> kind_of_value("1e3", parse=False)
    'category'
    """
    if isinstance(value, str):
        text = value.strip()
        if not parse:  # a date is what no type but text could have meant
            return "category" if date_of(text) is None else "date"
        if text.lower() in MISSING:
            return None
        if text.lower() in BOOLEANS:
            return "boolean"
        return "number" if number_of(text) is not None else "date" if date_of(text) is not None else "category"
    if is_missing(value) or (isinstance(value, np.datetime64) and np.isnat(value)):
        return None
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, numbers.Real | decimal.Decimal):
        return "number"
    if isinstance(value, dt.date | np.datetime64):
        return "date"
    return "category"


def number_of(text: str) -> float | None:
    """Return the number that a text stands for; None where it stands for none."""
    if "_" in text:  # a number for Python, and nowhere else
        return None
    try:
        return float(text)
    except ValueError:
        return None


def date_of(text: str) -> dt.datetime | None:
    """Return the time that a text stands for by ISO 8601 ("2024-05-01", "2024-05-01 12:30"); None where it is none."""
    if text[4:5] != "-" or not text[:4].isdecimal():
        return None
    try:
        return as_naive(dt.datetime.fromisoformat(text))
    except ValueError:
        return None


def value_as(kind: str, value: Any, parse: bool) -> Any:
    """Return a value, none that is missing, as what a column of a kind holds; None where it is of another kind."""
    if kind == "category" or kind == "text":
        return word_of(value)
    found = kind_of_value(value, parse)
    if found == "boolean" and kind in ("boolean", "number"):
        return BOOLEANS[value.strip().lower()] if isinstance(value, str) else bool(value)
    if found != kind:
        return None
    if kind == "number":
        number = number_of(value) if isinstance(value, str) else float(value)
        return number if number is not None and math.isfinite(number) else None
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[us]")
    return _microseconds(date_of(value.strip()) if isinstance(value, str) else value)


def word_of(value: Any) -> str:
    """Return a value as the name of a category: whole numbers alike, whatever their type.

    Examples
    --------
    >>> word_of(3.0), word_of("3"), word_of(True), word_of(" Bern ")
    ('3', '3', 'true', 'Bern')
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, numbers.Real):
        number = float(value)
        return (
            str(int(value) if isinstance(value, numbers.Integral) else int(number))
            if number.is_integer()
            else repr(number)
        )
    return str(value)
