"""The rows kept for choices: the latest ones of a stream, with their labels and weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from onkel.choice.judging import judged
from onkel.parts import Loss

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

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, part: slice) -> Rows:
        return Rows(self.rows[part], self.y[part], self.weight[part])

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


class Taken(NamedTuple):
    """Rows that a learner is about to learn from, in the core's format, and what it was before them; all of it copies.

    How many of these rows it has learned from is known by what it was later.
    """

    rows: Any
    y: Floats
    weight: Floats | None
    scores: Floats | None  # for those from before each row
    t: int
    n_outputs: int

    def counted(self, n: int) -> Taken:
        """Return the first ``n`` rows that count."""
        if self.weight is None and n == len(self.y):
            return self
        places = np.arange(n) if self.weight is None else np.flatnonzero(self.weight)[:n]
        rows = self.rows
        if isinstance(rows, tuple):
            values, features, offsets = rows
            some = csr_array((values, features, offsets), shape=(len(self.y), int(features.max(initial=0)) + 1))[places]
            rows = some.data, some.indices, some.indptr
        else:
            rows = rows[places]
        weight = None if self.weight is None else self.weight[places]
        scores = None if self.scores is None else self.scores[places]
        return Taken(rows, self.y[places], weight, scores, self.t, self.n_outputs)


def learned_from(taken: Sequence[Taken], t: int) -> list[Taken]:
    """Return the rows that a learner, which is at ``t`` now, has learned from; none of them is without rows."""
    ends = [each.t for each in taken[1:]] + [t] * bool(taken)
    return [each.counted(end - each.t) for each, end in zip(taken, ends, strict=True) if end > each.t]


def weights_of(taken: Sequence[Taken]) -> Floats:
    """Join the weights of rows, 1 where none were given."""
    if all(each.weight is None for each in taken):
        return np.ones(sum(len(each.y) for each in taken))
    return np.concatenate([np.ones(len(each.y)) if each.weight is None else each.weight for each in taken])


def rows_of(taken: Sequence[Taken], n_features: int | None) -> Rows:
    """Join rows that were learned from."""
    y = np.concatenate([each.y for each in taken])
    weight = weights_of(taken)
    if not isinstance(taken[0].rows, tuple):
        return Rows(np.concatenate([each.rows for each in taken]), y, weight)
    values, features = (np.concatenate([each.rows[part] for each in taken]) for part in (0, 1))
    offsets = np.cumsum([0, *np.concatenate([np.diff(each.rows[2]) for each in taken])])
    return Rows(csr_array((values, features, offsets), shape=(len(y), n_features)), y, weight)


def as_wide_as_one_another(scores: Sequence[Floats]) -> Floats:
    """Join scores of which later ones may be of more classes; one that was not known has the score 0."""
    width = max(each.shape[1] for each in scores)
    if all(each.shape[1] == width for each in scores):  # as nearly always, and of single rows there are hundreds
        return np.concatenate(scores)
    return np.concatenate([np.pad(each, ((0, 0), (0, width - each.shape[1]))) for each in scores])


class Window:
    """The latest rows of a stream, in pieces that are joined on demand. No row and no window ever changes."""

    def __init__(self, *pieces: Rows, count: int | None = None) -> None:
        self._pieces = list(pieces)
        self._count = sum(map(len, pieces)) if count is None else count

    def __len__(self) -> int:
        return self._count

    def extended_by(self, rows: Rows, most: float) -> Window:
        """Return a window with further rows, and only the last ``most`` of all."""
        pieces = [*self._pieces, rows]
        while len(pieces) > 1 and len(pieces[-2]) <= len(pieces[-1]):  # so that a row is copied a few times in all
            pieces[-2:] = [_joined(pieces[-2:])]
        more = Window(*pieces, count=int(min(self._count + len(rows), most)))
        return Window(more.rows) if sum(map(len, pieces)) > 2 * most else more

    def latest(self, most: int) -> Window:
        """Return a window with the last ``most`` rows, if there are more."""
        return Window(*self._pieces, count=min(self._count, most))

    def last(self, n: int) -> Rows:
        """Return the last ``n`` rows."""
        return self.between(self._count - n, self._count)

    def between(self, begin: int, end: int) -> Rows:
        """Return the rows with these numbers, counted from the first one that is kept."""
        first, found = self._count - sum(map(len, self._pieces)), []
        for piece in self._pieces:
            if first < end and first + len(piece) > begin:
                found.append(piece[max(0, begin - first) : end - first])
            first += len(piece)
        return _joined(found) if found else self._pieces[0][:0]

    @property
    def rows(self) -> Rows:
        """The rows."""
        if len(self._pieces) > 1 or len(self._pieces[0]) > self._count:
            self._pieces = [self.last(self._count)]
        return self._pieces[0]

    def widened(self, n_features: int) -> Window:
        """Return a window whose sparse rows have more features, which are 0."""
        return Window(*(piece.widened(n_features) for piece in self._pieces), count=self._count)


def _joined(pieces: list[Rows]) -> Rows:
    if len(pieces) == 1:
        return pieces[0]
    parts = [piece.rows for piece in pieces]
    rows = vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)
    y, weight = (np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("y", "weight"))
    return Rows(rows, y, weight)


def loss_of(task: str, loss: Loss) -> Callable[[Floats, Floats], Floats]:
    """Return the function that computes how wrong a learner with this loss is about each row: the log loss, or for a
    regression what its loss is judged by."""
    if task == "regression":
        return lambda scores, y: judged(loss, scores[:, 0], y)
    if task == "binary":
        return lambda scores, y: np.logaddexp(0.0, (1 - 2 * y) * scores[:, 0])
    return _multiclass_loss


def with_known_classes(scores: Floats, y: Floats, n_known: int | NDArray[np.intp]) -> Iterator[tuple[Floats, Floats]]:
    """Yield rows of several classes in order, those together at which equally many classes were known, with a score
    for each of these alone; ``n_known`` were known before the first row, or each, and a row's own is known at it."""
    widths = np.maximum(np.maximum.accumulate(y + 1), n_known).astype(np.intp)
    for rows in np.split(np.arange(len(y)), np.flatnonzero(np.diff(widths)) + 1):
        if len(rows):
            yield scores[rows, : widths[rows[0]]], y[rows]


def losses_of(task: str, loss: Loss, scores: Floats, y: Floats, n_known: int | NDArray[np.intp]) -> Floats:
    """Return the loss of each row of a stream; of several classes, those known at the row count."""
    if task != "multiclass":
        return loss_of(task, loss)(scores, y)
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
