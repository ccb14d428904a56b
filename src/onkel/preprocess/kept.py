"""Rows of a table as JSON and back: the first rows of a stream are a part of a model until its columns are settled."""

from __future__ import annotations

import datetime as dt
import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.streams.table import Table, as_naive, word_of
from onkel.utils.labels import is_missing

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def kept_rows(table: Table) -> dict[str, Any]:
    """Return rows as JSON: a date is a list of its microseconds since 1970."""
    return {"typed": table.typed, "columns": [[_plain(value) for value in column] for column in table.columns]}


def table_of_kept(kept: Any, names: tuple[str, ...]) -> Table:
    """Return the rows that `kept_rows` wrote, or refuse what it did not write."""
    if not isinstance(kept, dict) or kept.keys() != {"typed", "columns"} or not isinstance(kept["typed"], bool):
        raise ValueError("the first rows must have columns, and say whether these are typed")
    columns = kept["columns"]
    if not isinstance(columns, list) or len(columns) != len(names) or not all(isinstance(c, list) for c in columns):
        raise ValueError(f"the first rows must have {len(names)} columns")
    if len({len(column) for column in columns}) > 1:
        raise ValueError("the columns of the first rows must be of one length")
    return Table(names, tuple(map(_column, columns)), kept["typed"])


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else [int(value.astype("datetime64[us]").astype(np.int64))]
    if is_missing(value):
        return None
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if isinstance(value, dt.date):
        return [(as_naive(value) - _EPOCH) // _MICROSECOND]
    return value if isinstance(value, str) else word_of(value)


def _column(values: list[Any]) -> NDArray[Any]:
    for value in values:
        date = isinstance(value, list) and len(value) == 1 and type(value[0]) is int and abs(value[0]) < 2**62
        if not date and not isinstance(value, str | bool | int | float | None):
            raise ValueError(f"the first rows must hold numbers, text, booleans and dates, got {value!r}")
    kinds = {type(value) for value in values} - {type(None)}
    if kinds and kinds <= {int, float}:
        return np.array([np.nan if value is None else float(value) for value in values])
    if kinds == {bool} and None not in values:
        return np.array(values, bool)
    if kinds == {list}:
        dates = [np.datetime64("NaT", "us") if v is None else np.datetime64(v[0], "us") for v in values]
        return np.array(dates, "datetime64[us]")
    array = np.empty(len(values), object)
    array[:] = [np.datetime64(value[0], "us") if isinstance(value, list) else value for value in values]
    return array
