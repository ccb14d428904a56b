"""The first phase: what all partitions must agree on before anything is learned.

A census of a partition counts its rows and classes, and draws rows for the common sample: every row has a key, a random
number of its own, and the rows with the smallest keys of all partitions are the sample, in the order of their keys.
Censuses are therefore merged exactly, and the sample does not depend on how the work was divided.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import clone

from onkel.estimators.targets import checked_labels
from onkel.partitions.sources import Chunk, Partition
from onkel.preprocess.encoder import StreamEncoder
from onkel.preprocess.targets import Targets
from onkel.streams.table import Table
from onkel.utils.labels import check_kind, joined, places

Floats = NDArray[np.float64]
SAMPLE, POINTS = 0, 1  # the purposes of random draws
MOST_FEATURES = 512  # of rows that may be divided among regions
MOST_NUMBERS = 2**22  # of a sample that is larger for regions
ROWS_PER_SAMPLED = 10  # so many rows for each of the sample are needed to encode categories by its targets


def draws(seed: int, number: int, purpose: int) -> np.random.Generator:
    """Return the generator of the random numbers for the rows of a partition, one after the other."""
    return np.random.Generator(np.random.Philox(key=[seed, 2 * number + purpose]))


@dataclass(frozen=True)
class KeyedRows:
    """Some rows with their keys, smallest first."""

    keys: Floats
    X: Any
    y: NDArray[Any]
    weight: Floats

    def chunk(self) -> Chunk:
        """Return the rows as a chunk of a partition."""
        return Chunk(self.X, self.y, self.weight)

    def first(self, n: int) -> KeyedRows:
        """Return the `n` rows with the smallest keys."""
        order = np.argsort(self.keys, kind="stable")[:n]
        return KeyedRows(self.keys[order], self.X[order], self.y[order], self.weight[order])

    def with_others(self, other: KeyedRows) -> KeyedRows:
        """Return the rows of both, in no particular order."""
        width = max(self.X.shape[1], other.X.shape[1])
        return KeyedRows(
            np.concatenate([self.keys, other.keys]),
            stacked([widened(self.X, width), widened(other.X, width)]),
            joined([self.y, other.y]) if len(self.y) + len(other.y) else self.y,
            np.concatenate([self.weight, other.weight]),
        )


@dataclass(frozen=True)
class Survey:
    """The questions that a census asks of every partition."""

    seed: int
    sample_rows: int
    regression: bool
    transformer: Any = None  # unfitted: the scaler or the encoder that the rows go through
    rows_of_regions: int = 0  # that the sample should have where rows may be divided among regions

    @property
    def takes_tables(self) -> bool:
        """Whether rows have columns of any type."""
        return isinstance(self.transformer, StreamEncoder)

    def rows_to_sample(self, n_features: int, sparse: bool) -> int:
        """Return the size of the sample of rows like these: rows that cannot be divided need no more for it, and those
        of many features are fewer, so that a worker has room for them."""
        if sparse or n_features > MOST_FEATURES:
            return self.sample_rows
        return max(self.sample_rows, min(self.rows_of_regions, MOST_NUMBERS // n_features))


@dataclass(frozen=True)
class Census:
    """What the rows of some partitions have in common; an entry is None where there was no row to determine it."""

    sample_rows: int
    name: str  # of the first partition with rows, for messages
    rows: int = 0  # the number of rows with a weight other than 0
    weight: float = 0.0
    n_features: int | None = None
    names: list[str] | None = None
    dtype: str = "float32"
    sparse: bool = False
    classes: NDArray[Any] | None = None
    counts: NDArray[np.int64] | None = None  # the number of rows of each class
    sample: KeyedRows | None = None
    transformer: Any = None  # fitted
    encoded: Any = None  # the rows of the sample, where an encoder knows their targets: each by those before it

    def of_all(self) -> Census:
        """Return this census, which is that of all rows, or refuse it if nothing can be learned from them.

        What the values of a category say about the target is taken from the common sample, where that is a small part
        of all rows: a row of the sample sees its own target in what it becomes, and rows that do would teach to trust
        the means too much.
        """
        if self.rows == 0:
            raise ValueError("no partition holds a row to learn from")
        if self.classes is not None and len(self.classes) < 2:
            raise ValueError(f"classes must be at least 2, got 1 class: {self.classes.tolist()!r}")
        if isinstance(self.transformer, StreamEncoder):
            assert self.sample is not None
            if self.rows < ROWS_PER_SAMPLED * len(self.sample.y):
                return replace(self, transformer=self.transformer.settled())
            encoded, transformer = self.transformer.settled().taught(self.sample.X, self._targets_of_sample())
            return replace(self, transformer=transformer, encoded=encoded)
        return self

    def _targets_of_sample(self) -> Targets:
        assert self.sample is not None
        if self.classes is None:
            return Targets.of(self.sample.y, None)
        return Targets.of(places(self.classes, self.sample.y)[0].astype(np.float64), len(self.classes))

    def encoded_sample(self, encoding: RowEncoding) -> tuple[Any, Floats, Floats | None]:
        """Return rows, class indices or targets, and weights of the sample."""
        assert self.sample is not None
        X, y, weight = encoding.encode(self.sample.chunk())
        return X if self.encoded is None else self.encoded, y, weight

    @property
    def width(self) -> int:
        """Number of features that the learner sees: those of the rows, or the columns that an encoder returns."""
        if isinstance(self.transformer, StreamEncoder):
            return len(self.transformer.get_feature_names_out())
        assert self.n_features is not None
        return self.n_features


def census(number: int, partition: Partition, survey: Survey) -> Census:
    """Take the census of a partition."""
    counted_so_far = Census(survey.sample_rows, partition.name)
    rng = draws(survey.seed, number, SAMPLE)
    transformer = None if survey.transformer is None else clone(survey.transformer)
    for chunk in partition.chunks():
        names, (X, y, weight) = chunk.names, chunk.table() if survey.takes_tables else chunk.arrays()
        keys = rng.random(X.shape[0])
        weight = np.ones(X.shape[0]) if weight is None else weight
        counted = np.flatnonzero(weight)
        y = _targets(y[counted]) if survey.regression else checked_labels(y[counted])
        classes, counts = (None, None) if survey.regression else np.unique(y, return_counts=True)
        rows = KeyedRows(keys[counted], X[counted], y, weight[counted])
        if transformer is not None and len(counted):
            transformer.partial_fit(rows.X)
        piece = Census(
            survey.rows_to_sample(int(X.shape[1]), issparse(X)),
            partition.name,
            rows=len(counted),
            weight=float(np.sum(weight)),
            n_features=X.shape[1],
            names=names,
            dtype=survey.transformer.dtype if survey.takes_tables else X.dtype.name,
            sparse=issparse(X),
            classes=classes,
            counts=counts,
            sample=rows,
        )
        counted_so_far = joined_census(counted_so_far, piece)
    return replace(counted_so_far, transformer=transformer) if counted_so_far.rows else counted_so_far


def joined_census(left: Census, right: Census) -> Census:
    """Return the census of the partitions of both."""
    if left.rows == 0 or right.rows == 0:
        kept = right if left.rows == 0 else left
        return kept if kept.sample is None else replace(kept, sample=kept.sample.first(kept.sample_rows))
    if left.sparse != right.sparse:
        raise ValueError(f"partitions {left.name!r} and {right.name!r} must both be sparse, or both dense")
    if left.n_features != right.n_features and not left.sparse:
        raise ValueError(
            f"partition {right.name!r} has {right.n_features} features, and {left.name!r} has {left.n_features}"
        )
    if left.names != right.names:
        raise ValueError(f"partition {right.name!r} has the columns {right.names}, and {left.name!r} has {left.names}")
    classes, counts = _classes_of(left, right)
    assert left.sample is not None
    assert right.sample is not None
    return Census(
        left.sample_rows,
        left.name,
        rows=left.rows + right.rows,
        weight=left.weight + right.weight,
        n_features=max(left.n_features or 0, right.n_features or 0),
        names=left.names,
        dtype="float32" if left.dtype == right.dtype == "float32" else "float64",
        sparse=left.sparse,
        classes=classes,
        counts=counts,
        sample=left.sample.with_others(right.sample).first(left.sample_rows),
        transformer=_merged(left.transformer, right.transformer),
    )


def _merged(left: Any, right: Any) -> Any:
    """The transformer with the statistics of two fitted transformers of the same kind."""
    if left is None or right is None:
        return None
    return StreamEncoder.merged([left, right]) if isinstance(left, StreamEncoder) else left.merged(right)


def _classes_of(left: Census, right: Census) -> tuple[NDArray[Any] | None, NDArray[np.int64] | None]:
    """All classes and their counts; None for a regression."""
    if left.classes is None or right.classes is None:
        return None, None
    check_kind(right.classes, left.classes)
    classes = np.unique(joined([left.classes, right.classes]))
    counts = np.zeros(len(classes), np.int64)
    for labels, numbers in ((left.classes, left.counts), (right.classes, right.counts)):
        assert numbers is not None
        counts[places(classes, labels)[0]] += numbers
    return classes, counts


@dataclass(frozen=True)
class RowEncoding:
    """How a chunk becomes rows and numbers to learn from, the same for all partitions."""

    n_features: int
    dtype: str
    classes: NDArray[Any] | None
    class_weights: Floats | None  # one per class
    transformer: Any = None

    def encode(self, chunk: Chunk) -> tuple[Any, Floats, Floats | None]:
        """Return rows, class indices or targets, and weights."""
        if isinstance(self.transformer, StreamEncoder):
            X, y, weight = chunk.table()
        else:
            X, y, weight = chunk.arrays(self.dtype)
            X = widened(X, self.n_features)
        if self.transformer is not None:
            X = self.transformer.transform(X) if len(y) else np.empty((0, self.n_features), self.dtype)
        if self.classes is None:
            return X, _targets(y), weight
        codes, known = places(self.classes, checked_labels(y))
        counted = slice(None) if weight is None else weight != 0
        if not known[counted].all():
            raise ValueError("the labels have changed since they were counted")
        if self.class_weights is not None:
            weight = self.class_weights[codes] * (1.0 if weight is None else weight)
        return X, codes.astype(np.float64), weight


def stacked(parts: list[Any]) -> Any:
    """Stack blocks of rows vertically."""
    if isinstance(parts[0], Table):
        return Table.joined(parts)
    return csr_array(vstack(parts)) if issparse(parts[0]) else np.concatenate(parts)


def widened(X: Any, width: int) -> Any:
    """Return sparse rows with more features, which are 0; return other rows unchanged."""
    if not issparse(X) or X.shape[1] == width:
        return X
    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))


def _targets(y: NDArray[Any]) -> Floats:
    targets = np.ascontiguousarray(y, dtype=np.float64)
    if not np.isfinite(targets).all():
        raise ValueError("the targets contain a missing or an infinite number; expected finite numbers")
    return targets
