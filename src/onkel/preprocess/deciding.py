"""What the columns of a table are, by the values of its first rows.

A column is what at least 95 % of its values so far are; where no kind has so many, it is a category. So a few stray
texts among numbers are gaps. A column turns into a category with the row that shows it, and from a category into
something else after 2, 4, 8, ... 4,096 rows only, so that a column on the border does not change with every value.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel.streams.values import kind_of_value, says_missing

FIRST_ROWS = 4096  # that decide what the columns are
CODES = ("", "said missing", "boolean", "number", "date", "category")  # of what a value is; the first is a gap
_GAP, _SAID, _BOOLEAN, _NUMBER, _DATE, _TEXT = range(len(CODES))
Counts = NDArray[np.int64]  # of the values of a column by their codes

# The values that are gaps to a column of a kind.
DECIDED = ("", "category", "number", "boolean", "date")
_NOT = {
    "": (_GAP,),
    "category": (_GAP,),
    "number": (_GAP, _SAID, _DATE, _TEXT),
    "boolean": (_GAP, _SAID, _NUMBER, _DATE, _TEXT),
    "date": (_GAP, _SAID, _BOOLEAN, _NUMBER, _TEXT),
}


def value_codes(column: NDArray[np.generic], parse: bool) -> NDArray[np.int8]:
    """Return what each value of a column is, as a place in `CODES`.

    >>> value_codes(np.array([1.0, "Bern", None, "unknown"], object), parse=False).tolist()
    [3, 5, 0, 1]
    """
    if column.dtype.kind == "f":
        return np.where(np.isnan(column), _GAP, _NUMBER).astype(np.int8)
    if column.dtype.kind == "b":
        return np.full(len(column), _BOOLEAN, np.int8)
    if column.dtype.kind == "M":
        return np.where(np.isnat(column), _GAP, _DATE).astype(np.int8)
    codes = (_SAID if says_missing(value, parse) else _code_of(value, parse) for value in column.tolist())
    return np.fromiter(codes, np.int8, len(column))


def _code_of(value: object, parse: bool) -> int:
    return CODES.index(kind_of_value(value, parse) or "")


def counted(codes: NDArray[np.int8]) -> Counts:
    """Return how many values of each code there are."""
    return np.bincount(codes, minlength=len(CODES)).astype(np.int64)


def decided(counts: Counts) -> str:
    """Return the kind of a column by the counts of its values: "" where there is none.

    >>> decided(np.array([0, 9, 0, 95, 0, 5])), decided(np.array([0, 9, 0, 94, 0, 6]))
    ('number', 'category')
    """
    return next(kind for kind in ("", "boolean", "number", "date", "category") if _holds(kind, counts))


def _holds(kind: str, counts: Counts) -> NDArray[np.bool_]:
    """Whether values of these counts, in the last axis, make a column of a kind."""
    if kind == "category":
        return np.ones(counts.shape[:-1], bool)
    if kind == "":
        return np.asarray(counts[..., _SAID:].sum(axis=-1) == 0)
    saying = counts[..., _BOOLEAN:].sum(axis=-1)
    if kind == "boolean":
        fitting = counts[..., _BOOLEAN] * (counts[..., _NUMBER] == 0)
    else:
        fitting = counts[..., _DATE] if kind == "date" else counts[..., _BOOLEAN] + counts[..., _NUMBER]
    return np.asarray((20 * fitting >= 19 * saying) & (saying > 0))


def has_gaps(kind: str, counts: Counts) -> bool:
    """Return whether some of the values are gaps to a column of a kind."""
    return bool(counts[list(_NOT[kind])].any())


def course(found: str, before: Counts, codes: NDArray[np.int8], rows: int) -> dict[int, tuple[str, bool]]:
    """Return what a column is, and whether it has had gaps, by the places of the values where that may change.

    Parameters
    ----------
    found : str
        What the column was after the values before.
    before : ndarray of int64
        The counts of these.
    codes : ndarray of int8
    rows : int
        The number of rows before.

    Examples
    --------
    >>> course("", np.zeros(6, int), np.array([3, 5, 5, 0], np.int8), 0)
    {0: ('number', False), 1: ('category', False), 3: ('category', True)}
    """
    counts = before + np.cumsum(np.eye(len(CODES), dtype=np.int64)[codes], axis=0)
    numbers = rows + 1 + np.arange(len(codes))
    decides = (numbers & (numbers - 1)) == 0
    what: dict[int, tuple[str, bool]] = {}
    begin = 0
    while begin < len(codes):
        if decides[begin] or not _holds(found, counts[begin]):
            found = decided(counts[begin])
        ends = decides[begin + 1 :] | ~_holds(found, counts[begin + 1 :])
        end = begin + 1 + int(ends.argmax()) if ends.any() else len(codes)
        gaps = counts[begin:end, _NOT[found]].sum(axis=1) > 0
        what[begin] = found, bool(gaps[0])
        if gaps[-1] and not gaps[0]:
            what[begin + int(gaps.argmax())] = found, True
        begin = end
    return what
