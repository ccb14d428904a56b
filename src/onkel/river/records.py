"""Records and data frames as sparse rows: which column a feature has, and what is refused."""

from __future__ import annotations

import math
import reprlib
from array import array
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.learner import Csr
from onkel.utils.validation import check_finite, check_number

Record = Mapping[Hashable, Any]
Floats = NDArray[np.float64]
Plan = tuple[tuple[Hashable, ...], NDArray[np.int32], NDArray[np.int64]]  # names by column, columns, offsets of one row


class Columns:
    """Which column a feature has: in the order of appearance, and by name among those that appear together."""

    def __init__(self) -> None:
        self.of: dict[Hashable, int] = {}
        self.width = 0  # the most columns that a record has asked for, those of a prediction included
        self._names: tuple[Hashable, ...] | None = None  # of the last record whose features all had columns
        self._plan: Plan | None = None

    def row(self, x: Record, learn: bool) -> Csr:
        """Return a record as a sparse row; features without a column come after all others, and to `learn` get it."""
        names = tuple(x)
        plan = self._plan if names == self._names else None
        ordered, features, offsets = plan or self._planned(names)
        try:
            values = array("d", map(x.__getitem__, ordered))
        except (TypeError, OverflowError):
            numbers = as_numbers(x)
            if numbers is x:
                _refuse(x)
                raise
            return self.row(numbers, learn)
        if not math.isfinite(sum(values)):
            _refuse(x)
        if plan is None:
            self._keep(names, (ordered, features, offsets), learn)
        return (np.frombuffer(values) if names else np.empty(0)), features, offsets

    def rows(self, X: Any, learn: bool) -> Csr:
        """Return the rows of a data frame as sparse rows."""
        names = tuple(X.columns)
        plan = self._planned(names)
        try:
            values = X[list(plan[0])].to_numpy(dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"X must be numbers: {error} (learn_one takes text and None, too)") from None
        check_finite("X", values, np.array(plan[0], object))
        self._keep(names, plan, learn)
        n, width = values.shape
        return values.ravel(), np.tile(plan[1], n), np.arange(n + 1, dtype=np.int64) * width

    def _planned(self, names: tuple[Hashable, ...]) -> Plan:
        new = sorted((name for name in names if name not in self.of), key=_by_name)
        column = {name: len(self.of) + i for i, name in enumerate(new)}
        column |= {name: self.of[name] for name in names if name not in column}  # of this record's features only
        ordered = tuple(sorted(names, key=column.__getitem__))
        features = np.array([column[name] for name in ordered], np.int32)
        return ordered, features, np.array([0, len(ordered)], np.int64)

    def _keep(self, names: tuple[Hashable, ...], plan: Plan, learn: bool) -> None:
        ordered, features, _ = plan
        if len(features):
            self.width = max(self.width, int(features[-1]) + 1)
        if learn:
            for name, column in zip(ordered, features.tolist(), strict=True):
                self.of.setdefault(name, column)
        if learn or all(name in self.of for name in names):
            self._names, self._plan = names, plan


def as_numbers(x: Record) -> Record:
    """Return a record without what is missing, and with a feature of value 1 for each text: the record itself if it has
    neither.

    >>> as_numbers({"size": 3, "colour": "red", "age": None})
    {'size': 3, 'colour=red': 1.0}
    """
    if not any(value is None or isinstance(value, str) for value in x.values()):
        return x
    there = ((name, value) for name, value in x.items() if value is not None)
    return {
        f"{name}={value}" if isinstance(value, str) else name: 1.0 if isinstance(value, str) else value
        for name, value in there
    }


def _by_name(name: Hashable) -> tuple[str, str]:
    return type(name).__name__, str(name)


def _refuse(x: Record) -> None:
    """Say which feature is no finite number, if one is not."""
    for name, value in x.items():
        check_finite_value(f"feature {name!r}", value)


def check_finite_value(what: str, value: Any) -> None:
    """Refuse a feature or a target that is no finite number."""
    try:
        fine = math.isfinite(value)
    except (TypeError, OverflowError):  # text; an integer beyond all floats
        fine = False
    if not fine:
        raise ValueError(f"{what} is {reprlib.repr(value)}; expected a finite number")


def floats_of(name: str, values: Any) -> Floats:
    """Return values as an array of numbers, or refuse them by their name."""
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must be numbers: {error}") from None


def weights_of(w: Any, n: int) -> Floats:
    """Return a weight, or one for each of n rows, as an array."""
    weights = np.broadcast_to(floats_of("w", w), (n,)).copy()
    check_finite("w", weights)
    check_number("the least of w", float(weights.min(initial=0)), at_least=0)
    return weights
