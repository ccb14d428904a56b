"""What all streams share: chunks of rows, a count of them, a place to go on from, and one rule for wrong rows."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from onkel.streams._columns import labels
from onkel.streams.table import Table
from onkel.utils.labels import is_missing
from onkel.utils.validation import check_choice, check_number

Chunk = tuple[Any, NDArray[Any] | None]
Position = dict[str, int]


class Stream(ABC):
    """Chunks ``(X, y)`` of at most `chunk_rows` rows, one after the other, in memory bounded by the chunk.

    A stream is read once and is its own iterator: a loop goes on from where the last one stopped. Streams are made by
    `onkel.streams.open`, by `onkel.datasets.stream` and by the generators.

    Parameters
    ----------
    name : str
        What messages call it.
    chunk_rows : int
    on_error : {"raise", "skip"}

    Attributes
    ----------
    name : str
    rows : int
        Rows read so far.
    skipped : int
        Rows left out so far because they were wrong (``on_error="skip"``).
    problems : list of str
        What was wrong with the first ten of them.
    n_features : int or None
        None where it is unknown before the first chunk.
    columns : list of str or None
        The features' names, where they have some.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> stream = onkel.streams.open((np.eye(3), [0, 1, 2]), chunk_rows=2)
    >>> [y.tolist() for X, y in stream]
    [[0, 1], [2]]
    >>> stream.rows, stream.fraction()
    (3, 1.0)
    """

    MOST_PROBLEMS = 10

    def __init__(self, name: str, chunk_rows: int, on_error: str = "raise") -> None:
        check_number("chunk_rows", chunk_rows, at_least=1, integer=True)
        check_choice("on_error", on_error, ("raise", "skip"))
        self.name = name
        self.chunk_rows = int(chunk_rows)
        self.on_error = on_error
        self.rows = 0
        self.skipped = 0
        self.problems: list[str] = []
        self.n_features: int | None = None
        self.columns: list[str] | None = None

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        """Return the next chunk."""
        chunk = self._next()
        if chunk is None:
            self._end()
            raise StopIteration
        self.rows += int(chunk[0].shape[0])
        return chunk

    def _end(self) -> None:
        if self.rows == 0:
            why = f" that can be read: {self.problems[0]}" if self.problems else ""
            raise ValueError(f"{self.name} has no rows{why}")
        if self.skipped:
            first = f"; the first: {self.problems[0]}" if self.problems else ""
            warnings.warn(f"{self.skipped} rows of {self.name} were skipped{first}", RuntimeWarning, stacklevel=3)

    @abstractmethod
    def _next(self) -> Chunk | None:
        """Read a chunk of at least one row; None at the end."""

    @abstractmethod
    def position(self) -> Position:
        """Return where the next chunk begins, as JSON."""

    @abstractmethod
    def seek(self, position: Position) -> None:
        """Make the next chunk the one that begins at a position of this stream."""

    def rewind(self) -> None:
        """Go back to the first row, where the source can be read again."""
        self.seek(dict.fromkeys(self.position(), 0))

    def fraction(self) -> float | None:
        """Return how much of the source has been read, from 0 to 1; None where it is unknown."""
        return None

    def close(self) -> None:  # noqa: B027
        """Release the source."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _count_from(self, position: Position) -> None:
        self.rows, self.skipped = position["rows"], position["skipped"]
        self.problems = self.problems if self.skipped else []

    def _wrong(self, problem: str) -> None:
        """A row is wrong: stop with what is wrong with it, or note it and leave the row out."""
        if self.on_error == "raise":
            raise ValueError(problem)
        self.skipped += 1
        if len(self.problems) < self.MOST_PROBLEMS:
            self.problems.append(problem)


def check_position(stream: Stream, position: object) -> Position:
    """Refuse what is no position of such a stream."""
    expected = stream.position()
    if not isinstance(position, dict) or position.keys() != expected.keys():
        raise ValueError(f"a position of {stream.name} must be a dict of {', '.join(expected)}, got {position!r}")
    for name, value in position.items():
        check_number(f"{name} of a position", value, at_least=0, integer=True)
    return {name: int(value) for name, value in position.items()}


class RowStream(Stream):
    """A stream of rows that are numbers in arrays, wherever they come from.

    Rows with a missing or an infinite number are wrong. Those before a wrong row are handed out before it is reported,
    so that what was learned does not depend on where a chunk ends.

    A position counts the source's rows: those read and those skipped.
    """

    def __init__(self, name: str, chunk_rows: int, on_error: str = "raise") -> None:
        super().__init__(name, chunk_rows, on_error)
        self._waiting: Chunk | None = None  # begins with a wrong row

    @property
    def _row(self) -> int:
        """The source's next row."""
        return self.rows + self.skipped

    @abstractmethod
    def _read(self) -> Chunk | None:
        """Read the next rows of the source without checking them; None at the end."""

    @abstractmethod
    def _go_to(self, row: int) -> None:
        """Make a row the source's next one."""

    def position(self) -> Position:
        """Return where the next chunk begins, as JSON."""
        return {"rows": self.rows, "skipped": self.skipped}

    def seek(self, position: Position) -> None:
        """Make the next chunk the one that begins at a position of this stream."""
        checked = check_position(self, position)
        self._waiting = None
        self._go_to(checked["rows"] + checked["skipped"])
        self._count_from(checked)

    def _next(self) -> Chunk | None:
        while True:
            chunk = self._waiting or self._read()
            self._waiting = None
            if chunk is None or chunk[0].shape[0] == 0:
                return None
            good = self._n_good(*chunk)
            if good == chunk[0].shape[0]:
                return chunk
            if self.on_error == "skip":
                chunk = self._good_rows(*chunk)
                if chunk[0].shape[0]:
                    return chunk
            elif good:
                self._waiting = cut(chunk, slice(good, None))
                return cut(chunk, slice(0, good))
            else:
                self._waiting = chunk
                self._wrong(self._problem(*chunk, 0, self._row))

    def _n_good(self, X: Any, y: NDArray[Any] | None) -> int:
        """How many rows there are before the first wrong one."""
        if isinstance(X, Table):
            good = self._are_good(X, y)
            return int(X.shape[0]) if good.all() else int(good.argmin())
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(X.data.sum() if issparse(X) else X.sum()) and (y is None or y.dtype.kind not in "fO"):
                return int(X.shape[0])
        good = self._are_good(X, y)
        return int(X.shape[0]) if good.all() else int(good.argmin())

    def _are_good(self, X: Any, y: NDArray[Any] | None) -> NDArray[np.bool_]:
        if isinstance(X, Table):  # in which values may be missing
            good = np.ones(X.shape[0], bool)
        elif issparse(X):
            good = np.ones(X.shape[0], bool)
            good[np.searchsorted(X.indptr, np.flatnonzero(~np.isfinite(X.data)), side="right") - 1] = False
        else:
            good = np.isfinite(X).all(axis=1)
        if y is not None and y.dtype.kind == "f":
            good &= np.isfinite(y)
        if y is not None and y.dtype.kind == "O":
            good &= np.array([not is_missing(value) for value in y])
        return good

    def _good_rows(self, X: object, y: NDArray[Any] | None) -> Chunk:
        good = self._are_good(X, y)
        first = self._row
        for i in np.flatnonzero(~good).tolist():
            self._wrong(self._problem(X, y, i, first + i))
        return cut((X, y), good)

    def _problem(self, X: Any, y: NDArray[Any] | None, i: int, row: int) -> str:
        """What is wrong with row i of a chunk; messages number rows and columns from 1."""
        values = np.empty(0) if isinstance(X, Table) else X[[i]].toarray()[0] if issparse(X) else X[i]
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad) == 0:
            return f"{self.name}, row {row + 1}: expected a target, got {None if y is None else y[i]}"
        column = f"column {bad[0] + 1}" + (f" ({self.columns[bad[0]]!r})" if self.columns else "")
        return f"{self.name}, row {row + 1}, {column}: expected a finite number, got {values[bad[0]]}"


class ArrayStream(RowStream):
    """Rows that can be asked for by their numbers: arrays, sparse matrices, memory-mapped files, generators."""

    def __init__(
        self,
        name: str,
        read: Callable[[int, int], Chunk],
        n_rows: int | None,
        n_features: int,
        chunk_rows: int,
        on_error: str = "raise",
    ) -> None:
        super().__init__(name, chunk_rows, on_error)
        self.n_rows = n_rows
        self.n_features = n_features
        self._read_rows = read
        self._at = 0

    def _read(self) -> Chunk | None:
        end = self._at + self.chunk_rows if self.n_rows is None else min(self._at + self.chunk_rows, self.n_rows)
        if end <= self._at:
            return None
        chunk = self._read_rows(self._at, end)
        self._at = end
        return chunk

    def _go_to(self, row: int) -> None:
        if self.n_rows is not None and row > self.n_rows:
            raise ValueError(f"{self.name} has {self.n_rows} rows, and the position is row {row}: another stream")
        self._at = row

    def fraction(self) -> float | None:
        """Return how much of the source has been read, from 0 to 1; None for a stream without an end."""
        return None if self.n_rows is None else self._row / max(1, self.n_rows)


class BlockStream(RowStream):
    """Rows that come in blocks of any size, in one order: tables on disk, iterables. Long blocks are cut.

    Where a row cannot be made into numbers at all, what is wrong with it comes as a string in its place.
    """

    def __init__(
        self, name: str, blocks: Callable[[], Iterator[Chunk | str]], chunk_rows: int, on_error: str, again: bool = True
    ) -> None:
        super().__init__(name, chunk_rows, on_error)
        self._blocks = blocks
        self._again = again  # whether `blocks` can be asked for a second time
        self._iterator: Iterator[Chunk | str] | None = None
        self._block: Chunk | str | None = None
        self._used = 0  # rows of the block
        self._at = 0  # rows of the source

    def _read(self) -> Chunk | None:
        if self._iterator is None:
            self._iterator = self._blocks()
        while self._block is None or isinstance(self._block, str) or self._used == self._block[0].shape[0]:
            if isinstance(self._block, str):
                self._wrong(self._block)
                self._at += 1
            self._block, self._used = next(self._iterator, None), 0
            if self._block is None:
                return None
        chunk = cut(self._block, slice(self._used, self._used + self.chunk_rows))
        self._used += int(chunk[0].shape[0])
        self._at += int(chunk[0].shape[0])
        return chunk

    def _go_to(self, row: int) -> None:
        if row < self._at:
            if not self._again:
                raise ValueError(f"{self.name} can be read only once, and its row {row + 1} has been read")
            self.close()
        while self._at < row:
            if self._read() is None:
                raise ValueError(f"{self.name} has {self._at} rows, and the position is row {row}: another stream")
        self._used -= self._at - row
        self._at = row

    def close(self) -> None:
        """Release the source."""
        self._iterator, self._block, self._used, self._at = None, None, 0, 0


def cut(chunk: Chunk, rows: Any) -> Chunk:
    """Some rows of a chunk."""
    X, y = chunk
    return X[rows], None if y is None else labels(y[rows])
