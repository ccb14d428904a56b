"""The rows of DATA: with a preview of the first rows, a limit, and the columns in the model's order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

import onkel
from onkel.streams.table import Table
from onkel.utils.chunks import Chunk, cut
from onkel.utils.labels import UnknownLabel, joined, places

FIRST_ROWS = 4096  # that are previewed before anything is learned


class PreviewedRows:
    """A stream whose first rows may be previewed, that may end early, and some of whose columns are not features."""

    def __init__(self, stream: Any, limit: int | None = None) -> None:
        self.stream = stream
        self.name: str = stream.name
        self.limit = limit
        self.dense = False  # whether sparse rows are converted to dense ones
        self.weight: str | None = None  # the column of the weights
        self.id: str | None = None  # the column that identifies the rows
        self.goal: str | None = None  # the column of the target, where the stream takes it for a feature
        self.ids: list[Any] | None = None  # of the chunk handed out last
        self._order: list[int] | None = None  # of the columns, where the model has another one
        self._seen: list[Chunk] = []  # previewed, not handed out yet
        self._starts: list[Any] = []  # where the previewed chunks begin
        self._out: Any = None  # the chunk handed out last: its first row's number, its targets and weights

    def set_aside(self, weight: str | None, id: str | None) -> None:
        """Remove columns that are not features from the rows."""
        for what, name in (("weight", weight), ("id", id)):
            if name is not None and name not in (self.stream.columns or []):
                raise ValueError(f"{self.name} has no column {name!r} for --{what}")
        self.weight, self.id = weight, id

    @property
    def names(self) -> list[str] | None:
        """Names of the features, or None."""
        columns: list[str] | None = self.stream.columns
        return None if columns is None else [name for name in columns if name not in (self.weight, self.id, self.goal)]

    def take(self, names: list[str]) -> None:
        """Hand out the columns of these names, in their order; refuse where they are not the stream's own."""
        found = self.names
        if found is None or found == names:
            return
        for what, some, others in (("has no column", names, found), ("has a column", found, names)):
            unknown = [name for name in some if some.count(name) != others.count(name)]
            if unknown:
                more = "" if what == "has no column" else " too many"
                remedy = f" (--drop {','.join(unknown)} leaves out what is no feature)" if more else ""
                raise ValueError(
                    f"{self.name} {what} {unknown[0]!r}{more}: the model's columns are "
                    f"{', '.join(map(repr, names))}{remedy}"
                )
        if len(set(names)) < len(names):
            raise ValueError(f"{self.name} has its columns in another order than the model, and some names occur twice")
        self._order = [found.index(name) for name in names]

    def peek(self) -> Chunk:
        """Return the first rows, which stay in the stream: always the same number, however slow a pipe is."""
        n_rows = 0
        while n_rows < FIRST_ROWS:
            start = self._place()
            chunk = next(self.stream, None)
            if chunk is None:
                break
            self._seen.append(chunk)
            self._starts.append(start)
            n_rows += chunk[0].shape[0]
        if not self._seen:
            raise ValueError(f"{self.name} has no rows")
        X, y = joined_chunks(self._seen)
        first = slice(min(FIRST_ROWS, self.limit or FIRST_ROWS))
        return self._separated(X[first])[0], None if y is None else y[first]

    def _place(self) -> Any:
        """Where the stream's next chunk begins, if that can be said."""
        return None

    @property
    def rows(self) -> int:
        """Number of rows handed out, including those of the source that were cut off the end of a chunk."""
        return int(self.stream.rows - sum(chunk[0].shape[0] for chunk in self._seen))

    def __iter__(self) -> Iterator[Chunk]:
        while self.limit is None or self.rows < self.limit:
            before = self.rows
            chunk = self._seen.pop(0) if self._seen else next(self.stream, None)
            if chunk is None:
                return
            X, y = chunk if self.limit is None else cut(chunk, slice(self.limit - before))
            if self.goal is not None:
                y = X.column(self.goal)
            X, weights, self.ids = self._separated(X)
            if self._order is not None:
                X = (
                    X.of_names([(self.names or [])[i] for i in self._order])
                    if isinstance(X, Table)
                    else X[:, self._order]
                )
            X = X.toarray() if self.dense and issparse(X) else X
            self._out = before, y, weights
            yield (X, y) if weights is None else (X, y, weights)

    def _separated(self, X: Any) -> tuple[Any, NDArray[Any] | None, list[Any] | None]:
        """The features, the weights and the names of rows."""
        aside = [name for name in (self.weight, self.id, self.goal) if name is not None]
        if not aside:
            return X, None, None
        if isinstance(X, Table):
            weights = (
                None if self.weight is None else Table((self.weight,), (X.column(self.weight),), X.typed).numbers()
            )
            ids = None if self.id is None else X.column(self.id).tolist()
            return X.without(aside), None if weights is None else weights[:, 0], ids
        places_of = {name: (self.stream.columns or []).index(name) for name in aside}
        kept = [i for i in range(X.shape[1]) if i not in places_of.values()]
        weights = None if self.weight is None else X[:, places_of[self.weight]].astype(np.float64)
        return X[:, kept], weights, None if self.id is None else X[:, places_of[self.id]].tolist()

    @contextmanager
    def locating_labels(self, classes: NDArray[Any] | None) -> Iterator[None]:
        """Report the row of the data where the model refuses a label."""
        try:
            yield
        except UnknownLabel as error:
            assert classes is not None  # otherwise any label is accepted
            before, y, weights = self._out
            unknown = ~places(classes, y)[1] & (True if weights is None else weights != 0)
            if not unknown.any():
                raise
            row = int(unknown.argmax())
            expected = " and ".join(str(plain(label)) for label in classes.tolist())
            raise ValueError(
                f"{self.name}, row {before + row + 1:,}: the label {plain(y.item(row))} is not one of {expected}, "
                "the classes so far; name all labels with --classes"
            ) from error

    def fraction(self) -> float | None:
        """Return the fraction that has been read; None if it is unknown."""
        read: float | None = self.stream.fraction()
        if self.limit is None:
            return read
        return min(1.0, max(read or 0.0, self.rows / self.limit))

    def shuffled(self, seed: int) -> SeekableRows:
        """Return the rows in a random order; all of them are in memory then."""
        chunks, n_rows = [], 0
        while (self.limit is None or n_rows < self.limit) and (chunk := next(self.stream, None)) is not None:
            chunks.append(chunk)
            n_rows += chunk[0].shape[0]
        if not chunks:
            raise ValueError(f"{self.name} has no rows")
        X, y = joined_chunks(chunks)
        if y is None:
            raise ValueError(f"{self.name} has no target to learn from: name its column with --target")
        order = np.random.default_rng(seed).permutation(min(len(y), self.limit or len(y)))
        stream = onkel.streams.open([(X[order], y[order])], table=isinstance(X, Table))
        stream.name, stream.columns = self.name, self.stream.columns
        seekable = SeekableRows(stream)
        seekable.weight, seekable.id = self.weight, self.id
        return seekable


class SeekableRows(PreviewedRows):
    """The same for a stream that can be read again."""

    def _place(self) -> Any:
        return self.stream.position()

    def position(self) -> Any:
        """Return the position of the next chunk."""
        return self._starts[-len(self._seen)] if self._seen else self._place()

    def seek(self, position: Any) -> None:
        """Go to a position, so that the next chunk is the one that begins there."""
        self._seen = []
        self.stream.seek(position)


def joined_chunks(chunks: list[Chunk]) -> Chunk:
    """Return the rows and targets of several chunks."""
    parts = [X for X, _ in chunks]
    if isinstance(parts[0], Table):
        X: Any = Table.joined(parts)
    else:
        X = (vstack if issparse(parts[0]) else np.concatenate)(parts)
    return X, None if chunks[0][1] is None else joined(y for _, y in chunks)


def plain(label: object) -> Any:
    """Return a label as it is usually written: LIBSVM's classes are whole numbers.

    >>> plain(-1.0), plain(0.5), plain("yes")
    (-1, 0.5, 'yes')
    """
    return int(label) if isinstance(label, float) and label.is_integer() else label
