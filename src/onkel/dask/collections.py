"""Dask's collections as partitions, and predictions as collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dask
import numpy as np
from dask.delayed import Delayed

from onkel.dask.engine import DelayedPartition
from onkel.partitions.arrow import predict_arrow
from onkel.partitions.sources import Partition, partitions_of


def is_collection(X: object) -> bool:
    """Whether this is a collection of Dask's, whose rows are not known yet."""
    return bool(dask.is_dask_collection(X))


def partitions_in(X: object, y: object = None, weight: object = None) -> list[Partition]:
    """Return the partitions of rows.

    Parameters
    ----------
    X : dask.array, dask.dataframe or sequence
        A sequence holds a partition each: a delayed tuple ``(X, y)`` or ``(X, y, weight)``, or what
        `onkel.partitions.fit` takes.
    y : dask.array or dask.dataframe series, default=None
        Cut as `X` is.
    weight : as y, default=None
    """
    if is_collection(X) and not isinstance(X, Delayed):
        columns = [_blocks(X), _blocks(y, X), [None] * len(_blocks(X)) if weight is None else _blocks(weight, X)]
        if len({len(column) for column in columns}) > 1:
            raise ValueError(
                f"X, y and the weights must be cut alike, got {[len(column) for column in columns]} blocks"
            )
        return [DelayedPartition(str(i), *blocks) for i, blocks in enumerate(zip(*columns, strict=True))]
    if y is not None or weight is not None:
        raise ValueError("y and sample_weight go with a collection of Dask's; a list holds (X, y) or (X, y, weight)")
    if not isinstance(X, Sequence) or isinstance(X, str):
        raise ValueError(f"X must be a dask.array, a dask.dataframe or a list of partitions, got {type(X).__name__}")
    others = iter(partitions_of([part for part in X if not isinstance(part, Delayed)] or [("", "")]))
    return [_delayed(str(i), part) if isinstance(part, Delayed) else next(others) for i, part in enumerate(X)]


def _delayed(name: str, block: Delayed) -> DelayedPartition:
    part = dask.delayed(_part, pure=False)
    return DelayedPartition(name, part(block, 0), part(block, 1), part(block, 2))


def _part(block: Any, i: int) -> Any:
    return block[i] if i < len(block) else None


def _blocks(collection: Any, like: Any = None) -> list[Any]:
    """The delayed blocks of rows; of an array whose features are cut, too, whole rows."""
    if not is_collection(collection):
        raise ValueError(f"expected a collection of Dask's, got {type(collection).__name__}")
    if not hasattr(collection, "numblocks") and not hasattr(collection, "simplify"):
        raise ValueError(f"expected an array or a data frame of Dask's, got a {type(collection).__name__}")
    if not hasattr(collection, "numblocks"):
        # Simplified, it reads its own columns alone; optimized, a target of many files might be read in fewer blocks.
        return list(collection.simplify().to_delayed(optimize_graph=False))
    if collection.ndim > 1 and collection.numblocks[1] > 1:
        collection = collection.rechunk({1: -1})
    if like is not None and hasattr(like, "numblocks") and not np.isnan(sum(like.chunks[0])):
        collection = collection.rechunk({0: like.chunks[0]})
    return list(collection.to_delayed().reshape(-1))


def mapped(model: Any, method: str, X: Any, **options: Any) -> Any:
    """Return what a method of a fitted model says of each block of rows, computed when it is asked for; options are the
    method's, and for arrays only."""
    example = _example(model, method, options)
    shared = dask.delayed(model, traverse=False, pure=False)
    if hasattr(X, "numblocks"):
        rows = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        chunks = {"drop_axis": 1} if example.ndim == 1 else {"chunks": (rows.chunks[0], (example.shape[1],))}
        return rows.map_blocks(
            _applied, model=shared, method=method, options=options, dtype=example.dtype, meta=example[:0], **chunks
        )
    if options:
        raise ValueError(f"{method} of rows in a data frame of Dask's: give it an array, frame.to_dask_array()")
    return X.map_partitions(predict_frame, shared, method, meta=predict_frame(X._meta, model, method))


def predict(model: Any, frame: Any, *, method: str = "predict", keep: Sequence[str] = ()) -> Any:
    """Return a model's predictions for a data frame of Dask's, such as one of many Parquet files, lazily.

    Parameters
    ----------
    model : estimator or StreamPipeline
    frame : dask.dataframe.DataFrame
        Has the model's columns by their names, in any order and among others.
    method : {"predict", "predict_proba", "decision_function"}
    keep : sequence of str
        Columns of the frame that come first in the result.

    Returns
    -------
    dask.dataframe.DataFrame
        As `onkel.partitions.predict_arrow` makes it of each partition.
    """
    local = model.to_local() if hasattr(model, "to_local") else model
    shared = dask.delayed(local, traverse=False, pure=False)
    meta = _predicted(frame._meta, local, method, list(keep))
    return frame.map_partitions(_predicted, shared, method, list(keep), meta=meta)


def _predicted(frame: Any, model: Any, method: str, keep: list[str]) -> Any:
    import pyarrow as pa

    predicted = predict_arrow(model, pa.Table.from_pandas(frame, preserve_index=False), method=method, keep=keep)
    return predicted.to_pandas().set_index(frame.index)


def predict_frame(frame: object, model: object, method: str) -> Any:
    """Return what a method says of the rows of a pandas frame: a series, or a frame with one column per class."""
    columns = _predicted(frame, model, method, [])
    return columns.iloc[:, 0] if columns.shape[1] == 1 else columns


def _example(model: Any, method: str, options: dict[str, Any]) -> Any:
    """The method's answer for one row, whose type and shape all others have."""
    dtype = model._fitted().dtype if hasattr(model, "_fitted") else "float64"
    return _answer(model, method, np.zeros((1, model.n_features_in_), dtype), options)


def _answer(model: Any, method: str, rows: Any, options: dict[str, Any]) -> Any:
    """What a method says of rows; two answers, as with `return_std`, are two columns."""
    answer = getattr(model, method)(rows, **options)
    return np.column_stack(answer) if isinstance(answer, tuple) else np.asarray(answer)


def _applied(rows: Any, model: Any, method: str, options: dict[str, Any]) -> Any:
    if rows.shape[0] == 0:
        return _example(model, method, options)[:0]
    return _answer(model, method, rows, options)
