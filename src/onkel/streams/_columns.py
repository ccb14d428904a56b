"""Which columns of a table are the features, and which is the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.utils.labels import as_labels, is_missing

_TARGETS = {"target", "label", "class", "y"}


@dataclass(frozen=True)
class ColumnChoice:
    """The numbers of a table's features and of its target, if it has one."""

    names: list[str]
    features: list[int]
    target: int | None

    @property
    def feature_names(self) -> list[str]:
        """The features' names, in order."""
        return [self.names[i] for i in self.features]


def choose(
    table: str, names: Sequence[Any], target: Any, columns: Any, *, last: bool, drop: Any = None
) -> ColumnChoice:
    """Choose by names or numbers (from 0, or from the end): the target, and the features, all others unless said.

    Parameters
    ----------
    table : str
        What messages call it.
    names : sequence of str
    target : str, int, False or None
        None is the column called target, label, class or y, or else the last one, where `last`; otherwise none.
    columns : sequence of str or int, or None
    last : bool
    drop : sequence of str or int, or None
        Columns that are neither.

    Examples
    --------
    >>> choose("data.csv", ["age", "height", "sick"], None, None, last=True).feature_names
    ['age', 'height']
    >>> choose("data.csv", ["age", "height", "sick"], "ill", None, last=True)
    Traceback (most recent call last):
    ...
    ValueError: data.csv has no column 'ill' for target; it has 'age', 'height', 'sick'
    """
    known = [str(name) for name in names]
    if target is None:
        called = [i for i, name in enumerate(known) if name.strip().lower() in _TARGETS]
        goal = None if not last else called[0] if len(called) == 1 else len(known) - 1
    else:
        goal = None if target is False else _number(table, known, target, "target")
    dropped = [_number(table, known, column, "drop") for column in drop or ()]
    if target is None and goal in dropped:
        left = [i for i in range(len(known)) if i not in dropped]
        goal = left[-1] if left else None
    if columns is None:
        features = [i for i in range(len(known)) if i != goal and i not in dropped]
    else:
        features = [_number(table, known, column, "columns") for column in columns]
    if goal in features:
        raise ValueError(f"{table}: column {known[goal]!r} cannot be both the target and a feature")
    if not "".join(known):
        raise ValueError(f"{table} is empty")
    if not features:
        raise ValueError(f"{table} has no column for features beside the target")
    return ColumnChoice(known, features, goal)


def _number(table: str, names: list[str], wanted: object, what: str) -> int:
    if isinstance(wanted, int | np.integer) and not isinstance(wanted, bool):
        if not -len(names) <= wanted < len(names):
            raise ValueError(f"{table} has {len(names)} columns, and {what} asks for number {wanted} (they begin at 0)")
        return int(wanted) % len(names)
    found = [i for i, name in enumerate(names) if name == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{table} has {len(found)} columns called {wanted!r}: give {what} as a number, from 0")
    shown = ", ".join(map(repr, names[:20])) + (", ..." if len(names) > 20 else "")
    if not "".join(names):
        raise ValueError(f"{table} has no column {wanted!r} for {what}: it is empty")
    refusal = f"{table} has no column {wanted!r} for {what}; it has {shown}"
    mark = next((mark for mark in ";\t|" if len(names) == 1 and mark in names[0]), None)
    raise ValueError(refusal if mark is None else f"{refusal}: perhaps its delimiter is {mark!r}")


def not_numbers(table: str, number: int, name: str, what: str) -> ValueError:
    """Say that a feature is not a number, and what to do about it."""
    return ValueError(
        f"{table}, column {number + 1} ({name!r}) holds {what}, and features must be numbers: "
        "encode it first, or choose other columns with columns="
    )


def labels(values: object) -> NDArray[Any]:
    """Targets as an array; text as text and integers as integers, not as objects, unless some are missing."""
    scalars = isinstance(values, list | tuple) and not isinstance(next(iter(values), []), list | tuple | np.ndarray)
    array = np.asarray(values, object if scalars else None)  # of a list NumPy would make one type
    if array.dtype.kind not in "OT" or any(map(is_missing, array)):
        return array
    try:
        return as_labels(array.tolist())
    except ValueError:
        return array  # whoever learns from them will say what is wrong
