"""Partitions of the rows: each has a name, and can be read as a stream of chunks any number of times."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, issparse

from onkel import streams
from onkel.streams.table import Table
from onkel.utils.validation import check_weights

CHUNK_ROWS = 16_384
TABLES = ("csv", "tsv", "parquet", "arrow")  # formats whose columns may be of any type


class Chunk(NamedTuple):
    """Some rows of a partition, as they were read."""

    X: Any
    y: Any
    weight: Any = None  # one per row; None means 1

    @property
    def names(self) -> list[str] | None:
        """Names of the features, or None."""
        columns = self.X.names if isinstance(self.X, Table) else getattr(self.X, "columns", None)
        return None if columns is None else [str(name) for name in columns]

    def table(self) -> Chunk:
        """Return the rows as a table, with columns of any type."""
        table = Table.of(self.X)
        return Chunk(table, self._targets(len(table)), check_weights(self.weight, len(table)))

    def arrays(self, dtype: str | None = None) -> Chunk:
        """Return the rows as an array or a CSR matrix; dtype=None keeps float32 and converts others to float64."""
        if isinstance(self.X, Table):
            X = self.X.numbers()
        else:
            X = self.X.to_numpy() if hasattr(self.X, "to_numpy") else self.X
        X = csr_array(X) if issparse(X) else np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"expected rows of features, got an array of {X.ndim} dimensions")
        dtype = dtype or ("float32" if X.dtype == np.float32 else "float64")
        y = self._targets(X.shape[0])
        X = X.astype(dtype, copy=False) if issparse(X) else np.ascontiguousarray(X, dtype=dtype)
        if not np.isfinite(X.data if issparse(X) else X).all():
            raise ValueError("the features contain a missing or an infinite number; expected finite numbers")
        return Chunk(X, y, check_weights(self.weight, X.shape[0]))

    def _targets(self, n_rows: int) -> Any:
        y = np.asarray(self.y.to_numpy() if hasattr(self.y, "to_numpy") else self.y)
        if y.shape != (n_rows,):
            raise ValueError(f"y must have one target for each of the {n_rows} rows, got the shape {y.shape}")
        return y


class Partition(ABC):
    """A part of the rows, which every worker must be able to read.

    Attributes
    ----------
    name : str
        The name of the partition in messages.
    """

    name: str

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Read the rows from the first to the last, in memory bounded by a chunk."""

    def with_columns_of_any_type(self) -> Partition:
        """Return a partition of the same rows that is read as tables, where there is a choice."""
        return self


@dataclass(frozen=True)
class ArrayPartition(Partition):
    """Rows in memory: arrays, a sparse matrix, a data frame.

    Examples
    --------
    >>> import numpy as np
    >>> part = ArrayPartition("first", np.eye(3), [0, 1, 1])
    >>> [chunk.X.shape for chunk in part.chunks()]
    [(3, 3)]
    """

    name: str
    X: Any
    y: Any
    weight: Any = None

    def chunks(self) -> Iterator[Chunk]:
        """Read the rows, in chunks that share their memory."""
        X = self.X.tocsr() if issparse(self.X) else self.X
        y = np.asarray(self.y)
        weight = None if self.weight is None else np.asarray(self.weight)
        n_rows = int(X.shape[0])
        if n_rows != len(y):
            raise ValueError(f"y must have one target for each of the {n_rows} rows, got {len(y)}")
        for begin in range(0, max(1, n_rows), CHUNK_ROWS):
            cut = slice(begin, begin + CHUNK_ROWS)
            rows = X.iloc[cut] if hasattr(X, "iloc") else X[cut]
            yield Chunk(rows, y[cut], None if weight is None else weight[cut])


@dataclass(frozen=True)
class FilePartition(Partition):
    """A file that `onkel.streams.open` reads.

    Parameters
    ----------
    name : str
        Its path, which every worker must be able to open.
    options : dict
        For `onkel.streams.open`: ``target``, ``columns``, ``format`` and so on.
    weight : str, default=None
        The column of a table that holds the weights of the rows.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    weight: str | None = None

    def chunks(self) -> Iterator[Chunk]:
        """Read the file from its beginning."""
        if _is_empty(self.name):
            return
        with streams.open(self.name, **{"chunk_rows": CHUNK_ROWS, **self.options}) as stream:
            for X, y in stream:
                yield self._chunk(X, y, stream.columns)

    def with_columns_of_any_type(self) -> Partition:
        """Return the same file, read as a table if it is one."""
        is_table = (self.options.get("format") or streams.format_of(self.name)) in TABLES
        return replace(self, options=self.options | {"table": True}) if is_table else self

    def _chunk(self, X: Any, y: Any, names: list[str] | None) -> Chunk:
        weight = None
        if self.weight is not None:
            if names is None or self.weight not in names:
                raise ValueError(f"there is no column {self.weight!r} of weights")
            if isinstance(X, Table):
                weights = Table((self.weight,), (X.column(self.weight),), X.typed).numbers()
                return Chunk(X.without([self.weight]), y, weights[:, 0])
            place = names.index(self.weight)
            weight = np.ascontiguousarray(X[:, place], dtype=np.float64)
            X, names = np.delete(X, place, axis=1), [name for name in names if name != self.weight]
        return Chunk(_Named(X, names) if names and not isinstance(X, Table) else X, y, weight)


class _Named:
    """An array with the names of its columns, as a data frame has them."""

    def __init__(self, values: object, columns: list[str]) -> None:
        self.values = values
        self.columns = columns

    def to_numpy(self) -> Any:
        return self.values


def _is_empty(path: str) -> bool:
    """Whether a file has no row at all: a valid partition, though not a stream."""
    if os.path.getsize(path) == 0:
        return True
    if streams.format_of(path) != "parquet":
        return False
    from onkel.utils.extras import pyarrow

    return bool(pyarrow("a Parquet file", "pyarrow.parquet").read_metadata(path).num_rows == 0)


def partitions_of(sources: Sequence[Any]) -> list[Partition]:
    """Return each source as a partition: a `Partition`, a path, or a tuple ``(X, y)`` or ``(X, y, weight)``.

    Examples
    --------
    >>> import numpy as np
    >>> [part.name for part in partitions_of([(np.eye(2), [0, 1]), "more.parquet"])]
    ['0', 'more.parquet']
    """
    partitions: list[Partition] = []
    for number, source in enumerate(sources):
        if isinstance(source, Partition):
            partitions.append(source)
        elif isinstance(source, str | os.PathLike):
            partitions.append(FilePartition(os.fspath(source)))
        elif isinstance(source, tuple) and len(source) in (2, 3):
            partitions.append(ArrayPartition(str(number), *source))
        else:
            raise ValueError(f"partition {number} must be a path or (X, y), got {type(source).__name__}")
    if not partitions:
        raise ValueError("there must be at least one partition")
    return partitions
