"""Rows with labels, as they are queued, logged and learned; and their exact conversion into log records and back."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.preprocess.kept import kept_rows, table_of_kept
from onkel.serve._refusal import Refusal
from onkel.streams.table import Table
from onkel.streams.values import plain_value, word_of
from onkel.utils.labels import as_labels, kind

MOST_COLUMNS, MOST_NAME = 20_000, 200
_LENGTH = struct.Struct("<I")


@dataclass(frozen=True)
class Batch:
    """Rows of one request.

    Parameters
    ----------
    rows : array of shape (n, n_features), float64; or Table
        A table where the model has an encoder, which takes columns of any type.
    labels : array of shape (n,)
        Numbers, text or booleans.
    weights : array of shape (n,), default=None
    names : tuple of str, default=None
        Names of the features, where the rows have names.

    Examples
    --------
    >>> batch = Batch(np.zeros((1, 2)), np.array(["yes"]))
    >>> Batch.of_record(batch.record).labels.tolist()
    ['yes']
    """

    rows: NDArray[np.float64] | Table
    labels: NDArray[Any]
    weights: NDArray[np.float64] | None = None
    names: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def named(self, names: tuple[str, ...] | None) -> Batch:
        """Return the batch with the columns of these names, in their order, or refuse it."""
        if self.names is None or self.names == names:
            return self
        if names is None:
            raise Refusal(422, "the features of the model have no names; expected rows as lists of numbers")
        check_names(self.names, names)
        if isinstance(self.rows, Table):
            return replace(self, rows=self.rows.of_names(names), names=names)
        places = {name: place for place, name in enumerate(self.names)}
        order = [places[name] for name in names]
        return replace(self, rows=np.ascontiguousarray(self.rows[:, order]), names=names)

    def digest(self) -> str:
        """Return a digest that distinguishes batches that were sent with the same key."""
        return hashlib.sha256(self.record).hexdigest()[:32]

    @cached_property
    def record(self) -> bytes:
        """The batch as a record of the log."""
        text = kind(self.labels) == "text"
        is_table = isinstance(self.rows, Table)
        head = {
            "shape": list(self.rows.shape),
            **({"table": kept_rows(self.rows)} if isinstance(self.rows, Table) else {}),
            "labels": self.labels.tolist() if text else self.labels.dtype.newbyteorder("<").str,
            "weighted": self.weights is not None,
            "names": self.names,
        }
        parts = (
            ([] if is_table else [np.asarray(self.rows, np.float64)])
            + ([] if text else [self.labels])
            + ([] if self.weights is None else [self.weights])
        )
        return _packed(head, parts)

    @classmethod
    def of_record(cls, record: bytes) -> Batch:
        """Return the batch of a record."""
        head, at = _unpacked(record)
        (n, width), labelled, names = head["shape"], head["labels"], head["names"]

        def taken(dtype: str, count: int) -> NDArray[Any]:
            nonlocal at
            values = np.frombuffer(record, dtype, count, at).astype(np.dtype(dtype).newbyteorder("="))
            at += count * np.dtype(dtype).itemsize
            return values

        rows: NDArray[np.float64] | Table
        if "table" in head:
            rows = table_of_kept(head["table"], tuple(names))
        else:
            rows = taken("<f8", n * width).reshape(n, width)
        labels = as_labels(labelled) if isinstance(labelled, list) else taken(labelled, n)
        weights = taken("<f8", n) if head["weighted"] else None
        return cls(rows, labels, weights, None if names is None else tuple(names))


def rows_as_json(rows: NDArray[np.float64] | Table, names: tuple[str, ...] | None) -> list[Any]:
    """Return rows as JSON values: lists, or objects where they have names; a date is text, and a missing value null."""
    if isinstance(rows, Table):
        columns = [[_plain(value) for value in column] for column in rows.columns]
        return [dict(zip(rows.names, values, strict=True)) for values in zip(*columns, strict=True)]
    listed: list[Any] = rows.tolist()
    return listed if names is None else [dict(zip(names, row, strict=True)) for row in listed]


def _plain(value: Any) -> Any:
    plain = plain_value(value)
    return plain if isinstance(plain, str | bool | float | None) else word_of(plain)


def check_names(given: tuple[str, ...], expected: tuple[str, ...], row: int | None = None) -> None:
    """Refuse names that are not the expected ones, in any order."""
    where = "the rows have" if row is None else f"row {row} has"
    there, wanted = set(given), set(expected)
    if missing := [name for name in expected if name not in there]:
        raise Refusal(422, f"{where} no field {missing[0]!r}; the model's features are {_listed(expected)}", row)
    if unknown := [name for name in given if name not in wanted]:
        raise Refusal(
            422, f"{where} a field {unknown[0]!r} too many; the model's features are {_listed(expected)}", row
        )


def check_columns(names: Iterable[str] | None, width: int) -> None:
    """Refuse more columns than a row of a service may have, and names that are too long to be shown."""
    if width > MOST_COLUMNS:
        raise Refusal(413, f"row 0 has {width:,} values, and the limit is {MOST_COLUMNS:,}", 0)
    for name in names or ():
        if len(name) > MOST_NAME:
            raise Refusal(422, f"the name of a field must have at most {MOST_NAME} characters, got {name[:60]!r}...")


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")


def _packed(head: dict[str, Any], parts: list[NDArray[Any]]) -> bytes:
    text = json.dumps(head, separators=(",", ":")).encode()
    little = [np.ascontiguousarray(part, part.dtype.newbyteorder("<")).tobytes() for part in parts]
    return b"".join([_LENGTH.pack(len(text)), text, *little])


def _unpacked(record: bytes) -> tuple[dict[str, Any], int]:
    (length,) = _LENGTH.unpack_from(record)
    end = _LENGTH.size + length
    return json.loads(record[_LENGTH.size : end]), end
