"""DATA as the commands see it: a stream, and what its first rows determine."""

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
from scipy.sparse import issparse

import onkel
from onkel.cli._guard import Misused, say
from onkel.cli._learners import scaler
from onkel.cli._options import Learning, Reading, Scale, Task
from onkel.cli._rows import PreviewedRows, SeekableRows, plain
from onkel.estimators.base import gamma_from_rows
from onkel.preprocess.column_kinds import KINDS
from onkel.streams import files_of, format_of, generators
from onkel.utils.files import is_special
from onkel.utils.labels import as_labels

_MOST_CLASSES = 100  # whole numbers in the first rows: labels up to here, a quantity above
_DRAWN_ROWS = 20_000  # of a generator, which is endless
_TABLES = ("csv", "tsv", "parquet", "arrow")
_UNLIKE = 100.0  # the ratio of the columns' spreads above which scaling seems necessary
_DENSE = 0.25  # the fraction of non-zero values above which dense rows are faster


@dataclass(frozen=True)
class Source:
    """A stream to learn from, at its start."""

    stream: PreviewedRows
    n_features: int
    task: str
    classes: NDArray[Any] | None  # None: an open set of labels, or regression
    first: Any  # the first rows
    scale: Scale | None
    is_table: bool  # whether columns are prepared by their types
    asked: str | None  # the metric
    schema: dict[str, str] | None  # the kinds of some columns

    @property
    def metric(self) -> str:
        """The column of a curve that measures the quality of a learner."""
        return self.asked or ("accuracy" if self.task == "classification" else "rmse")

    @property
    def shown(self) -> str:
        """The column of a curve to show during learning: not all metrics are measured at every point."""
        at_hand = ("accuracy", "log_loss", "rmse", "mae")
        return self.metric if self.metric in at_hand else "accuracy" if self.task == "classification" else "rmse"

    def gamma(self, asked: str) -> float | str:
        """Return the kernel's width as a number, which then depends neither on chunks nor on checkpoints."""
        if asked == "stream":
            return asked
        if asked not in ("scale", "auto"):
            try:
                return float(asked)
            except ValueError:
                raise Misused(f"--gamma {asked}: expected a number, scale, auto or stream") from None
        X = self.first
        if self.is_table:
            X = onkel.StreamEncoder(schema=self.schema).fit_transform(X)
        elif self.scale is not None:
            X = scaler(self.scale).partial_fit(X).transform(X)
        return gamma_from_rows(asked, X)

    def check_learned(self, *models: Any) -> None:
        """Refuse a stream that turned out to have one class."""
        for model in models:
            classes = getattr(model, "classes_", None)
            if classes is not None and len(classes) < 2:
                raise ValueError(
                    f"{self.stream.name} has one class only, {plain(classes.item(0))}; expected two or more "
                    "(or --task regression)"
                )

    def describe(self, rows: int) -> dict[str, Any]:
        """Return a description of the data for a report."""
        classes = {} if self.classes is None else {"classes": [plain(label) for label in self.classes.tolist()]}
        return {"name": self.stream.name, "rows": rows, "n_features": self.n_features, "task": self.task, **classes}


@contextmanager
def open_source(data: str, options: Learning) -> Iterator[Source]:
    """Open DATA and determine the task and the classes from its first rows."""
    scale = None if options.scale is Scale.NONE else options.scale
    is_table = is_prepared(data, options)
    with open_rows(data, options, **kind_of_rows(data, options)) as rows:
        stream = rows.shuffled(options.seed) if options.shuffle else rows
        X, y = stream.peek()
        if y is None:
            raise ValueError(f"{stream.name} has no target to learn from: name its column with --target")
        if issparse(X) and (X.nnz > _DENSE * X.shape[0] * X.shape[1] or scale is Scale.STANDARD):
            stream.dense, X = True, X.toarray()
        asked_task = _known_task(data) if options.task is Task.AUTO else options.task
        task = _task(y, asked_task)
        if asked_task is Task.AUTO and is_file(data) and (guess := _guess(y, task)):
            say(guess)
        _check_options(task, options)
        classes = _classes(y, options, stream) if task == "classification" else None
        if scale is None and isinstance(X, np.ndarray):
            _warn_of_scales(stream, X)
        asked = None if options.metric is None else options.metric.value
        schema = _schema(options, stream, is_table)
        yield Source(stream, int(X.shape[1]), task, classes, X, scale, is_table, asked, schema)


def _schema(options: Learning, stream: PreviewedRows, is_table: bool) -> dict[str, str] | None:
    """The kinds of columns that were given, or None."""
    if options.schema is None:
        return None
    if not is_table:
        raise Misused("--schema: it is for tables whose columns are prepared by what they hold")
    schema = kinds_of(options.schema)
    if unknown := [name for name in schema if name not in (stream.names or [])]:
        raise Misused(f"--schema: {stream.name} has no column {unknown[0]!r} to learn from")
    return schema


def kinds_of(schema: str) -> dict[str, str]:
    """Return what --schema says of columns.

    >>> kinds_of("zip=category, age=number?")
    {'zip': 'category', 'age': 'number?'}
    """
    kinds = {}
    for text in schema.split(","):
        name, equals, kind = (part.strip() for part in text.partition("="))
        if not equals or kind.removesuffix("?") not in KINDS:
            raise Misused(f"--schema {text}: expected a column and its kind, such as zip=category ({', '.join(KINDS)})")
        kinds[name] = kind
    return kinds


def _check_options(task: str, options: Learning) -> None:
    """Refuse options that do not apply to the task."""
    of_classes = ("accuracy", "balanced_accuracy", "auc", "log_loss")
    if options.metric is not None and (options.metric.value in of_classes) != (task == "classification"):
        raise Misused(f"--metric {options.metric.value}: the task is {task}, which has no such metric")
    if options.class_weight is not None and task != "classification":
        raise Misused("--class-weight: the task is regression, which has no classes")


def _warn_of_scales(stream: PreviewedRows, X: NDArray[Any]) -> None:
    spreads = X.std(axis=0)
    spreads = spreads[spreads > 0]
    if len(spreads) > 1 and spreads.max() > _UNLIKE * spreads.min():
        ratio = f"{spreads.max() / spreads.min():,.0f}"
        say(
            f"warning: the columns of {stream.name} differ in scale by a factor of {ratio}, and kernels go by "
            "distances: use --scale standard"
        )


def is_prepared(data: str, options: Learning) -> bool:
    """Return whether the columns of DATA are prepared by their types."""
    return is_table_of(data, options) and not options.raw and options.scale is None


def kind_of_rows(data: str, options: Learning) -> dict[str, Any]:
    """Return the arguments of `onkel.streams.open` for rows to learn from."""
    how: dict[str, Any] = {"dtype": options.dtype.value}
    if options.n_features is not None:
        how["n_features"] = options.n_features
    if is_prepared(data, options):
        return {"table": True, **({} if options.n_features is None else how)}
    return how


def reading(options: Reading, **how: Any) -> dict[str, Any]:
    """Return the arguments of `onkel.streams.open` for reading files."""
    weight = getattr(options, "weight", None)
    if options.skip_errors:
        how["on_error"] = "skip"
    if options.format is not None:
        how["format"] = options.format
    if options.target is not None:
        how.setdefault("target", _column(options.target))
    if options.columns is not None:
        more = [name for name in (weight, options.id) if name is not None]
        how["columns"] = [*_columns(options.columns), *more]
    if options.drop is not None:
        how["drop"] = _columns(options.drop)
    if options.delimiter is not None:
        how["delimiter"] = {"\\t": "\t", "tab": "\t"}.get(options.delimiter, options.delimiter)
    if options.no_header:
        how["header"] = False
    return how


@contextmanager
def open_rows(data: str, options: Reading, **how: Any) -> Iterator[PreviewedRows]:
    """Open DATA as a stream of chunks."""
    weight = getattr(options, "weight", None)
    how = reading(options, **how)
    with ExitStack() as opened:
        if not is_file(data):
            if how.keys() - {"dtype"} or weight or options.id:
                raise Misused(f"{data} is not a file: --format, --target, --n-features and --skip-errors are for files")
            yield SeekableRows(opened.enter_context(_named(data, options, **how)), options.rows)
            return
        if os.path.isfile(data) or files_of(data):
            rows: PreviewedRows = SeekableRows(opened.enter_context(onkel.streams.open(data, **how)), options.rows)
        elif data == "-" and sys.stdin is None:
            raise ValueError("standard input is closed")
        else:  # a pipe, whatever its name, is read once
            source = data if data == "-" else opened.enter_context(open(data, "rb"))
            rows = PreviewedRows(opened.enter_context(onkel.streams.open(source, **how)), options.rows)
        rows.set_aside(weight, options.id)
        yield rows


def _columns(text: str) -> list[str | int]:
    return [_column(name.strip()) for name in text.split(",")]


def _column(name: str) -> str | int:
    return int(name) if name.lstrip("-").isdigit() else name


def _named(data: str, options: Reading, **how: Any) -> Any:
    """A data set or a generator."""
    if data in generators.STREAMS:
        seed = getattr(options, "seed", 0)
        return generators.STREAMS[data](options.rows or _DRAWN_ROWS, seed=seed, **how)
    if data not in onkel.datasets.names():
        raise ValueError(f"there is no file {data!r}, and no data set of that name (onkel data list)")
    if onkel.datasets.info(data).order == "shuffle" and not getattr(options, "shuffle", True):
        say(f"warning: {data} is stored in blocks of one class; use --shuffle")
    return onkel.datasets.stream(data, **how)


def check_writable(path: str, source: str | None = None) -> None:
    """Refuse a path that cannot be written, or that is the source, before any learning."""
    if source is not None and any(_is_same_file(path, file) for file in files_of(source) or [source]):
        raise ValueError(f"{path} is a file being read: writing to it would destroy it")
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
    except (OSError, ValueError, AttributeError):  # one of them does not exist
        return False


def remember_names(model: object, names: list[str] | None) -> None:
    """Store the feature names in a fitted model, where scikit-learn keeps them."""
    if names is not None:
        getattr(model, "transformers_", [model])[0].feature_names_in_ = np.array(names, object)


def names_of(model: object) -> list[str] | None:
    """Return the names of the features that a model has learned from, or None."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else list(names)


def is_libsvm(data: str, options: Reading) -> bool:
    """Return whether DATA is LIBSVM text, which does not contain its number of features."""
    return is_file(data) and (options.format or format_of((files_of(data) or [data])[0])) == "libsvm"


def is_table_of(data: str, options: Reading) -> bool:
    """Return whether DATA is a table, with columns of any type."""
    return is_file(data) and (options.format or format_of((files_of(data) or [data])[0])) in _TABLES


def is_file(data: str) -> bool:
    """Return whether DATA is a file or a pipe, or names several files; otherwise it is the name of a data set."""
    return data == "-" or os.path.lexists(data) or bool(files_of(data))


def _known_task(data: str) -> Task:
    if is_file(data) or data not in onkel.datasets.names():
        return Task.AUTO
    return Task.REGRESSION if onkel.datasets.info(data).task == "regression" else Task.CLASSIFICATION


def _task(y: NDArray[Any], asked: Task) -> str:
    """The task that the first targets suggest."""
    if asked is not Task.AUTO:
        return asked.value
    if y.dtype.kind not in "fiu":
        return "classification"
    whole = y.dtype.kind != "f" or bool((y == np.floor(y)).all())
    return "classification" if whole and len(np.unique(y)) <= _MOST_CLASSES else "regression"


def _guess(y: NDArray[Any], task: str) -> str:
    """A sentence on what whole numbers are taken for; none where it is clear."""
    values = np.unique(y) if y.dtype.kind in "fiu" else y[:0]
    if len(values) <= 2 or (task == "regression" and not (y == np.floor(y)).all()):
        return ""
    if task == "regression":
        return "the targets are whole numbers of more than 100 values: a quantity (--task classification: classes)"
    return f"the targets are whole numbers of {len(values)} values: classes (--task regression: a quantity)"


def _classes(y: NDArray[Any], options: Learning, stream: PreviewedRows) -> NDArray[Any] | None:
    """The classes, if there are exactly two; with more, a stream may have new classes at any time."""
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
            f"warning: the first {len(y):,} rows of {stream.name} are all of class {plain(found.item(0))}; "
            "if it is sorted by class, use --shuffle"
        )
    return found if len(found) == 2 else None


def _number(word: str) -> float:
    return int(word) if word.lstrip("+-").isdecimal() else float(word)
