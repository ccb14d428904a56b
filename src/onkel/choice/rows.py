"""The rows kept for choices: the latest ones of a stream, with their labels and weights."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

Floats = NDArray[np.float64]


class Rows:
    """Some rows in order, with their labels and their weights, which are positive."""

    def __init__(self, rows: Any, y: Floats, weight: Floats) -> None:
        self.rows, self.y, self.weight = rows, y, weight

    @classmethod
    def none(cls, n_features: int, dtype: str, sparse: bool) -> Self:
        """Return an empty set of rows with this number of features."""
        shape = (0, n_features)
        return cls(csr_array(shape, dtype=dtype) if sparse else np.empty(shape, dtype), np.empty(0), np.empty(0))

    @classmethod
    def of(cls, rows: Any, places: NDArray[np.intp], y: Floats, weight: Floats, n_features: int | None) -> Self:
        """Return copies of the rows in some places; they are in the core's format, with these labels and weights."""
        if isinstance(rows, tuple):
            values, features, offsets = rows
            rows = csr_array((values, features, offsets), shape=(len(offsets) - 1, n_features))
        return cls(rows[places], y, weight)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, part: slice) -> Rows:
        return Rows(self.rows[part], self.y[part], self.weight[part])

    def copied(self) -> Rows:
        """Return these rows in memory of their own."""
        return Rows(self.rows.copy(), self.y.copy(), self.weight.copy())

    def widened(self, n_features: int) -> Rows:
        """Return these sparse rows with more features, which are 0."""
        parts = self.rows.data, self.rows.indices, self.rows.indptr
        return Rows(csr_array(parts, shape=(len(self), n_features)), self.y, self.weight)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the rows as named arrays."""
        named = {"y": self.y, "weight": self.weight}
        if not issparse(self.rows):
            return named | {"rows": self.rows}
        places = {"features": self.rows.indices.astype(np.int64), "offsets": self.rows.indptr.astype(np.int64)}
        return named | {"values": self.rows.data} | places

    @classmethod
    def from_arrays(cls, arrays: Any, n_features: int | None, dtype: str, sparse: bool) -> Self:
        """Return the rows in these arrays; refuse arrays that are not rows of this kind."""
        if not isinstance(arrays, dict) or not all(isinstance(values, np.ndarray) for values in arrays.values()):
            raise ValueError("the rows that are kept must be arrays")
        arrays = dict(arrays)
        try:
            y, weight = arrays.pop("y"), arrays.pop("weight")
            if "rows" in arrays:
                rows: Any = arrays.pop("rows")
            else:
                parts = [arrays.pop(name) for name in ("values", "features", "offsets")]
                rows = csr_array((parts[0], parts[1].astype(np.int32), parts[2]), shape=(len(y), n_features))
                rows.check_format(full_check=True)
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(f"the rows that are kept are incomplete: {error}") from None
        fits = rows.shape == (len(y), n_features) and weight.shape == y.shape and rows.dtype == dtype
        values = rows.data if issparse(rows) else rows
        if arrays or not fits or y.dtype != np.float64 or weight.dtype != np.float64 or issparse(rows) != sparse:
            raise ValueError("the rows that are kept do not fit the learner")
        if not all(np.isfinite(part).all() for part in (values, y, weight)) or not (weight > 0).all():
            raise ValueError("the rows that are kept must be finite numbers, and their weights positive")
        return cls(rows, y, weight)


class Window:
    """The latest rows of a stream, collected in pieces that are joined on demand."""

    def __init__(self, rows: Rows) -> None:
        self._pieces = [rows]
        # Single rows after all others, not yet joined to a matrix, with their labels: dense rows, or values and
        # features.
        self._ones: list[tuple[NDArray[Any], ...]] = []
        self._held = self._count = len(rows)

    def __len__(self) -> int:
        return self._count

    def add(self, rows: Rows, most: int) -> None:
        """Add rows, and keep the last ``most`` of all."""
        self._collect()
        self._pieces.append(rows)
        self._count_in(len(rows), most)

    def add_one(self, row: Any, y: Floats, most: int) -> None:
        """Add one row of weight 1; a sparse row is given by its values and features. Its label is not copied."""
        self._ones.append((*(part.copy() for part in row[:2]), y) if isinstance(row, tuple) else (row.copy(), y))
        self._count_in(1, most)

    def _count_in(self, more: int, most: int) -> None:
        self._held += more
        self._count = min(self._count + more, most)
        if self._held > 2 * most:
            self._pieces, self._held = [self.rows], self._count

    def __deepcopy__(self, _: Any) -> Window:
        """A window of the same rows, none of which ever changes."""
        other = copy.copy(self)
        other._pieces, other._ones = list(self._pieces), list(self._ones)
        return other

    def _collect(self) -> None:
        """Join the single rows to a matrix."""
        if not self._ones:
            return
        *parts, y = map(list, zip(*self._ones, strict=True))
        rows: Any = np.concatenate(parts[0])
        if len(parts) == 2:
            offsets = np.cumsum([0, *map(len, parts[0])])
            rows = csr_array((rows, np.concatenate(parts[1]), offsets), shape=(len(y), self._pieces[0].rows.shape[1]))
        self._pieces.append(Rows(rows, np.concatenate(y), np.ones(len(y))))
        self._ones = []

    @property
    def rows(self) -> Rows:
        """The rows."""
        self._collect()
        if len(self._pieces) > 1 or len(self._pieces[0]) > self._count:
            rows = _joined(self._pieces)
            self._pieces, self._held = [rows[len(rows) - self._count :]], self._count
        return self._pieces[0]

    def last(self, n: int) -> Rows:
        """Return the last ``n`` rows."""
        self._collect()
        pieces, found = [], 0
        for piece in reversed(self._pieces):
            if found >= n:
                break
            pieces.append(piece)
            found += len(piece)
        return _joined(pieces[::-1])[found - n :]

    def widen(self, n_features: int) -> None:
        """Give sparse rows more features, which are 0."""
        self._collect()
        self._pieces = [piece.widened(n_features) for piece in self._pieces]


def _joined(pieces: list[Rows]) -> Rows:
    if len(pieces) == 1:
        return pieces[0]
    parts = [piece.rows for piece in pieces]
    rows = vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)
    y, weight = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("y", "weight"))
    return Rows(rows, y, weight)


def loss_of(task: str) -> Callable[[Floats, Floats], Floats]:
    """Return the function that computes the loss of each row: the log loss, or the squared error."""
    if task == "regression":
        return lambda scores, y: (scores[:, 0] - y) ** 2
    if task == "binary":
        return lambda scores, y: np.logaddexp(0.0, (1 - 2 * y) * scores[:, 0])
    return _multiclass_loss


def with_known_classes(scores: Floats, y: Floats, n_known: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield rows of several classes in order, those together at which equally many classes were known, with a score for
    each of these alone; ``n_known`` were known before the first row, and a row's own is known at it."""
    widths = np.maximum(np.maximum.accumulate(y + 1), n_known).astype(np.intp)
    for rows in np.split(np.arange(len(y)), np.flatnonzero(np.diff(widths)) + 1):
        if len(rows):
            yield scores[rows, : widths[rows[0]]], y[rows]


def losses_of(task: str, scores: Floats, y: Floats, n_known: int) -> Floats:
    """Return the loss of each row of a stream; of several classes, those known at the row count."""
    if task != "multiclass":
        return loss_of(task)(scores, y)
    return np.concatenate([np.empty(0), *(_multiclass_loss(*part) for part in with_known_classes(scores, y, n_known))])


def _multiclass_loss(scores: Floats, y: Floats) -> Floats:
    below = scores - scores.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(below).sum(axis=1)) - below[np.arange(len(y)), y.astype(np.intp)])


def median_distance(rows: Any) -> float:
    """Return the median squared distance of the first half of the rows to the second; 1 where all are equal."""
    half = rows.shape[0] // 2
    differences = rows[:half].astype(np.float64) - rows[half : 2 * half].astype(np.float64)
    squares = differences.power(2) if issparse(differences) else differences**2
    distances = np.asarray(squares.sum(axis=1)).ravel()
    median = float(np.median(distances)) or float(np.mean(distances))
    return median if median > 0 else 1.0
