"""Progressive evaluation: every row is predicted before it is learned from, over any stream, in bounded memory.

The values of a curve are functions of the rows alone: how the stream is cut into chunks changes no bit of them (times
excepted).
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import is_regressor

from onkel.coverage import checked_levels
from onkel.fading import FadingMeans
from onkel.inside import Model, inside
from onkel.utils.chunks import Cuts, cut, n_rows
from onkel.utils.labels import of_array, places
from onkel.utils.validation import check_number

__all__ = ["Curve", "Point", "progressive", "progressive_steps"]

Floats = NDArray[np.float64]
Chunk = tuple[Any, Any]

_POINTS_A_DECADE = 20
_FIRST = 100  # rows before the first checkpoint
_BINS = 15  # of probabilities


@dataclass(frozen=True, kw_only=True)
class Point:
    """How a run stands after so many rows; what does not apply, or was not measured here, is None.

    `accuracy`, `log_loss`, `auc`, `rmse`, `mae` and the like are over all rows so far, each predicted before it was
    learned from; what is `recent` is over a fading window of about the last thousand rows (`onkel.fading`), which shows
    what a mean over all rows hides.

    Parameters
    ----------
    rows : int
    seconds : float
        Spent in the estimator, so neither in reading nor in measuring.
    n_support : int
    accuracy : float, default=None
    log_loss : float, default=None
        For estimators with probabilities.
    auc : float, default=None
        Area under the ROC curve, for two classes (see `progressive` for how it is bounded).
    rmse, mae : float, default=None
    recent_accuracy, recent_log_loss, recent_rmse : float, default=None
    commonest : float, default=None
        The accuracy of always saying the class that is the commonest by now.
    balanced_accuracy : float, default=None
        The mean over the classes of the accuracy on their rows.
    brier : float, default=None
        The mean squared error of the probabilities: of the second of two classes, or of all of them together.
    calibration_error : float, default=None
        How far the probability of the predicted class is from how often it is right: the mean over 15 bins of equal
        width, each counted by its rows (expected calibration error).
    pinball : float, default=None
        The mean pinball loss of a learner of quantiles.
    nll, crps : float, default=None
        The negative log-likelihood and the continuous ranked probability score of a normal distribution with the
        prediction and its standard deviation, where asked for.
    covered, width : float, default=None
        The fraction of the targets within their intervals, and the intervals' mean width, where asked for.
    r2 : float, default=None
        1 - (sum of squared errors) / (sum of squared deviations from the mean of the targets).
    norm : float, default=None
        RKHS norm of the function, where asked for.
    held_out : float, default=None
        Accuracy (classes) or RMSE (regression) on the held-out set.
    is_checkpoint : bool, default=False
        Whether this point belongs to the curve; what comes after `recent_rmse` is measured only where it does.
    """

    rows: int
    seconds: float
    n_support: int
    accuracy: float | None = None
    log_loss: float | None = None
    auc: float | None = None
    rmse: float | None = None
    mae: float | None = None
    recent_accuracy: float | None = None
    recent_log_loss: float | None = None
    recent_rmse: float | None = None
    commonest: float | None = None
    balanced_accuracy: float | None = None
    brier: float | None = None
    calibration_error: float | None = None
    pinball: float | None = None
    nll: float | None = None
    crps: float | None = None
    covered: float | None = None
    width: float | None = None
    r2: float | None = None
    norm: float | None = None
    held_out: float | None = None
    is_checkpoint: bool = False

    @property
    def speed(self) -> float:
        """Rows per second."""
        return self.rows / max(self.seconds, 1e-9)  # a clock may be too coarse for a few rows


COLUMNS = tuple(field.name for field in dataclasses.fields(Point) if field.name != "is_checkpoint")


@dataclass(frozen=True)
class Curve:
    """A learning curve: the checkpoints of one run, the last of them at the stream's end.

    ``curve["accuracy"]`` is a column as an array (NaN where there is no value); the columns are the fields of `Point`.

    Parameters
    ----------
    name : str
    points : tuple of Point
    course : mapping of str to ndarray, default={}
        How the run went at evenly spaced rows, of which there are a few hundred at most: ``course["window_accuracy"]``
        (or `window_log_loss`, `window_rmse`) is the mean over a fading window (`onkel.fading`) after the rows in
        ``course["window_rows"]``, ``course["memory"]`` how many rows back a second-order learner remembered after those
        in ``course["memory_rows"]``, and ``course["changes"]`` after which rows a stream's choice was replaced.
    """

    name: str
    points: tuple[Point, ...]
    course: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def last(self) -> Point:
        """The end of the run."""
        return self.points[-1]

    @property
    def metric(self) -> str:
        """The column that says how good the run was: "accuracy", or "rmse" for regression."""
        return "accuracy" if self.last.accuracy is not None else "rmse"

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, column: str) -> NDArray[Any]:
        values = [getattr(point, column) for point in self.points]
        return np.array(values, dtype=np.int64 if column in ("rows", "n_support") else np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return the curve as JSON has it: lists, None for what is no finite number, no column without a value.

        The columns of `course` come after the others.
        """
        columns = {name: [_finite(getattr(point, name)) for point in self.points] for name in COLUMNS}
        course = {name: [_finite(value) for value in values.tolist()] for name, values in self.course.items()}
        return {"name": self.name, **{k: v for k, v in columns.items() if any(x is not None for x in v)}, **course}

    def to_pandas(self) -> Any:
        """Return a data frame with one row per checkpoint."""
        import pandas as pd

        columns = [name for name in self.to_dict() if name in COLUMNS]
        return pd.DataFrame({name: self[name] for name in columns})

    def plot(self, ax: Any = None, *, x: str = "rows", y: str | None = None) -> Any:
        """Draw one column over another with matplotlib; return the axes.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Those of the current figure if None, so that curves drawn one after another share them.
        x : str, default="rows"
        y : str, default=None
            None is `metric`.
        """
        import matplotlib.pyplot as plt

        ax = ax if ax is not None else plt.gca()
        y = self.metric if y is None else y
        ax.plot(self[x], self[y], label=self.name)
        ax.set(xlabel=x.replace("_", " "), ylabel=y.replace("_", " "))
        ax.legend()
        return ax


_ONE_CHUNK = (
    "expected a stream, an iterable of chunks (X, y): rows at hand are a stream of one chunk, [(X, y)], "
    "or onkel.streams.open((X, y))"
)


def progressive(est: object, stream: Iterable[Chunk], *rest: Any, **options: Any) -> Curve:
    """Take an estimator through a stream, each row predicted before it is learned from; return the learning curve.

    Parameters
    ----------
    est : estimator
        With `predict_then_learn`; it is left as it is after the last row. One that has learned already goes on.
    stream : iterable of (X, y)
        Chunks of any size, such as :func:`onkel.streams.open` gives. ``[(X, y)]`` is a stream of one chunk.
    **options
        `classes`, `every`, `norm`, `deviations`, `held_out`, `clock`: see `progressive_steps`.

    Returns
    -------
    Curve

    Notes
    -----
    Memory does not grow with the stream. The area under the ROC curve is made from two histograms of scores, whose
    2^16 bins are as fine as one part in 128 of a score whatever its scale; scores of one bin count as ties. It is over
    scores of different moments, each of the function of its time.

    A label that was not known before its row (open set of labels) counts as an error; for the log loss its score is 0.

    Examples
    --------
    >>> import numpy as np, onkel
    >>> X = np.random.default_rng(0).normal(size=(3000, 2))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> model = onkel.SPAClassifier(gamma=1.0, random_state=0)
    >>> curve = onkel.evaluate.progressive(model, [(X[:1000], y[:1000]), (X[1000:], y[1000:])], classes=[False, True])
    >>> curve["rows"][[0, 1, 2, 10, 20, -1]]
    array([ 100,  112,  126,  316, 1000, 3000])
    >>> curve.last.accuracy > 0.9, curve.last.auc > 0.95, curve.last.n_support == model.n_support_
    (True, True, True)
    """
    if rest:
        raise TypeError(_ONE_CHUNK)
    window = FadingMeans()
    points = [point for point in progressive_steps(est, stream, window=window, **options) if point.is_checkpoint]
    if not points:
        raise ValueError("the stream has no rows: there is nothing to evaluate")
    return Curve(type(learner_of(est)).__name__, tuple(points), course_of(est, window))


def course_of(est: object, window: FadingMeans) -> dict[str, NDArray[Any]]:
    """Return the columns of `Curve.course`: those of a window, and what an estimator says of its own choices."""
    columns: dict[str, NDArray[Any]] = {"window_rows": window.rows}
    for name, means in window.course.items():
        columns |= {"window_rmse": np.sqrt(means)} if name == "squared" else {f"window_{name}": means}
    model = learner_of(est)
    memories = np.array(list(getattr(model, "memory_weights_", ())))
    if len(memories) > 1:
        rows, weights = model.memory_weights_history_
        heaviest = memories[weights.argmax(axis=1)]
        columns |= {"memory_rows": rows, "memory": np.minimum(heaviest, rows)}  # all rows are those so far
    if len(changes := getattr(model, "changes_", ())):
        columns["changes"] = np.array(changes, np.int64)
    return columns


def progressive_steps(
    est: object,
    stream: Iterable[Chunk],
    *,
    classes: ArrayLike | None = None,
    every: int | None = None,
    norm: bool = False,
    deviations: bool = False,
    held_out: Chunk | None = None,
    window: FadingMeans | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Iterator[Point]:
    """Do what `progressive` does, step by step: yield a point after each chunk and at each checkpoint.

    Parameters
    ----------
    est : estimator
    stream : iterable of (X, y)
        Or ``(X, y, sample_weight)``. Chunks are cut where a checkpoint is due. The first is not cut where
        ``gamma="scale"``, since the rows of the first call fix the width.
    classes : array-like, default=None
        All classes that will occur, as for `partial_fit`.
    every : int, default=None
        Rows between two checkpoints; None: 20 of them for every factor of ten, so that a stream of any length has few.
    norm : bool, default=False
        Whether to measure the function's norm, which takes as many kernel values as there are pairs of support vectors.
    deviations : bool, default=False
        Whether to measure the standard deviations and the intervals that a regressor gives for each row before learning
        from it; the intervals are those of the first level of its `coverage`, or else of 90 %. Rows are then learned
        from one at a time.
    held_out : (X, y), default=None
        Rows to predict at each checkpoint, and not to learn from.
    window : FadingMeans, default=None
        Takes in what each row has lost, for the course of the run.
    clock : callable, default=time.perf_counter
        What the seconds are by; `time.process_time` does not count those that the machine spends on other work.

    Yields
    ------
    Point
        The last one is a checkpoint.
    """
    if not hasattr(est, "predict_then_learn"):
        raise ValueError(f"expected an estimator with predict_then_learn, got {type(est).__name__}")
    if isinstance(stream, tuple) or hasattr(stream, "shape"):
        raise TypeError(_ONE_CHUNK)
    if every is not None:
        check_number("every", every, at_least=1, integer=True)
    options: dict[str, Any] = {} if classes is None else {"classes": classes}
    sums = sums_of(est, FadingMeans() if window is None else window)
    spreads = _Spreads(est) if deviations else None
    seconds, point = 0.0, None
    cuts = Cuts(_checkpoints(every))

    def measured(at_checkpoint: bool) -> Point:
        model = learner_of(est)
        values: dict[str, Any] = sums.values()
        if at_checkpoint:
            values |= sums.costly_values() | ({} if spreads is None else spreads.values())
            values["norm"] = float(model.norm_) if norm else None
            values["held_out"] = None if held_out is None else _held_out(est, *held_out)
        values |= {"rows": cuts.rows, "seconds": seconds, "n_support": int(model.n_support_)}
        return Point(is_checkpoint=at_checkpoint, **values)

    weight: list[Any]
    for X, y, *weight in stream:
        whole = cuts.rows == 0 and _width_is_open(est)
        for (rows, labels, *own), is_due in cuts.pieces((X, np.asarray(y), *weight), whole=whole):
            for each in [(rows, labels, *own)] if spreads is None or whole else _one_by_one((rows, labels, *own)):
                if spreads is not None and not whole:
                    spreads.add(each[0], each[1])
                if own:
                    options["sample_weight"] = each[2]
                start = clock()
                scores = est.predict_then_learn(each[0], each[1], **options)
                seconds += clock() - start
                sums.add(scores, each[1], est)
            point = measured(is_due)
            yield point
    if point is not None and not point.is_checkpoint:
        yield measured(True)


def sums_of(est: object, window: FadingMeans | None = None) -> _ErrorSums | _ClassSums:
    """Return empty sums of what an estimator predicts before it learns: ``add`` rows, then ask for ``values``.

    Parameters
    ----------
    est : estimator
    window : FadingMeans, default=None
        It takes in the rows, too, and ``values`` have its means.

    Examples
    --------
    >>> import onkel
    >>> model = onkel.OGDRegressor(gamma=1.0, random_state=0)
    >>> sums, y = sums_of(model), np.array([3.0, 4.0])
    >>> sums.add(np.array([0.0, 0.0]), y, model)
    >>> sums.values()["mae"]
    3.5
    """
    return _ErrorSums(window) if is_regressor(est) else _ClassSums(window, hasattr(est, "predict_proba"))


class _ErrorSums:
    """Sums over targets and predictions, in the order of rows so that chunks do not matter."""

    def __init__(self, window: FadingMeans | None) -> None:
        self.window = window
        self.rows = 0
        self.squared = 0.0
        self.absolute = 0.0
        self.start: float | None = None  # the first target, from which deviations are counted
        self.deviation = self.deviation_squared = 0.0
        self.pinball: float | None = None

    def add(self, predicted: Floats, y: NDArray[Any], est: object) -> None:
        targets = y.astype(np.float64)
        errors = predicted - targets
        quantile = getattr(getattr(learner_of(est), "_loss_of_recipe", None), "quantile", None)
        if quantile is not None:
            lost = np.where(errors > 0, (1 - quantile) * errors, -quantile * errors)
            self.pinball = _added(self.pinball or 0.0, lost)
        self.start = float(targets[0]) if self.start is None else self.start
        self.deviation = _added(self.deviation, targets - self.start)
        self.deviation_squared = _added(self.deviation_squared, (targets - self.start) ** 2)
        self.rows += len(y)
        self.squared = _added(self.squared, errors**2)
        self.absolute = _added(self.absolute, np.abs(errors))
        if self.window is not None:
            self.window.add(squared=errors**2)

    def values(self) -> dict[str, float]:
        values = {"rmse": math.sqrt(self.squared / self.rows), "mae": self.absolute / self.rows}
        return values if self.window is None else values | {"recent_rmse": math.sqrt(self.window.last["squared"])}

    def totals(self) -> dict[str, float]:
        return {"scored_rows": self.rows, "squared_error": self.squared, "absolute_error": self.absolute}

    def costly_values(self) -> dict[str, float | None]:
        spread = self.deviation_squared - self.deviation**2 / self.rows
        return {
            "r2": 1 - self.squared / spread if spread > 0 else None,
            "pinball": None if self.pinball is None else self.pinball / self.rows,
        }


class _Spreads:
    """Sums over what a regressor says of a row's deviation and interval before it learns from the row."""

    def __init__(self, est: Any) -> None:
        if not is_regressor(est):
            raise ValueError(f"deviations are those of a regressor's targets, got {type(est).__name__}")
        self.est = est
        levels = getattr(learner_of(est), "coverage", None)
        self.level = 0.9 if levels is None else checked_levels(levels)[0]
        self.rows = self.interval_rows = self.n_covered = 0
        self.nll = self.crps = self.width = 0.0

    def add(self, row: Any, y: NDArray[Any]) -> None:
        if inside(self.est).learner is None:
            return
        target = float(y[0])
        with contextlib.suppress(ValueError, TypeError, AttributeError):  # not every regressor gives deviations
            mean, std = (float(each[0]) for each in self.est.predict(row, return_std=True))
            if 0 < std < math.inf:
                z = (target - mean) / std
                self.rows += 1
                self.nll += 0.5 * math.log(2 * math.pi * std**2) + 0.5 * z**2
                density = math.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
                self.crps += std * (z * math.erf(z / math.sqrt(2)) + 2 * density - 1 / math.sqrt(math.pi))
        with contextlib.suppress(ValueError, AttributeError):  # nor intervals
            low, high = self.est.predict_interval(row, self.level)[0].tolist()
            if high - low < math.inf:  # as they are until something is known
                self.interval_rows += 1
                self.n_covered += low <= target <= high
                self.width += high - low

    def values(self) -> dict[str, float]:
        found = {"nll": self.nll / self.rows, "crps": self.crps / self.rows} if self.rows else {}
        if self.interval_rows:
            found |= {"covered": self.n_covered / self.interval_rows, "width": self.width / self.interval_rows}
        return found


class _ClassSums:
    """Sums over labels and decision values, in the order of rows so that chunks do not matter."""

    def __init__(self, window: FadingMeans | None, has_probabilities: bool) -> None:
        self.window = window
        self.rows = 0
        self.right = 0
        self.log_loss = 0.0 if has_probabilities else None
        self.ranks: _Ranks | None = None
        self.counts = np.zeros((2, 0), np.int64)  # rows of each class, and those that were right
        self.known = 0  # classes met so far, where the set of labels is open
        self.squared = 0.0
        self.bins = np.zeros((3, _BINS))  # rows, sums of probabilities, and rows that were right

    def add(self, scores: Floats, y: NDArray[Any], est: Any) -> None:
        codes, _ = places(est.classes_, of_array(y))
        self.rows += len(y)
        lost: Floats | None = None
        if scores.ndim == 1:
            positive = codes == 1
            right = (scores > 0) == positive
            self.ranks = self.ranks or _Ranks()
            self.ranks.add(scores, positive)
            if self.log_loss is not None:
                lost = np.logaddexp(0, np.where(positive, -scores, scores))
                self._add_probabilities(expit(np.abs(scores)), right, expit(np.where(positive, -scores, scores)) ** 2)
        else:
            known = self._known_before(codes, scores.shape[1], getattr(learner_of(est), "_open", False))
            there = np.arange(scores.shape[1]) < known[:, None]
            guesses = np.where(there, scores, -np.inf).argmax(axis=1)
            right = (guesses == codes) & (codes < known)
            if self.log_loss is not None:
                there[np.arange(len(y)), codes] = True
                lost = _log_losses(np.where(there, scores, -np.inf), codes)
                self._add_multiclass(np.where(there, scores, -np.inf), guesses, codes, right)

        seen = {"accuracy": right.astype(np.float64)}
        if lost is not None and self.log_loss is not None:
            self.log_loss = _added(self.log_loss, lost)
            seen["log_loss"] = lost
        if self.window is not None:
            self.window.add(**seen)
        self.right += int(np.count_nonzero(right))
        n_classes = max(self.counts.shape[1], int(codes.max(initial=0)) + 1)
        if n_classes > self.counts.shape[1]:
            self.counts = np.pad(self.counts, ((0, 0), (0, n_classes - self.counts.shape[1])))
        self.counts += [np.bincount(codes, minlength=n_classes), np.bincount(codes[right], minlength=n_classes)]

    def _add_multiclass(
        self, scores: Floats, guesses: NDArray[np.intp], codes: NDArray[np.intp], right: NDArray[np.bool_]
    ) -> None:
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= np.cumsum(shares, axis=1)[:, -1:]  # np.sum would depend on how many classes there are room for
        rows = np.arange(len(codes))
        expected = shares[rows, guesses]
        shares[rows, codes] -= 1
        self._add_probabilities(expected, right, np.cumsum(shares**2, axis=1)[:, -1])

    def _add_probabilities(self, expected: Floats, right: NDArray[np.bool_], squared: Floats) -> None:
        """Take in the probability of each row's predicted class, and the squared error of all its probabilities."""
        self.squared = _added(self.squared, squared)
        bins = np.minimum((expected * _BINS).astype(np.intp), _BINS - 1)
        for sums, values in zip(self.bins, (np.ones(len(bins)), expected, right.astype(np.float64)), strict=True):
            np.add.at(sums, bins, values)  # one row after another

    def _known_before(self, codes: NDArray[np.intp], n_classes: int, is_open: bool) -> NDArray[np.intp]:
        """How many classes there were before each row: in an open set they join in the order of their codes."""
        if not is_open:
            return np.full(len(codes), n_classes)
        after = np.maximum.accumulate(np.append(self.known, codes + 1))
        self.known = int(after[-1])
        return after[:-1]

    def values(self) -> dict[str, float | None]:
        recent = {} if self.window is None else self.window.last
        return {
            "accuracy": self.right / self.rows,
            "log_loss": None if self.log_loss is None else self.log_loss / self.rows,
            **{f"recent_{name}": mean for name, mean in recent.items()},
        }

    def totals(self) -> dict[str, float]:
        lost = {} if self.log_loss is None else {"log_loss": self.log_loss}
        return {"scored_rows": self.rows, "right_rows": self.right, **lost}

    def costly_values(self) -> dict[str, float | None]:
        rows, right = self.counts[:, self.counts[0] > 0]
        probabilities = {}
        if self.log_loss is not None:
            gaps = np.abs(self.bins[1] - self.bins[2])
            probabilities = {"brier": self.squared / self.rows, "calibration_error": float(gaps.sum()) / self.rows}
        return probabilities | {
            "auc": None if self.ranks is None else self.ranks.auc(),
            "commonest": int(rows.max()) / self.rows,
            "balanced_accuracy": float(np.cumsum(right / rows)[-1]) / len(rows),
        }


class _Ranks:
    """The area under the ROC curve from two histograms.

    A bin is the upper half of a score's bits as float32 (sign, exponent, 7 digits of the mantissa), with the bits of
    negative numbers turned round so that bins are in the order of scores.
    """

    def __init__(self) -> None:
        self.counts = np.zeros((2, 2**16), np.int64)

    def add(self, scores: Floats, positive: NDArray[np.bool_]) -> None:
        with np.errstate(over="ignore", under="ignore"):
            bits = (scores + 0.0).astype(np.float32).view(np.uint32) >> 16  # + 0.0: there is one zero
        bins = np.where(bits >> 15, 0xFFFF - bits, bits + 0x8000)
        np.add.at(self.counts, (positive.astype(np.intp), bins), 1)

    def auc(self) -> float | None:
        negative, positive = self.counts
        pairs = int(negative.sum()) * int(positive.sum())
        if pairs == 0:
            return None
        doubled = 2 * np.cumsum(negative) - negative  # twice the negatives below each bin, half of its own
        return int((doubled * positive).sum()) / (2 * pairs)


def _checkpoints(every: int | None) -> Iterator[int]:
    """The rows after which there is one."""
    if every is not None:
        yield from itertools.count(every, every)
    for k in itertools.count():
        yield round(_FIRST * 10 ** (k / _POINTS_A_DECADE))


def _one_by_one(chunk: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    return (cut(chunk, slice(i, i + 1)) for i in range(n_rows(chunk)))


def _added(total: float, values: Floats) -> float:
    """The sum, one value after another: np.sum would depend on how many come at once."""
    return float(np.cumsum(np.append(total, values))[-1])


def _log_losses(scores: Floats, codes: NDArray[np.intp]) -> Floats:
    """Each row's log loss under the softmax of its scores."""
    shifted = scores - scores.max(axis=1, keepdims=True)
    total = np.cumsum(np.exp(shifted), axis=1)[:, -1]
    return np.asarray(np.log(total) - shifted[np.arange(len(codes)), codes])


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _held_out(est: Any, X: Any, y: ArrayLike) -> float:
    predicted = est.predict(X)
    if is_regressor(est):
        return float(np.sqrt(np.mean((predicted - np.asarray(y, np.float64)) ** 2)))
    return float(np.mean(predicted == np.asarray(y)))


def _width_is_open(est: object) -> bool:
    """Whether the first rows will decide the kernel's width."""
    model = learner_of(est)
    return getattr(model, "gamma", None) == "scale" and not hasattr(model, "gamma_")


def learner_of(est: object) -> Any:
    """Return the estimator itself, or the one inside of a pipeline or a calibration."""
    return inside(est).estimator if isinstance(est, Model) else est
