"""Streams of objects in memory: arrays, sparse matrices, and any iterable of rows or of chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from onkel.streams._stream import ArrayStream, BlockStream, Chunk, Stream


def opened(source: Any, *, target: Any, dense: bool, dtype: str | None, chunk_rows: int, on_error: str) -> Stream:
    """Open a stream of an object."""
    X, y = source if isinstance(source, tuple) and len(source) == 2 and _n_dim(source[0]) == 2 else (source, None)
    if (_n_dim(X) == 2 and not isinstance(X, list | tuple)) or X is not source:
        return _of_arrays(X, y, dense, dtype, chunk_rows, on_error)
    if not isinstance(source, Iterable):
        raise ValueError(f"expected a path, arrays or an iterable of rows to stream, got a {type(source).__name__}")

    def blocks() -> Iterator[Chunk]:
        return _blocks(iter(source), dense, dtype, chunk_rows)

    return BlockStream(f"a {type(source).__name__}", blocks, chunk_rows, on_error, again=iter(source) is not source)


def _n_dim(X: Any) -> int:
    if issparse(X) or hasattr(X, "shape"):
        return len(X.shape)
    return 1 + _n_dim(X[0]) if isinstance(X, list | tuple) and len(X) else 0


def _of_arrays(X: Any, y: Any, dense: bool, dtype: str | None, chunk_rows: int, on_error: str) -> Stream:
    name = f"a {type(X).__name__}"
    rows = csr_array(X) if issparse(X) else np.asarray(X)
    targets = None if y is None else np.asarray(y)
    if targets is not None and targets.shape != (rows.shape[0],):
        raise ValueError(f"y must have one target for each of the {rows.shape[0]} rows, got shape {targets.shape}")

    def read(begin: int, end: int) -> Chunk:
        return numbers(rows[begin:end], dtype, dense), None if targets is None else targets[begin:end]

    return ArrayStream(name, read, rows.shape[0], rows.shape[1], chunk_rows, on_error)


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
            yield numbers(X if issparse(X) else np.asarray(X), dtype, dense), np.asarray(y)
        return
    while rows := [_pair(item) for item in islice(items, chunk_rows)]:
        yield numbers([x for x, _ in rows], dtype), _targets([y for _, y in rows])


def _targets(values: list[Any]) -> NDArray[Any]:
    return np.asarray(values)


def _pair(item: Any) -> tuple[Any, Any]:
    try:
        x, y = item
    except (TypeError, ValueError):
        raise ValueError(f"expected rows (x, y) or chunks (X, y), got a {type(item).__name__}") from None
    return x, y
