"""The rows kept of a leaf: the latest ones, with the scores from before each was learned from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from onkel.choice.rows import Rows, as_wide_as_one_another

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class Scored(NamedTuple):
    """Dense rows in order, with their scores, and their positions in the stream."""

    rows: Rows
    scores: Floats
    positions: Places

    def of(self, some: Any) -> Scored:
        """Return some of them, by a slice or by which."""
        rows = Rows(self.rows.rows[some], self.rows.y[some], self.rows.weight[some])
        return Scored(rows, self.scores[some], self.positions[some])

    def since(self, position: int) -> Scored:
        """Return those from this position of the stream on."""
        return self.of(self.positions >= position)

    def before(self, position: int, n_rows: int, n_outputs: int) -> Scored:
        """Return the last rows before this position, so many, with the scores of so many outputs."""
        some = self.of(self.positions < position).of(slice(-n_rows, None))
        return some._replace(scores=np.ascontiguousarray(some.scores[:, :n_outputs]))

    @classmethod
    def joined(cls, pieces: Sequence[Scored]) -> Scored:
        """Join some, as dense rows."""
        parts = [
            Rows(each.rows.toarray(), each.y, each.weight) if issparse(each.rows) else each
            for each in (piece.rows for piece in pieces)
        ]
        rows = Rows(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("rows", "y", "weight")))
        scores = as_wide_as_one_another([piece.scores for piece in pieces])
        return Scored(rows, scores, np.concatenate([piece.positions for piece in pieces]))


class Kept:
    """The latest rows of a leaf, in pieces that are joined on demand, and when it is divided. Nothing changes in place.

    Rows that are mostly zeros, as those of encoded categories, are kept as sparse ones where these take less.

    Parameters
    ----------
    pieces : sequence of Scored
    count : int
        How many rows are kept, the last ones of the pieces.
    due : int
        The number of rows since the birth of the leaf after which it may be divided.
    """

    def __init__(self, pieces: Sequence[Scored], count: int, due: int) -> None:
        self._pieces, self._count, self.due = list(pieces), count, due

    def extended_by(self, piece: Scored, most: float) -> Kept:
        """Return what is kept with further rows, and only the last ``most`` of all."""
        pieces = [*self._pieces, packed(piece)]
        more = Kept(pieces, int(min(self._count + len(piece.positions), most)), self.due)
        if sum(len(each.positions) for each in pieces) > 2 * most:
            return Kept([packed(more.all)], more._count, self.due)
        return more

    def latest(self, most: int) -> Kept:
        """Return what keeps only the last ``most`` rows."""
        return Kept(self._pieces, min(self._count, most), self.due)

    def due_at(self, rows: int) -> Kept:
        """Return the same, to be divided after this number of rows since the birth of the leaf."""
        return Kept(self._pieces, self._count, rows)

    @property
    def all(self) -> Scored:
        """All rows that are kept."""
        return Scored.joined(self._pieces).of(slice(-self._count, None) if self._count else slice(0))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as named arrays."""
        if not self._pieces:
            return {"due": np.array([self.due])}
        if len(self._pieces) > 1 or len(self._pieces[0].positions) > self._count:
            self._pieces = [packed(self.all)]
        rows, scores, positions = self._pieces[0]
        return rows.arrays() | {"scores": scores, "positions": positions, "due": np.array([self.due])}

    @classmethod
    def from_arrays(cls, arrays: Any, n_features: int, dtype: str, most: int, t: int) -> Self:
        """Restore the state from `arrays`; refuse what is not the state of a leaf."""
        names = {"scores", "positions", "due"}
        if not isinstance(arrays, dict) or not (names <= set(arrays) or set(arrays) == {"due"}):
            raise ValueError("a leaf has rows, scores, positions and when it is due")
        if len(arrays) == 1:
            rows = Rows.none(n_features, dtype, sparse=False)
            arrays = arrays | rows.arrays() | {"scores": np.empty((0, 1)), "positions": np.empty(0, np.int64)}
        arrays = dict(arrays)
        scores, positions, due = (arrays.pop(name) for name in ("scores", "positions", "due"))
        rows = Rows.from_arrays(arrays, n_features, dtype, sparse="values" in arrays)
        for name, values, kind in (("positions", positions, np.int64), ("due", due, np.int64)):
            if not isinstance(values, np.ndarray) or values.dtype != kind or values.ndim != 1:
                raise ValueError(f"the {name} of a leaf must be whole numbers")
        if not isinstance(scores, np.ndarray) or scores.dtype != np.float64 or scores.ndim != 2:
            raise ValueError("the scores of a leaf must be numbers, one line for each row")
        ascending = (np.diff(positions, prepend=-1, append=t) > 0).all()
        if len(due) != 1 or due[0] < 0 or len(rows) > most or not np.isfinite(scores).all() or not ascending:
            raise ValueError("the rows that a leaf keeps must be rows of the stream in order")
        if not len(rows) == len(scores) == len(positions):
            raise ValueError("a leaf has a score and a position for each row")
        return cls([Scored(rows, scores, positions)] if len(rows) else [], len(rows), int(due[0]))


def packed(piece: Scored) -> Scored:
    """Return dense rows as sparse ones, where these are kept in fewer bytes."""
    rows, y, weight = piece.rows.rows + 0, piece.rows.y, piece.rows.weight  # no 0 is negative: it would be lost
    saved = rows.nbytes - np.count_nonzero(rows) * (rows.itemsize + 8) - 8 * len(rows)
    return piece._replace(rows=Rows(csr_array(rows) if saved > 0 else rows, y, weight))
