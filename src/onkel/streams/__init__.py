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
from pathlib import PurePath
from typing import Any

from onkel._checks import check_choice, check_flag
from onkel.streams import _objects
from onkel.streams._bytes import COMPRESSIONS
from onkel.streams._libsvm import LibsvmStream
from onkel.streams._stream import Stream

__all__ = ["FORMATS", "Stream", "open"]

FORMATS = ("libsvm",)
_SUFFIXES = {".csv": "csv", ".tsv": "tsv", ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow", ".npy": "npy"}


def open(
    source: Any,
    *,
    format: str | None = None,
    target: Any = None,
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
    source : path, "-", binary file, arrays or iterable
        A file, plain or compressed (.gz, .bz2, .xz, .zst); standard input; an open file; ``(X, y)`` or ``X`` alone,
        arrays or a sparse matrix; or any iterable of rows ``(x, y)`` or of chunks ``(X, y)``.
    format : {"libsvm"}, default=None
        None goes by the file's name, whatever its compression; a name that says nothing means LIBSVM text.
    target : False, default=None
        False reads rows without a target: y is None.
    n_features : int, default=None
        Of LIBSVM text. Without it a file is read twice, since its highest index must be known first; of a pipe the
        first chunk decides, and a higher index later is an error.
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
    if format is not None:
        check_choice("format", format, FORMATS)
    if dtype is not None:
        check_choice("dtype", dtype, ("float64", "float32"))
    for name, flag in (("zero_based", zero_based), ("dense", dense)):
        check_flag(name, flag)
    common: dict[str, Any] = {"chunk_rows": chunk_rows, "on_error": on_error}
    if not (isinstance(source, str | os.PathLike) or hasattr(source, "read")):
        return _objects.opened(source, target=target, dense=dense, dtype=dtype, **common)
    labelled = target is None
    return LibsvmStream(
        source,
        n_features=n_features,
        dtype=dtype or "float64",
        labelled=labelled,
        zero_based=zero_based,
        dense=dense,
        **common,
    )


def _format_of(source: Any) -> str:
    """What a file's name says of its format, without its compression."""
    if not isinstance(source, str | os.PathLike):
        return "libsvm"
    path = PurePath(source)
    suffix = path.with_suffix("").suffix if path.suffix.lower() in COMPRESSIONS else path.suffix
    return _SUFFIXES.get(suffix.lower(), "libsvm")
