"""Rows of a table as JSON and back: the first rows of a stream are a part of a model until its columns are settled."""

from __future__ import annotations

import contextlib
import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.streams.table import Table, of_values
from onkel.streams.values import EXACT, microseconds, plain_value, shown, word_of

_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)


def kept_rows(table: Table) -> dict[str, Any]:
    """Return rows as JSON: a time is a list of its microseconds since 1970, or of its text if it has a zone."""
    return {"typed": table.typed, "columns": [[_plain(value) for value in column] for column in table.columns]}


def table_of_kept(kept: object, names: tuple[str, ...]) -> Table:
    """Return the rows that `kept_rows` wrote, or refuse what it did not write."""
    if not isinstance(kept, dict) or kept.keys() != {"typed", "columns"} or not isinstance(kept["typed"], bool):
        raise ValueError("the first rows must have columns, and say whether these are typed")
    columns = kept["columns"]
    if not isinstance(columns, list) or len(columns) != len(names) or not all(isinstance(c, list) for c in columns):
        raise ValueError(f"the first rows must have {len(names)} columns")
    if len({len(column) for column in columns}) > 1:
        raise ValueError("the columns of the first rows must be of one length")
    return Table(names, tuple(map(_column, columns)), kept["typed"])


def _plain(value: object) -> Any:
    """A value as JSON, the same whether it stood in an array of its type or in one of objects."""
    value = plain_value(value)
    if isinstance(value, float):
        whole = value.is_integer() and abs(value) <= EXACT and not (value == 0 and math.copysign(1, value) < 0)
        return int(value) if whole else value
    if isinstance(value, dt.datetime):
        return [value.isoformat()] if value.tzinfo else [int(microseconds(value).astype(np.int64))]
    return {"digits": word_of(value)} if isinstance(value, Decimal) else value


def _column(values: list[Any]) -> NDArray[Any]:
    return of_values([_value(value) for value in values])


def _value(value: object) -> Any:
    """What `_plain` wrote; refused where it can have written no such thing."""
    with contextlib.suppress(ValueError, OverflowError, ArithmeticError):
        if isinstance(value, str | bool | int | float | None):
            return value
        if isinstance(value, list) and len(value) == 1 and type(value[0]) is int:
            return _EPOCH + value[0] * _MICROSECOND
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
            return dt.datetime.fromisoformat(value[0])
        if isinstance(value, dict) and value.keys() == {"digits"} and isinstance(value["digits"], str):
            return Decimal(value["digits"])
    raise ValueError(f"the first rows must hold numbers, text, booleans and dates, got {shown(value)}")
