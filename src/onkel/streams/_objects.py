"""Streams of objects: arrays, sparse matrices, data frames, .npy files, and any iterable of rows or of chunks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from onkel.streams._columns import choose, labels, not_numbers
from onkel.streams._stream import ArrayStream, BlockStream, Chunk, Stream
from onkel.streams._tables import TableStream
from onkel.streams.table import Table


@dataclass(frozen=True)
class Options:
    """What the caller of `open` has chosen."""

    target: Any
    columns: Any
    dtype: str | None
    chunk_rows: int
    on_error: str
    dense: bool = False
    drop: Any = None
    table: bool = False

    def rows(self, X: object) -> Any:
        """Rows as they are to be handed out."""
        return Table.of(X) if self.table else self.numbers(X if issparse(X) else np.asarray(X))

    def numbers(self, X: Any) -> Any:
        """Rows as float32 or float64, in C order."""
        kind = self.dtype or ("float32" if getattr(X, "dtype", None) == np.float32 else "float64")
        if issparse(X):
            return X.toarray().astype(kind, copy=False) if self.dense else csr_array(X).astype(kind, copy=False)
        return np.ascontiguousarray(X, dtype=kind)


def opened(source: Any, options: Options) -> Stream:
    """Open a stream of an object."""
    pair = isinstance(source, tuple) and len(source) == 2 and _n_dim(source[0]) == 2
    X, y = source if pair else (source, None)
    if pair and options.target is not None:
        raise ValueError("target must not be given beside (X, y): y is the target")
    name = f"a {type(X).__name__}"
    if hasattr(X, "to_batches") and y is None:  # a table of Arrow
        chosen = {field.name: getattr(options, field.name) for field in fields(options) if field.name != "dense"}
        batches = partial(X.to_batches, max_chunksize=options.chunk_rows)
        return TableStream(name, lambda: iter(batches()), X.schema, X.num_rows, last=False, **chosen)
    if pair or (hasattr(X, "shape") and _n_dim(X) == 2):
        open_rows = _of_frame if hasattr(X, "columns") else _of_sparse if issparse(X) else _of_array
        return open_rows(name, X, _targets_of(X, y), options)
    if not isinstance(source, Iterable):
        raise ValueError(f"expected a path, arrays or an iterable of rows to stream, got {name}")

    def blocks() -> Iterator[Chunk | str]:
        return _blocks(name, iter(source), options)

    return BlockStream(name, blocks, options.chunk_rows, options.on_error, again=iter(source) is not source)


def of_npy(path: Any, **options: Any) -> Stream:
    """Open a stream of a .npy file: mapped, not read."""
    name, chosen = os.fspath(path), Options(**options)
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name} is not an .npy file that can be mapped: {error}") from None
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold a matrix of numbers, got shape {rows.shape} of {rows.dtype}")
    return _of_array(name, rows, None, replace(chosen, target=-1 if chosen.target is None else chosen.target))


def _n_dim(X: object) -> int:
    if hasattr(X, "shape"):
        return len(X.shape)
    return 1 + _n_dim(X[0]) if isinstance(X, list | tuple) and len(X) else 0


def _targets_of(X: Any, y: Any) -> NDArray[Any] | None:
    if y is None:
        return None
    targets = labels(y)
    n_rows = len(X) if isinstance(X, list | tuple) else X.shape[0]
    if targets.shape != (n_rows,):
        raise ValueError(f"y must have one target for each of the {n_rows} rows, got shape {targets.shape}")
    return targets


def _of_array(name: str, X: object, y: NDArray[Any] | None, options: Options) -> Stream:
    rows = np.asanyarray(X)
    chosen = choose(name, range(rows.shape[1]), options.target, options.columns, last=False, drop=options.drop)
    everything = len(chosen.features) == rows.shape[1]

    def read(begin: int, end: int) -> Chunk:
        cut = rows[begin:end]
        goal = y[begin:end] if y is not None else None if chosen.target is None else np.array(cut[:, chosen.target])
        return options.numbers(cut if everything else cut[:, chosen.features]), goal

    return ArrayStream(name, read, rows.shape[0], len(chosen.features), options.chunk_rows, options.on_error)


def _of_sparse(name: str, X: object, y: NDArray[Any] | None, options: Options) -> Stream:
    if options.target not in (None, False) or options.columns is not None:
        raise ValueError("a sparse matrix has no columns to choose from: give (X, y)")
    rows = csr_array(X)

    def read(begin: int, end: int) -> Chunk:
        return options.numbers(rows[begin:end]), None if y is None else y[begin:end]

    return ArrayStream(name, read, rows.shape[0], rows.shape[1], options.chunk_rows, options.on_error)


def _of_frame(name: str, X: Any, y: NDArray[Any] | None, options: Options) -> Stream:
    """A frame of pandas or polars, column by column: both know how to make an array of one."""
    chosen = choose(name, X.columns, options.target, options.columns, last=False, drop=options.drop)
    column: Callable[[int], Any] = (lambda i: X.iloc[:, i]) if hasattr(X, "iloc") else X.to_series
    features = [column(i) for i in chosen.features]
    for number, feature in zip(chosen.features, features, strict=True):
        if not options.table and not _holds_numbers(feature):
            raise not_numbers(name, number, chosen.names[number], str(feature.dtype))
    goal = y if chosen.target is None else labels(column(chosen.target))

    def read(begin: int, end: int) -> Chunk:
        if options.table:
            rows = X.iloc[begin:end, chosen.features] if hasattr(X, "iloc") else X[begin:end, chosen.features]
            return Table.of(rows), None if goal is None else goal[begin:end]
        columns = [_floats(feature[begin:end]) for feature in features]
        return options.numbers(np.column_stack(columns)), None if goal is None else goal[begin:end]

    stream = ArrayStream(name, read, X.shape[0], len(features), options.chunk_rows, options.on_error)
    stream.columns = chosen.feature_names
    return stream


def _holds_numbers(series: Any) -> bool:
    kind = getattr(series.dtype, "kind", None)  # pandas
    return bool(series.dtype.is_numeric() or str(series.dtype) == "Boolean") if kind is None else kind in "biuf"


def _floats(series: Any) -> NDArray[Any]:
    """A piece of a column; what is missing becomes NaN."""
    if hasattr(series, "iloc"):
        kind = "float32" if str(series.dtype) == "float32" else "float64"
        return np.asarray(series.to_numpy(dtype=kind, na_value=np.nan))
    values = series.to_numpy()
    return np.asarray(values if values.dtype.kind == "f" else values.astype("float64"))


# -- iterables


def _blocks(name: str, items: Iterator[Any], options: Options) -> Iterator[Chunk | str]:
    """Chunks as they come, or rows gathered into chunks; what is wrong with a row takes the row's place."""
    first = next(items, None)
    if first is None:
        return
    items, n_rows = chain([first], items), 0
    if _n_dim(_pair(first)[0]) == 2 or isinstance(_pair(first)[0], Table):
        for item in items:
            X, y = _pair(item)
            try:
                chunk = options.rows(X), _targets_of(X, y)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{name}, the chunk after row {n_rows}: {error}") from None
            n_rows += chunk[0].shape[0]
            yield chunk
        return
    if options.table:
        while rows := [_pair(item) for item in islice(items, options.chunk_rows)]:
            yield Table.of([x for x, _ in rows]), None if rows[0][1] is None else labels([y for _, y in rows])
        return
    width = len(_pair(first)[0])
    while rows := [_pair(item) for item in islice(items, options.chunk_rows)]:
        yield from _gathered(name, rows, n_rows, width, options)
        n_rows += len(rows)


def _gathered(name: str, rows: list[Any], before: int, width: int, options: Options) -> Iterator[Chunk | str]:
    try:
        X = options.numbers(np.asarray([x for x, _ in rows]))
        if X.shape != (len(rows), width):
            raise ValueError
        yield X, None if rows[0][1] is None else labels([y for _, y in rows])
    except (TypeError, ValueError):
        if len(rows) > 1:  # one of them is wrong
            for i, row in enumerate(rows):
                yield from _gathered(name, [row], before + i, width, options)
        else:
            yield f"{name}, row {before + 1}: expected {width} numbers and a target, got {str(rows[0][0])[:60]!r}"


def _pair(item: Any) -> tuple[Any, Any]:
    try:
        x, y = item
    except (TypeError, ValueError):
        raise ValueError(f"expected rows (x, y) or chunks (X, y), got a {type(item).__name__}") from None
    return x, y
