"""The papers' data sets: found, fetched, checked, read (docs/streams.md).

The table is ``sets.tsv`` beside this file.

>>> from onkel.streams import datasets
>>> datasets.info("a9a").rows, datasets.info("a9a").features
(32561, 123)
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

from onkel import streams
from onkel.streams import Stream
from onkel.streams.datasets import _formats
from onkel.streams.datasets.store import File, found
from onkel.utils.validation import check_number

__all__ = ["Dataset", "info", "load", "names", "paths", "stream"]


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set.

    Parameters
    ----------
    name : str
    rows : int
    features : int
    task : {"binary", "multiclass", "regression"}
    scaling : str
        What the features need before a gaussian kernel: "as it is", "min-max", "standard", "divide by 255".
    order : {"any", "shuffle", "stream"}
        "shuffle": the file holds blocks of one class; "stream": the order is that of time, and must be kept.
    format : str
        Of the files.
    note : str
    files : tuple of File
        The rows, and the labels where they are in a file of their own; each with its checksums and its origin.
    """

    name: str
    rows: int
    features: int
    task: str
    scaling: str
    order: str
    format: str
    note: str
    files: tuple[File, ...]


@cache
def _table() -> dict[str, Dataset]:
    rows: dict[str, list[dict[str, str]]] = {}
    with (files("onkel.streams.datasets") / "sets.tsv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            rows.setdefault(row["name"], []).append(row)
    return {name: _dataset(name, parts) for name, parts in rows.items()}


def _dataset(name: str, parts: list[dict[str, str]]) -> Dataset:
    first = parts[0]
    known = {field: first[field] for field in ("task", "scaling", "order", "format", "note")}
    kept = (
        File(
            row["file"], row["sha256"], row["content"], row["exact"] == "yes", None if row["url"] == "-" else row["url"]
        )
        for row in parts
    )
    return Dataset(name, int(first["rows"]), int(first["features"]), files=tuple(kept), **known)


def names() -> list[str]:
    """Return the names of all data sets.

    Examples
    --------
    >>> "cod-rna" in names()
    True
    """
    return list(_table())


def info(name: str) -> Dataset:
    """Return what is known of a data set.

    Examples
    --------
    >>> info("cod-rna").scaling
    'min-max'
    """
    if name not in _table():
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(names())}")
    return _table()[name]


def paths(name: str) -> list[Path]:
    """Return where the files of a data set are, found or fetched as `load` does, each with the right checksum."""
    return [found(name, file) for file in info(name).files]


def load(name: str, *, dtype: str = "float64") -> tuple[Any, NDArray[Any]]:
    """Return a data set whole: X (CSR where the file is LIBSVM text) and y.

    The files are looked for in the folder that the environment variable ONKEL_DATA names, then in the cache
    (ONKEL_CACHE, or the user's), and fetched from their origin otherwise. What is found is checked: its checksum, and
    the number of rows and features.

    Parameters
    ----------
    name : str
        One of `names`.
    dtype : {"float64", "float32"}

    Returns
    -------
    X : ndarray or csr_array of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    """
    chunks = list(stream(name, dtype=dtype))
    sparse = issparse(chunks[0][0])
    X = vstack([X for X, _ in chunks], format="csr") if sparse else np.concatenate([X for X, _ in chunks])
    y = np.concatenate([np.asarray(y) for _, y in chunks])
    dataset = info(name)
    if X.shape != (dataset.rows, dataset.features):
        raise ValueError(
            f"{name} should have {dataset.rows} rows of {dataset.features} features, and has the shape {X.shape}"
        )
    return X, y


def stream(
    name: str,
    *,
    shuffle: int | None = None,
    dense: bool = False,
    dtype: str = "float64",
    chunk_rows: int = 4096,
) -> Stream:
    """Open a stream of a data set.

    Parameters
    ----------
    name : str
        One of `names`.
    shuffle : int, default=None
        The seed of a random order, for which the whole set is read into memory; None is the file's order.
    dense : bool, default=False
        Whether sparse rows become arrays.
    dtype : {"float64", "float32"}
    chunk_rows : int, default=4096

    Returns
    -------
    Stream
    """
    dataset = info(name)
    if shuffle is not None:
        check_number("shuffle", shuffle, at_least=0, integer=True)
        X, y = load(name, dtype=dtype)
        order = np.random.default_rng(shuffle).permutation(dataset.rows)
        stream = streams.open((X[order], y[order]), dense=dense, chunk_rows=chunk_rows)
    else:
        stream = _formats.opened(dataset, paths(name), dense=dense, dtype=dtype, chunk_rows=chunk_rows)
    stream.name = name
    return stream
