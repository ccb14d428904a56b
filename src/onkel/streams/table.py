"""Tables in memory: columns with names and types, of any library, as the encoder reads them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.streams.values import EXACT, Refused, plain_value, shown, times, value_as

A_DOUBLE = "a whole number of at most 2^53, all of whose digits a double holds"


@dataclass(frozen=True, eq=False)
class Table:
    """Some rows of a table.

    A column is an array of float64 (NaN where a value is missing), of bool, of datetime64[us] (NaT), or of objects in
    the forms of `onkel.streams.values.plain_value`, None where one is missing. No value loses a digit, a zone or a
    character, so that its word as a category does not depend on where it comes from and what stands beside it.

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
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
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
        places = {name: place for place, name in enumerate(self.names)}
        lacking = next((name for name in names if name not in places), None)
        known = _listed(names)
        if lacking is not None:
            raise ValueError(f"X has no column {lacking!r}; the columns so far are {known}")
        wanted = set(names)
        unknown = next((name for name in self.names if name not in wanted), None)
        if unknown is not None:
            raise ValueError(f"X has a column {unknown!r}, which earlier rows did not have; the columns are {known}")
        return Table(tuple(names), tuple(self.columns[places[name]] for name in names), self.typed)

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
                        f"X contains {shown(value)} at row {row}, column {i} ({name!r}); expected a finite number"
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
            return cls._of(_names(X.columns), lambda i: _of_pandas(X.iloc[:, i]))
        if hasattr(X, "to_series") and hasattr(X, "columns"):  # polars
            return cls._of(_names(X.columns), lambda i: of_arrow(X.to_series(i).to_arrow()))
        if hasattr(X, "schema") and hasattr(X, "num_rows"):  # a table or a record batch of Arrow
            return cls._of(_names(X.schema.names), lambda i: of_arrow(X.column(i)))
        if isinstance(X, list | tuple) and X and isinstance(X[0], Mapping):
            names = list(dict.fromkeys(str(name) for row in X for name in row))
            records = [{str(name): value for name, value in row.items()} for row in X]
            return cls._of_columns({name: [row.get(name) for row in records] for name in names}, len(names))
        rows = np.asarray(X)
        if rows.ndim != 2:
            raise ValueError(f"expected a table (a data frame, a dict of columns, a matrix), got {type(X).__name__}")
        return cls._of(tuple(map(str, range(rows.shape[1]))), lambda i: of_values(rows[:, i]))

    @classmethod
    def _of(cls, names: tuple[str, ...], column: Callable[[int], NDArray[Any]]) -> Table:
        """The columns one by one; a value that no column can hold is refused by its place."""
        columns = []
        for i, name in enumerate(names):
            try:
                columns.append(column(i))
            except Refused as refused:
                raise RefusedCell(refused, i, name) from None
        return cls(names, tuple(columns))

    @classmethod
    def _of_columns(cls, columns: dict[str, Any], n_names: int) -> Table:
        if len(columns) != n_names:
            raise ValueError("some columns have the same name: rename all but one")
        values = list(columns.values())
        table = cls._of(tuple(columns), lambda i: of_values(values[i]))
        if len({len(column) for column in table.columns}) > 1:
            lengths = ", ".join(f"{name!r} {len(column)}" for name, column in zip(columns, table.columns, strict=True))
            raise ValueError(f"the columns of a table must have the same number of rows, got {lengths}")
        return table


class RefusedCell(Refused):
    """A value of a table that no column can hold."""

    def __init__(self, refused: Refused, column: int, name: str) -> None:
        super().__init__(refused.row, refused.value, refused.expected)
        self.column, self.name = column, name

    def __str__(self) -> str:
        where = f"row {self.row}, column {self.column} ({self.name!r})"
        return f"X contains {shown(self.value)} at {where}; expected {self.expected}"


def _names(names: Iterable[Any]) -> tuple[str, ...]:
    return tuple(str(name) for name in names)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")


def _concatenated(parts: list[NDArray[Any]]) -> NDArray[Any]:
    kinds = {part.dtype.kind for part in parts}
    return np.concatenate(parts if len(kinds) == 1 else [part.astype(object) for part in parts])


def of_values(values: Any) -> NDArray[Any]:
    """Return a column of an array, or of whatever Python has.

    >>> of_values([1, None, 2.5]), of_values([2**60 + 1, "x"])
    (array([1. , nan, 2.5]), array([Decimal('1152921504606846977'), 'x'], dtype=object))
    """
    array = values if isinstance(values, np.ndarray) else np.empty(len(values), object)
    if array is not values:
        array[:] = list(values)
    if array.ndim != 1:
        raise ValueError(f"a column of a table must be a vector, got shape {array.shape}")
    kind = array.dtype.kind
    if kind == "f" or (kind in "iu" and _are_exact(array)):
        return array.astype(np.float64)
    if kind == "b":
        return array
    if kind == "M":
        return times(array)
    if kind in "iuUSOT":
        return _plain(array.tolist())
    raise ValueError(f"a column of a table must be numbers, booleans, dates or text, got {array.dtype}")


def _are_exact(array: NDArray[Any]) -> bool:
    """Whether doubles hold these integers to the last digit."""
    return len(array) == 0 or bool(int(array.max()) <= EXACT and int(array.min()) >= -EXACT)


def _plain(values: list[Any]) -> NDArray[Any]:
    """Objects as an array of one type where they are of one: numbers, booleans or times, some perhaps missing."""
    plain = [plain_value(value, row) for row, value in enumerate(values)]
    types = {*map(type, plain)}
    if float in types and types <= {float, type(None)}:
        return np.array(plain, np.float64)
    if types == {bool}:
        return np.array(plain, bool)
    column = np.empty(len(plain), object)
    column[:] = plain
    if types & {dt.datetime} and types <= {dt.datetime, type(None)} and not any(map(_has_zone, plain)):
        return column.astype("datetime64[us]")
    return column


def _has_zone(value: dt.datetime | None) -> bool:
    return value is not None and value.tzinfo is not None


def _of_pandas(series: Any) -> NDArray[Any]:
    kind = getattr(series.dtype, "kind", "O")
    if kind == "f":
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in "iu" and _are_exact(series[series.notna()].to_numpy(dtype=f"{kind}8")):
        return np.asarray(series.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind == "b" and not series.isna().any():
        return np.asarray(series.to_numpy(dtype=bool))
    if kind == "M" and isinstance(series.dtype, np.dtype):
        return times(series.to_numpy())
    return _plain(series.astype(object).tolist())


def doubles_of_arrow(column: Any) -> NDArray[np.float64]:
    """Return a column of numbers as doubles, NaN where one is missing; refuse a whole number that they do not hold."""
    if str(column.type).startswith(("int", "uint")) and not _are_exact(_there(column)):
        for row, value in enumerate(column.to_pylist()):
            if value is not None and abs(value) > EXACT:
                raise Refused(row, value, A_DOUBLE)
    return np.asarray(column.cast("float64").to_numpy(zero_copy_only=False), np.float64)


def _there(column: Any) -> NDArray[Any]:
    return np.asarray(column.drop_null().to_numpy(zero_copy_only=False))


def of_arrow(column: Any) -> NDArray[Any]:
    """Return a column of Arrow."""
    kind = str(column.type)
    if kind.startswith("dictionary"):
        column = column.dictionary_decode() if hasattr(column, "dictionary_decode") else column
        kind = str(column.type)
    whole = kind.startswith(("int", "uint"))
    if kind.startswith(("float", "double", "halffloat")) or (whole and _are_exact(_there(column))):
        return doubles_of_arrow(column)
    if kind == "bool" and column.null_count == 0:
        return np.asarray(column.to_numpy(zero_copy_only=False), bool)
    if kind.startswith(("timestamp", "date")):
        plain = times(np.asarray(column.to_numpy(zero_copy_only=False)))
        return plain if getattr(column.type, "tz", None) is None else _plain(column.to_pylist())
    if kind == "null":
        return np.full(len(column), np.nan)
    return _plain(column.to_pylist())
