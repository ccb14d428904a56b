"""Streams of rows, larger than memory or without an end (docs/streams.md).

>>> import numpy as np, onkel
>>> model = onkel.SPAClassifier(gamma=1.0, random_state=0)
>>> with onkel.streams.open((np.eye(4), [0, 1, 0, 1]), chunk_rows=2) as stream:
...     for X, y in stream:
...         model = model.partial_fit(X, y, classes=[0, 1])
>>> model.t_
4
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any

from onkel.streams import _objects, _tables, generators
from onkel.streams._bytes import COMPRESSIONS, Bytes
from onkel.streams._csv import CsvStream
from onkel.streams._files import FilesStream
from onkel.streams._files import files_of as files_of
from onkel.streams._kafka import SCHEME, KafkaStream
from onkel.streams._libsvm import LibsvmStream
from onkel.streams._stream import Stream
from onkel.utils.validation import check_choice, check_flag

__all__ = ["FORMATS", "Stream", "generators", "open"]

FORMATS = ("libsvm", "csv", "tsv", "parquet", "arrow", "npy")
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".npy": "npy"}


def open(
    source: Any,
    *,
    format: str | None = None,
    target: str | int | bool | None = None,
    columns: Sequence[str | int] | None = None,
    drop: Sequence[str | int] | None = None,
    table: bool = False,
    header: bool | None = None,
    delimiter: str | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    dense: bool = False,
    dtype: str | None = None,
    chunk_rows: int = 4096,
    on_error: str = "raise",
) -> Stream:
    """Open a stream of ``(X, y)`` chunks.

    Parameters
    ----------
    source : path, "-", binary file, arrays, data frame or iterable
        A file, plain or compressed (.gz, .bz2, .xz, .zst); a folder, or a pattern such as ``"parts/*.parquet"``, whose
        files of one form are read one after the other in the order of their names; standard input; an open file;
        ``(X, y)`` or ``X`` alone: arrays, a sparse matrix, a frame of pandas or polars; or any iterable of rows
        ``(x, y)`` or chunks ``(X, y)``.
        ``"kafka://HOST:PORT/TOPIC"`` is a topic whose records are rows as JSON (docs/streams.md).
    format : {"libsvm", "csv", "tsv", "parquet", "arrow", "npy"}, default=None
        None goes by the file's name, whatever its compression; a name that says nothing means LIBSVM text.
    target : str, int or False, default=None
        The target's column, by name or by number from 0. None is the column of a file that is called target, label,
        class or y, or else its last one, and no column of an object. False reads rows without a target: y is None;
        LIBSVM text may then lack labels.
    columns : sequence of str or int, default=None
        The features' columns; None is all but the target.
    drop : sequence of str or int, default=None
        Columns that are not features.
    table : bool, default=False
        Whether chunks are tables, with names and types, rather than arrays: columns may then be text, dates, booleans
        and numbers, with gaps, as a `StreamEncoder` takes them.
    header : bool, default=None
        Whether the first line of CSV text names the columns; None: if no field of it is a number.
    delimiter : str, default=None
        Of CSV text; None is the comma, and the tab for "tsv".
    n_features : int, default=None
        Of LIBSVM text. Without it the highest index of a file is looked for first, for which a file of more than
        32 MiB is read twice; of a pipe the first chunk decides, and a higher index later is an error.
    zero_based : bool, default=False
        Whether the indices of LIBSVM text count from 0.
    dense : bool, default=False
        Whether sparse rows become arrays.
    dtype : {"float64", "float32"}, default=None
        Of X; None keeps float32 arrays as they are and makes everything else float64.
    chunk_rows : int, default=4096
        The most rows of a chunk.
    on_error : {"raise", "skip"}
        Whether a row that is wrong stops the stream, with its place and what was expected, or is left out and counted:
        `Stream.skipped`, `Stream.problems`, and one warning at the end. The rows before it are handed out first.

    Returns
    -------
    Stream

    Examples
    --------
    >>> import io, onkel
    >>> text = io.BytesIO(b"+1 1:0.5 3:2  # a comment\\n-1 2:1\\n")
    >>> X, y = next(onkel.streams.open(text, dense=True))
    >>> X.tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    >>> next(onkel.streams.open(io.BytesIO(b"1 3:1 2:1\\n")))
    Traceback (most recent call last):
    ...
    ValueError: a BytesIO, line 1, column 7: expected an index greater than 3, got '2:1'
    """
    options = {name: value for name, value in locals().items() if name != "source"}
    if format is not None:
        check_choice("format", format, FORMATS)
    if files := files_of(source):

        def one_of(file: str, n: int | None) -> Stream:
            is_libsvm = (format or format_of(file)) == "libsvm"
            return open(file, **{**options, **({"n_features": n} if n is not None and is_libsvm else {})})

        return FilesStream(os.fspath(source), files, one_of)
    if dtype is not None:
        check_choice("dtype", dtype, ("float64", "float32"))
    if target is True:
        raise ValueError("target must be a column's name or number, False or None, got True")
    check_flag("dense", dense)
    check_flag("table", table)
    check_flag("zero_based", zero_based)
    is_file = isinstance(source, str | os.PathLike) or hasattr(source, "read")
    kind = (format or format_of(source)) if is_file else "object"
    if isinstance(source, str) and source.startswith(SCHEME):
        if format is not None:
            raise ValueError(f"format is for files, and the source is {source}")
        kind = "kafka"
    for name, value, formats in (
        ("n_features", n_features, ("libsvm",)),
        ("zero_based", zero_based or None, ("libsvm",)),
        ("drop", drop, ("csv", "tsv", "parquet", "arrow", "npy", "object")),
        ("table", table or None, ("csv", "tsv", "parquet", "arrow", "object")),
        ("columns", columns, ("csv", "tsv", "parquet", "arrow", "npy", "object", "kafka")),
        ("header", header, ("csv", "tsv")),
        ("delimiter", delimiter, ("csv", "tsv")),
    ):
        if value is not None and kind not in formats:
            raise ValueError(f"{name} is for {', '.join(formats)}, and the source is {kind}")
    common: dict[str, Any] = {"chunk_rows": chunk_rows, "on_error": on_error}
    if kind == "object":
        return _objects.opened(
            source, _objects.Options(target, columns, dtype, chunk_rows, on_error, dense, drop, table)
        )
    if kind == "libsvm":
        if target not in (None, False):
            raise ValueError(f"the target of LIBSVM text is its label: target must be None or False, got {target!r}")
        common |= {"n_features": n_features, "labelled": target is None, "zero_based": zero_based, "dense": dense}
        return _of_text(LibsvmStream, source, dtype=dtype or "float64", **common)
    common |= {"target": target, "columns": columns}
    if kind == "kafka":
        return KafkaStream(source, dtype=dtype, **common)
    common["drop"] = drop
    if kind in ("csv", "tsv"):
        common |= {"table": table, "header": header, "delimiter": delimiter or {"csv": ",", "tsv": "\t"}[kind]}
        return _of_text(CsvStream, source, dtype=dtype or "float64", **common)
    if not isinstance(source, str | os.PathLike) or source == "-" or _compression(source):
        raise ValueError(f"{kind} must be a file of its own, not compressed and no pipe, got {source!r}")
    opened = {"parquet": _tables.of_parquet, "arrow": _tables.of_arrow, "npy": _objects.of_npy}[kind]
    if kind != "npy":
        common["table"] = table
    return opened(source, dtype=dtype, **common)


def _of_text(kind: Callable[..., Stream], source: object, **options: Any) -> Stream:
    """Open a stream of text; the file is closed again where the stream refuses it."""
    content = Bytes(source)
    try:
        return kind(content, **options)
    except BaseException:
        content.close()
        raise


def _compression(source: Any) -> bool:
    return PurePath(source).suffix.lower() in COMPRESSIONS


def format_of(source: object) -> str:
    """What a file's name says of its format, without its compression."""
    if not isinstance(source, str | os.PathLike):
        return "libsvm"
    path = PurePath(source)
    suffix = path.with_suffix("").suffix if _compression(path) else path.suffix
    return _SUFFIXES.get(suffix.lower(), "libsvm")
