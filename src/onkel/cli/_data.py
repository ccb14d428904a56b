"""DATA as the commands see it: a stream, and what its first rows say of it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack

import onkel
from onkel.cli._guard import Misused, say
from onkel.cli._learners import scaler
from onkel.cli._options import Learning, Reading, Scale, Task
from onkel.streams import generators
from onkel.utils.files import is_special
from onkel.utils.labels import as_labels, joined, places

Chunk = tuple[Any, Any]

_FIRST_ROWS = 4096  # that are looked at before anything is learned
_MOST_CLASSES = 100  # whole numbers in the first rows: labels up to here, a quantity above
_DRAWN_ROWS = 20_000  # of a generator, which has no end of its own
_DENSE = 0.25  # share of values other than 0 above which dense rows are the faster ones


class Rows:
    """A stream that may have been looked at, that may end early, and whose sparse rows may be made dense."""

    def __init__(self, stream: Any, limit: int | None = None) -> None:
        self.stream = stream
        self.name: str = stream.name
        self.limit = limit
        self.dense = False
        self.classes: NDArray[Any] | None = None  # None: any label may come
        self._order: list[int] | None = None  # of the columns, where the model has another one
        self._seen: list[Chunk] = []  # looked at, not handed out yet

    @property
    def names(self) -> list[str] | None:
        """The features' names, where they have some."""
        columns: list[str] | None = self.stream.columns
        return columns

    def take(self, names: list[str]) -> None:
        """Hand out the columns of these names, in their order; refuse where they are not the stream's own."""
        if self.names is None or self.names == names:
            return
        for what, some, others in (("has no column", names, self.names), ("has a column", self.names, names)):
            strange = next((name for name in some if some.count(name) != others.count(name)), None)
            if strange is not None:
                more = "" if what == "has no column" else " too many"
                raise ValueError(
                    f"{self.name} {what} {strange!r}{more}: the model's columns are {', '.join(map(repr, names))}"
                )
        if len(set(names)) < len(names):
            raise ValueError(f"{self.name} has its columns in another order than the model, and some names occur twice")
        self._order = [self.names.index(name) for name in names]

    def peek(self) -> Chunk:
        """Return the first rows, which stay in the stream: always as many, however slowly a pipe brings them."""
        n_rows = 0
        while n_rows < _FIRST_ROWS and (chunk := next(self.stream, None)) is not None:
            self._seen.append(chunk)
            n_rows += chunk[0].shape[0]
        if not self._seen:
            raise ValueError(f"{self.name} has no rows")
        X, y = _joined(self._seen)
        first = slice(min(_FIRST_ROWS, self.limit or _FIRST_ROWS))
        return X[first], None if y is None else y[first]

    @property
    def rows(self) -> int:
        """Rows handed out, those of the source that a chunk's end cut off included."""
        return int(self.stream.rows - sum(chunk[0].shape[0] for chunk in self._seen))

    def __iter__(self) -> Iterator[Chunk]:
        while self.limit is None or self.rows < self.limit:
            before = self.rows
            chunk = self._seen.pop(0) if self._seen else next(self.stream, None)
            if chunk is None:
                return
            keep = slice(None if self.limit is None else self.limit - before)
            X, y = chunk[0][keep], None if chunk[1] is None else chunk[1][keep]
            if self._order is not None:
                X = X[:, self._order]
            self._check_labels(y, before)
            yield X.toarray() if self.dense and issparse(X) else X, y

    def _check_labels(self, y: NDArray[Any] | None, before: int) -> None:
        if self.classes is None or y is None or (known := places(self.classes, y)[1]).all():
            return
        place = int(known.argmin())
        expected = " and ".join(str(plain(c)) for c in self.classes.tolist())
        raise ValueError(
            f"{self.name}, row {before + place + 1:,}: the label {plain(y[place].item())} is not one of {expected}, "
            "the classes so far; name all labels with --classes"
        )

    def fraction(self) -> float | None:
        """Return how much has been read, from 0 to 1; None where nobody knows."""
        read: float | None = self.stream.fraction()
        if self.limit is None:
            return read
        return min(1.0, max(read or 0.0, self.rows / self.limit))


class SeekableRows(Rows):
    """The same for what can be read again."""

    def __init__(self, stream: Any, limit: int | None = None) -> None:
        super().__init__(stream, limit)
        self._start = stream.position()

    def position(self) -> Any:
        """Return where the next chunk begins."""
        return self._start if self._seen else self.stream.position()

    def seek(self, position: Any) -> None:
        """Make the next chunk the one that begins there."""
        self._seen = []
        self.stream.seek(position)


@dataclass(frozen=True)
class Source:
    """A stream to learn from, at its start."""

    stream: Rows
    n_features: int
    task: str
    classes: NDArray[Any] | None  # None: an open set of labels, or regression
    gamma: float  # of the kernel, as asked for or as the first rows suggest

    @property
    def metric(self) -> str:
        """The column of a curve that says how good a learner is."""
        return "accuracy" if self.task == "classification" else "rmse"

    def check_learned(self, *models: Any) -> None:
        """Refuse a stream that turned out to have one class."""
        for model in models:
            classes = getattr(model, "classes_", None)
            if classes is not None and len(classes) < 2:
                raise ValueError(
                    f"{self.stream.name} has one class only, {plain(classes[0].item())}; expected two or more "
                    "(or --task regression)"
                )

    def describe(self, rows: int) -> dict[str, Any]:
        """Return what a report says of the data."""
        classes = {} if self.classes is None else {"classes": [plain(label) for label in self.classes.tolist()]}
        return {"name": self.stream.name, "rows": rows, "n_features": self.n_features, "task": self.task, **classes}


@contextmanager
def open_source(data: str, options: Learning) -> Iterator[Source]:
    """Open DATA and look at its first rows for the task, the classes and the kernel's width."""
    how: dict[str, Any] = {"dtype": options.dtype.value}
    if options.n_features is not None:
        how["n_features"] = options.n_features
    with open_rows(data, options, **how) as rows:
        stream = _shuffled(rows, options.seed) if options.shuffle else rows
        X, y = stream.peek()
        if y is None:
            raise ValueError(f"{stream.name} has no target to learn from: name its column with --target")
        if issparse(X) and (X.nnz > _DENSE * X.shape[0] * X.shape[1] or options.scale is Scale.STANDARD):
            stream.dense, X = True, X.toarray()
        task = _task(y, _known_task(data) if options.task is Task.AUTO else options.task)
        classes = stream.classes = _classes(y, options, stream) if task == "classification" else None
        yield Source(stream, int(X.shape[1]), task, classes, _gamma(X, options))


@contextmanager
def open_rows(data: str, options: Reading, **how: Any) -> Iterator[Rows]:
    """Open DATA as a stream of chunks."""
    if options.skip_errors:
        how["on_error"] = "skip"
    if options.format is not None:
        how["format"] = options.format
    if options.target is not None:
        how["target"] = int(options.target) if options.target.lstrip("-").isdigit() else options.target
    with ExitStack() as opened:
        if not is_file(data):
            if how.keys() - {"dtype"}:
                raise Misused(f"{data} is not a file: --format, --target, --n-features and --skip-errors are for files")
            yield SeekableRows(opened.enter_context(_named(data, options, **how)), options.rows)
        elif os.path.isfile(data) or os.path.isdir(data):
            yield SeekableRows(opened.enter_context(onkel.streams.open(data, **how)), options.rows)
        elif data == "-" and sys.stdin is None:
            raise ValueError("standard input is closed")
        else:  # a pipe, whatever its name, is read once
            source = data if data == "-" else opened.enter_context(open(data, "rb"))
            yield Rows(opened.enter_context(onkel.streams.open(source, **how)), options.rows)


def _named(data: str, options: Reading, **how: Any) -> Any:
    """A data set or a generator."""
    if data in generators.__all__:
        seed = getattr(options, "seed", 0)
        return getattr(generators, data)(options.rows or _DRAWN_ROWS, seed=seed, **how)
    if data not in onkel.datasets.names():
        raise ValueError(f"there is no file {data!r}, and no data set of that name (onkel data list)")
    if onkel.datasets.info(data).order == "shuffle" and not getattr(options, "shuffle", True):
        say(f"warning: {data} is stored in blocks of one class; use --shuffle")
    return onkel.datasets.stream(data, **how)


def check_writable(path: str, source: str | None = None) -> None:
    """Refuse a place where no file can be written, or where the source lies, before an hour of learning."""
    if source is not None and _is_same_file(path, source):
        raise ValueError(f"{path} is the file being read: writing to it would destroy it")
    if is_special(path):
        if not os.access(path, os.W_OK):
            raise ValueError(f"{path} cannot be written")
        return
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(path):
        raise ValueError(f"{path} is a directory; expected the name of a file to write")
    if not os.path.isdir(folder):
        raise ValueError(f"{path} cannot be written: there is no directory {folder}")
    if not os.access(folder, os.W_OK):
        raise ValueError(f"{path} cannot be written: the directory {folder} is not writable")


def _is_same_file(path: str, source: str) -> bool:
    try:
        read = os.fstat(sys.stdin.fileno()) if source == "-" else os.stat(source)
        return stat.S_ISREG(read.st_mode) and os.path.samestat(read, os.stat(path))
    except (OSError, ValueError, AttributeError):  # one of them is not there
        return False


def remember_names(model: Any, names: list[str] | None) -> None:
    """Make the features' names a part of a fitted model, where scikit-learn keeps them."""
    if names is not None:
        getattr(model, "scaler_", model).feature_names_in_ = np.array(names, object)


def names_of(model: Any) -> list[str] | None:
    """Return the names of the features that a model has learned from, if they had some."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def is_libsvm(data: str, options: Reading) -> bool:
    """Say whether DATA is LIBSVM text, whose width is no part of it."""
    return is_file(data) and (options.format or onkel.streams.format_of(data)) == "libsvm"


def is_file(data: str) -> bool:
    """Say whether DATA is a file or a pipe; otherwise it is the name of a data set."""
    return data == "-" or os.path.lexists(data)


def plain(label: Any) -> Any:
    """Return a label as one writes it: LIBSVM's classes are whole numbers.

    >>> plain(-1.0), plain(0.5), plain("yes")
    (-1, 0.5, 'yes')
    """
    return int(label) if isinstance(label, float) and label.is_integer() else label


def _shuffled(stream: Rows, seed: int) -> Rows:
    chunks = list(stream)
    if not chunks:
        raise ValueError(f"{stream.name} has no rows")
    X, y = _joined(chunks)
    if y is None:
        raise ValueError(f"{stream.name} has no target to learn from: name its column with --target")
    order = np.random.default_rng(seed).permutation(len(y))
    shuffled = onkel.streams.open((X[order], y[order]))
    shuffled.name, shuffled.columns = stream.name, stream.names
    return SeekableRows(shuffled)


def _joined(chunks: list[Chunk]) -> Chunk:
    X = (vstack if issparse(chunks[0][0]) else np.concatenate)([X for X, _ in chunks])
    return X, None if chunks[0][1] is None else joined(y for _, y in chunks)


def _known_task(data: str) -> Task:
    if is_file(data) or data not in onkel.datasets.names():
        return Task.AUTO
    return Task.REGRESSION if onkel.datasets.info(data).task == "regression" else Task.CLASSIFICATION


def _task(y: NDArray[Any], asked: Task) -> str:
    """What the first targets look like."""
    if asked is not Task.AUTO:
        return asked.value
    if y.dtype.kind not in "fiu":
        return "classification"
    whole = y.dtype.kind != "f" or bool((y == np.floor(y)).all())
    return "classification" if whole and len(np.unique(y)) <= _MOST_CLASSES else "regression"


def _classes(y: NDArray[Any], options: Learning, stream: Rows) -> NDArray[Any] | None:
    """The classes, if there are known to be two; with more of them a stream may bring new ones at any time."""
    if options.classes is not None:
        words = [word.strip() for word in options.classes.split(",")]
        try:
            classes = np.unique(as_labels([_number(word) for word in words] if y.dtype.kind in "fiu" else words))
        except ValueError:
            raise Misused(f"--classes {options.classes}: the targets are numbers, and these labels are not") from None
        if len(classes) < 2:
            raise Misused(f"--classes {options.classes}: expected two labels or more")
        return classes
    found = np.unique(y)
    if len(found) == 1:
        say(
            f"warning: the first {len(y):,} rows of {stream.name} are all of class {plain(found[0].item())}; "
            "if it is sorted by class, use --shuffle"
        )
    return found if len(found) == 2 else None


def _number(word: str) -> float:
    return int(word) if word.lstrip("+-").isdecimal() else float(word)


def _gamma(X: Any, options: Learning) -> float:
    """The kernel's width as a number, which then depends neither on chunks nor on checkpoints."""
    if options.gamma not in ("scale", "auto"):
        try:
            return float(options.gamma)
        except ValueError:
            raise Misused(f"--gamma {options.gamma}: expected a number, scale or auto") from None
    if options.scale is not Scale.NONE:
        X = scaler(options.scale).partial_fit(X).transform(X)
    return onkel.OGDClassifier(gamma=options.gamma)._gamma_of(X)
