"""Streams of tables in Parquet and Arrow (Feather) files, read by pyarrow batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.streams._columns import ColumnChoice, choose, labels, not_numbers
from onkel.streams._stream import BlockStream, Chunk
from onkel.streams.table import RefusedCell, Table, doubles_of_arrow
from onkel.streams.values import Refused, shown
from onkel.utils.extras import pyarrow


class TableStream(BlockStream):
    """Rows of record batches."""

    def __init__(
        self,
        path: Any,
        batches: Callable[[], Iterator[Any]],
        schema: Any,
        n_rows: int,
        *,
        target: Any,
        columns: Any,
        dtype: str | None,
        chunk_rows: int,
        on_error: str,
        drop: Any = None,
        table: bool = False,
        last: bool = True,
    ) -> None:
        name = str(path)
        self._chosen = choose(name, schema.names, target, columns, last=last, drop=drop)
        for i in self._chosen.features:
            if not table and not _holds_numbers(schema.types[i]):
                raise not_numbers(name, i, schema.names[i], str(schema.types[i]))
        if dtype is None:
            single = all(str(schema.types[i]) in ("float", "halffloat") for i in self._chosen.features)
            dtype = "float32" if single else "float64"
        convert = _table if table else partial(_chunk, dtype=dtype)

        def blocks() -> Iterator[Chunk | str]:
            row = 0
            for batch in batches():
                yield from self._blocks_of(batch, row, convert)
                row += batch.num_rows

        super().__init__(name, blocks, chunk_rows, on_error)
        self.columns = self._chosen.feature_names
        self.n_features = len(self._chosen.features)
        self.n_rows = n_rows

    def _blocks_of(self, batch: Any, before: int, convert: Callable[..., Chunk]) -> Iterator[Chunk | str]:
        """A batch, or its halves where a value of it can be no part of a chunk, down to that value's row."""
        try:
            block: Chunk | str = convert(batch, self._chosen)
        except RefusedCell as refused:
            if batch.num_rows > 1:
                half = batch.num_rows // 2
                yield from self._blocks_of(batch.slice(0, half), before, convert)
                yield from self._blocks_of(batch.slice(half), before + half, convert)
                return
            where = f"row {before + 1}, column {self._chosen.names.index(refused.name) + 1} ({refused.name!r})"
            block = f"{self.name}, {where}: expected {refused.expected}, got {shown(refused.value)}"
        yield block

    def fraction(self) -> float | None:
        """Return how much of the table has been read, from 0 to 1."""
        return self._row / max(1, self.n_rows)


def of_parquet(path: object, **options: Any) -> TableStream:
    """Open a stream of a Parquet file."""
    parquet = pyarrow("a Parquet file", "pyarrow.parquet")
    file = _opened(path, "a Parquet file", lambda: parquet.ParquetFile(path))

    def batches() -> Iterator[Any]:
        return iter(file.iter_batches(batch_size=options["chunk_rows"], use_threads=False))

    return TableStream(path, batches, file.schema_arrow, file.metadata.num_rows, **options)


def of_arrow(path: object, **options: Any) -> TableStream:
    """Open a stream of an Arrow file, which is mapped, not read."""
    arrow, ipc = pyarrow("an Arrow file"), pyarrow("an Arrow file", "pyarrow.ipc")
    file = _opened(path, "an Arrow file", lambda: ipc.open_file(arrow.memory_map(str(path))))

    def batches() -> Iterator[Any]:
        return (file.get_batch(i) for i in range(file.num_record_batches))

    n_rows = sum(file.get_batch(i).num_rows for i in range(file.num_record_batches))
    return TableStream(path, batches, file.schema, n_rows, **options)


def _opened(path: object, what: str, opened: Callable[[], Any]) -> Any:
    try:
        return opened()
    except pyarrow(what).ArrowInvalid as error:
        raise ValueError(f"{path} is not {what}: {str(error).splitlines()[0]}") from None


def _holds_numbers(kind: object) -> bool:
    types = pyarrow("a table").types
    checks = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(check(kind) for check in checks)


def _chunk(batch: Any, columns: ColumnChoice, dtype: str) -> Chunk:
    """A batch as arrays; what is missing becomes NaN, or None where targets are text."""
    X = np.empty((batch.num_rows, len(columns.features)), dtype)
    with np.errstate(over="ignore"):
        for feature, i in enumerate(columns.features):
            try:
                X[:, feature] = doubles_of_arrow(batch.column(i))
            except Refused as refused:
                raise RefusedCell(refused, i, columns.names[i]) from None
    return X, None if columns.target is None else _targets(batch.column(columns.target))


def _table(batch: Any, columns: ColumnChoice) -> Chunk:
    """A batch as a table; targets that are missing are None or NaN."""
    features = Table.of(batch.select([batch.schema.names[i] for i in columns.features]))
    return features, None if columns.target is None else _targets(batch.column(columns.target))


def _targets(column: Any) -> NDArray[Any]:
    if str(column.type).startswith("dictionary"):
        column = column.dictionary_decode()
    if column.null_count and pyarrow("a table").types.is_integer(column.type):
        return np.array(column.to_pylist(), object)  # doubles would not hold all of them
    return labels(column.to_numpy(zero_copy_only=False))
