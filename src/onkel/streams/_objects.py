"""Streams of objects: arrays, sparse matrices, data frames, .npy files, and any iterable of rows or of chunks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from onkel.streams._columns import choose, labels, not_numbers
from onkel.streams._stream import ArrayStream, BlockStream, Chunk, Stream


def opened(
    source: Any,
    *,
    target: Any,
    columns: Any,
    dense: bool,
    dtype: str | None,
    chunk_rows: int,
    on_error: str,
) -> Stream:
    """Open a stream of an object."""
    pair = isinstance(source, tuple) and len(source) == 2 and _n_dim(source[0]) == 2
    X, y = source if pair else (source, None)
    if pair and target is not None:
        raise ValueError("target must not be given beside (X, y): y is the target")
    if pair or (hasattr(X, "shape") and _n_dim(X) == 2):
        open_rows = _of_frame if hasattr(X, "columns") else _of_sparse if issparse(X) else of_array
        name = f"a {type(X).__name__}"
        return open_rows(name, X, _targets_of(X, y), target, columns, dense, dtype, chunk_rows, on_error)
    if not isinstance(source, Iterable):
        raise ValueError(f"expected a path, arrays or an iterable of rows to stream, got a {type(source).__name__}")

    def blocks() -> Iterator[Chunk]:
        return _blocks(iter(source), dense, dtype, chunk_rows)

    return BlockStream(f"a {type(source).__name__}", blocks, chunk_rows, on_error, again=iter(source) is not source)


def of_npy(path: Any, *, target: Any, columns: Any, dtype: str | None, chunk_rows: int, on_error: str) -> Stream:
    """Open a stream of a .npy file: mapped, not read."""
    name = os.fspath(path)
    try:
        rows = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name} is no .npy file that can be mapped: {error}") from None
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold a matrix of numbers, got shape {rows.shape} of {rows.dtype}")
    target = -1 if target is None else target
    return of_array(name, rows, None, target, columns, False, dtype, chunk_rows, on_error)


def _n_dim(X: Any) -> int:
    if hasattr(X, "shape"):
        return len(X.shape)
    return 1 + _n_dim(X[0]) if isinstance(X, list | tuple) and len(X) else 0


def _targets_of(X: Any, y: Any) -> NDArray[Any] | None:
    if y is None:
        return None
    made = labels(y)
    n_rows = len(X) if isinstance(X, list | tuple) else X.shape[0]
    if made.shape != (n_rows,):
        raise ValueError(f"y must have one target for each of the {n_rows} rows, got shape {made.shape}")
    return made


def of_array(
    name: str,
    X: Any,
    y: NDArray[Any] | None,
    target: Any,
    columns: Any,
    dense: bool,
    dtype: str | None,
    chunk_rows: int,
    on_error: str,
) -> Stream:
    """Open a stream of a dense matrix."""
    rows = np.asanyarray(X)
    chosen = choose(name, range(rows.shape[1]), target, columns, last=False)
    everything = len(chosen.features) == rows.shape[1]

    def read(begin: int, end: int) -> Chunk:
        cut = rows[begin:end]
        goal = y[begin:end] if y is not None else None if chosen.target is None else np.array(cut[:, chosen.target])
        return numbers(cut if everything else cut[:, chosen.features], dtype), goal

    return ArrayStream(name, read, rows.shape[0], len(chosen.features), chunk_rows, on_error)


def _of_sparse(
    name: str,
    X: Any,
    y: NDArray[Any] | None,
    target: Any,
    columns: Any,
    dense: bool,
    dtype: str | None,
    chunk_rows: int,
    on_error: str,
) -> Stream:
    if target not in (None, False) or columns is not None:
        raise ValueError("a sparse matrix has no columns to choose from: give (X, y)")
    rows = csr_array(X)

    def read(begin: int, end: int) -> Chunk:
        return numbers(rows[begin:end], dtype, dense), None if y is None else y[begin:end]

    return ArrayStream(name, read, rows.shape[0], rows.shape[1], chunk_rows, on_error)


def _of_frame(
    name: str,
    X: Any,
    y: NDArray[Any] | None,
    target: Any,
    columns: Any,
    dense: bool,
    dtype: str | None,
    chunk_rows: int,
    on_error: str,
) -> Stream:
    """A frame of pandas or polars, column by column: both know how to make an array of one."""
    chosen = choose(name, X.columns, target, columns, last=False)
    column: Callable[[int], Any] = (lambda i: X.iloc[:, i]) if hasattr(X, "iloc") else X.to_series
    features = [column(i) for i in chosen.features]
    for number, feature in zip(chosen.features, features, strict=True):
        if not _holds_numbers(feature):
            raise not_numbers(name, number, chosen.names[number], str(feature.dtype))
    goal = y if chosen.target is None else labels(column(chosen.target))

    def read(begin: int, end: int) -> Chunk:
        made = [_floats(feature[begin:end]) for feature in features]
        return numbers(np.column_stack(made), dtype), None if goal is None else goal[begin:end]

    stream = ArrayStream(name, read, X.shape[0], len(features), chunk_rows, on_error)
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
    made = series.to_numpy()
    return np.asarray(made if made.dtype.kind == "f" else made.astype("float64"))


def numbers(X: Any, dtype: str | None, dense: bool = False) -> Any:
    """Rows as float32 or float64, in C order."""
    kind = dtype or ("float32" if getattr(X, "dtype", None) == np.float32 else "float64")
    if issparse(X):
        return X.toarray().astype(kind, copy=False) if dense else csr_array(X).astype(kind, copy=False)
    return np.ascontiguousarray(X, dtype=kind)


def _blocks(items: Iterator[Any], dense: bool, dtype: str | None, chunk_rows: int) -> Iterator[Chunk]:
    """Chunks as they come, or rows gathered into chunks."""
    first = next(items, None)
    if first is None:
        return
    items = chain([first], items)
    if _n_dim(_pair(first)[0]) == 2:
        for item in items:
            X, y = _pair(item)
            yield numbers(X if issparse(X) else np.asarray(X), dtype, dense), None if y is None else labels(y)
        return
    while rows := [_pair(item) for item in islice(items, chunk_rows)]:
        targets = None if rows[0][1] is None else labels([y for _, y in rows])
        yield numbers(np.asarray([x for x, _ in rows]), dtype), targets


def _pair(item: Any) -> tuple[Any, Any]:
    try:
        x, y = item
    except (TypeError, ValueError):
        raise ValueError(f"expected rows (x, y) or chunks (X, y), got a {type(item).__name__}") from None
    return x, y
