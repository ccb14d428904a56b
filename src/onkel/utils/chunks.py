"""Chunks of rows, ``(X, y)`` or ``(X, y, sample_weight)``, and where they are cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Chunk = tuple[Any, ...]


def n_rows(chunk: Chunk) -> int:
    """Return the number of rows of a chunk."""
    rows = chunk[0]
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def cut(chunk: Chunk, rows: slice) -> Chunk:
    """Return some rows of a chunk; an entry that is None stays None."""
    return tuple(None if part is None else part.iloc[rows] if hasattr(part, "iloc") else part[rows] for part in chunk)


class Cuts:
    """Cuts the chunks of a stream after the rows where something is due.

    Parameters
    ----------
    due : iterator of int
        Numbers of rows, ascending and endless.
    rows : int, default=0
        Number of rows before the first chunk.

    Examples
    --------
    >>> import itertools
    >>> cuts = Cuts(itertools.count(4, 4))
    >>> [list(cuts.pieces(([1] * n, [2] * n))) for n in (3, 3)]
    [[(([1, 1, 1], [2, 2, 2]), False)], [(([1], [2]), True), (([1, 1], [2, 2]), False)]]
    """

    def __init__(self, due: Iterator[int], rows: int = 0) -> None:
        self.rows = rows  # the number of rows of the pieces so far
        self._due = due
        self._next = next(due)

    def pieces(self, chunk: Chunk, begin: int = 0, *, whole: bool = False) -> Iterator[tuple[Chunk, bool]]:
        """Cut a chunk from row `begin` on, or leave it whole; yield each piece and whether something is then due."""
        n = n_rows(chunk)
        while begin < n:
            end = n if whole else min(n, begin + self._next - self.rows)
            piece = chunk if end - begin == n else cut(chunk, slice(begin, end))
            self.rows += end - begin
            begin = end
            is_due = self.rows >= self._next
            while self.rows >= self._next:
                self._next = next(self._due)
            yield piece, is_due
