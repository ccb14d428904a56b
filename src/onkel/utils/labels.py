"""Labels as arrays of one kind (numbers, text, booleans), which keep every digit and every character.

Text is an array of NumPy's fixed width where its labels are short, and otherwise one of Python's strings: every entry
of the former is as wide as the longest label, and loses the NUL characters at its end.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_KINDS = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers", "U": "text", "O": "text", "S": "bytes"}
_MOST_WIDTH = 64  # characters of a label in an array of fixed width


class UnknownLabel(ValueError):
    """A label that is not one of the classes, where no class may be added."""


def is_missing(value: object) -> bool:
    """Return whether a value is missing: None, NaN, or the NA and NaT of pandas."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def kind(labels: NDArray[Any]) -> str | None:
    """Return the kind of labels: "numbers", "text", "booleans" or "bytes"; None for arrays of anything else.

    Labels that are Python objects are text; arrays of other objects become labels by `as_labels`.
    """
    return _KINDS.get(labels.dtype.kind)


def as_labels(values: Sequence[Any], name: str = "y") -> NDArray[Any]:
    """Return an array of labels that are Python objects; refuse labels of several kinds, or of an unknown kind.

    Examples
    --------
    >>> as_labels([2**63, 5]).dtype, as_labels(["a", "bc"]).dtype
    (dtype('uint64'), dtype('<U2'))
    >>> as_labels(["a", "a\\0"]).tolist()
    ['a', 'a\\x00']
    >>> as_labels(["a", 1])
    Traceback (most recent call last):
    ...
    ValueError: y contains 'a' (text) at row 0 and 1 (a number) at row 1; the labels of a model must be of one kind
    """
    kinds = {_kind_of_type(each) for each in set(map(type, values))}
    if "missing" in kinds or ("numbers" in kinds and any(map(is_missing, values))):
        place = next(i for i, value in enumerate(values) if is_missing(value))
        raise ValueError(f"Input {name} contains {_shown(values[place])} at row {place}; expected a label in every row")
    if None in kinds:
        place = next(i for i, value in enumerate(values) if _kind_of_type(type(value)) is None)
        raise ValueError(
            f"Unknown label type: {name} contains a {type(values[place]).__name__} at row {place}; "
            "expected numbers, text or booleans"
        )
    if len(kinds) > 1:
        one, other = sorted(_first_of_kind(values, each) for each in list(kinds)[:2])
        raise ValueError(f"{name} contains {one[1]} and {other[1]}; the labels of a model must be of one kind")
    if kinds == {"numbers"}:
        return _numbers(values, name)
    if kinds == {"text"}:
        return _text(values)
    return np.array(values, dtype={"booleans": bool, "bytes": bytes}.get(str(next(iter(kinds), None))))


def of_array(labels: NDArray[Any], name: str = "y") -> NDArray[Any]:
    """Return labels that stand in an array of any type.

    >>> of_array(np.array([2**60 + 1, 5], object)).dtype
    dtype('int64')
    """
    if kind(labels) is not None and labels.dtype.kind != "O":
        return labels
    missing = getattr(labels.dtype, "na_object", None)  # of StringDType
    return as_labels([None if label is missing else label for label in labels.tolist()], name)


def check_kind(labels: NDArray[Any], known: NDArray[Any], name: str = "y") -> None:
    """Refuse labels of another kind than the known labels."""
    if len(labels) and kind(labels) != kind(known):
        raise ValueError(
            f"{name} contains the label {labels.item(0)!r}, and the labels so far are {kind(known)}, such as "
            f"{known.item(0)!r}; the labels of a model must be of one kind"
        )


def places(known: NDArray[Any], labels: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the index of each label among the known ones, which may be in any order, and whether it is known.

    Numbers are compared by value, whatever their types: 2^60 + 1 is not the float 2^60.

    Examples
    --------
    >>> places(np.array([7, 5, 2**60 + 1]), np.array([5.0, 6.0, 2.0**60]))
    (array([1, 0, 0]), array([ True, False, False]))
    """
    if len(known) == 0 or len(labels) == 0 or kind(known) != kind(labels):
        return np.zeros(len(labels), np.intp), np.zeros(len(labels), bool)
    order = np.argsort(known)
    if known.dtype != labels.dtype and kind(known) == "numbers":
        # A number that a conversion changes is not one of the labels. Python compares numbers of all types exactly.
        with np.errstate(invalid="ignore", over="ignore"):
            alike = known.astype(labels.dtype)
        same = [one == other for one, other in zip(known.tolist(), alike.tolist(), strict=True)]
        known, order = alike, order[np.array(same)[order]]
        if len(order) == 0:
            return np.zeros(len(labels), np.intp), np.zeros(len(labels), bool)
    found = order[np.minimum(np.searchsorted(known[order], labels), len(order) - 1)]
    there = known[found] == labels
    return np.where(there, found, 0), there


def joined(parts: Iterable[NDArray[Any]], name: str = "y") -> NDArray[Any]:
    """Concatenate arrays of labels of one kind, in a type that holds all of them to the last digit.

    Examples
    --------
    >>> joined([np.array([1.0]), np.array([2**60 + 1])]).tolist()
    [1, 1152921504606846977]
    """
    filled = [part for part in parts if len(part)]
    joined = np.concatenate(filled)
    if kind(joined) != "numbers" or len({part.dtype for part in filled}) == 1:
        return joined
    if any(part.dtype.kind == "f" and not (part == np.floor(part)).all() for part in filled):
        return joined  # no labels: they have a fraction
    for dtype in (filled[0].dtype, joined.dtype, np.dtype(np.int64), np.dtype(np.uint64)):
        with np.errstate(invalid="ignore", over="ignore"):
            joined = np.concatenate([part.astype(dtype) for part in filled])
        if joined.tolist() == [label for part in filled for label in part.tolist()]:  # exact, whatever the types
            return joined
    raise _too_wide([label for part in filled for label in part.tolist()], name)


def _kind_of_type(each: type[Any]) -> str | None:
    if each is type(None) or each.__name__ in ("NAType", "NaTType"):
        return "missing"
    for what, types in (
        ("booleans", (bool, np.bool_)),
        ("text", (str,)),
        ("bytes", (bytes,)),
        ("numbers", (numbers.Integral, float, np.floating)),
    ):
        if issubclass(each, types):
            return what
    return None


def _text(values: Sequence[str]) -> NDArray[Any]:
    if all(len(value) <= _MOST_WIDTH and not value.endswith("\0") for value in values):
        return np.array(values, str)
    labels = np.empty(len(values), object)
    labels[:] = [str(value) for value in values]
    return labels


def _floats(values: Sequence[Any], name: str) -> NDArray[np.float64]:
    try:
        return np.array(values, np.float64)
    except OverflowError:
        row = next(
            i for i, value in enumerate(values) if not isinstance(value, float) and abs(value) > sys.float_info.max
        )
        raise ValueError(f"{name} contains a number too large for a float at row {row}") from None


def _numbers(values: Sequence[Any], name: str) -> NDArray[Any]:
    """Numbers as integers, or as floats where some of them are floats and no digit is lost."""
    array = np.asarray(values)
    has_floats = any(isinstance(value, float | np.floating) for value in values)
    if array.dtype.kind in "iu" or (has_floats and _is_exact(array, values)):
        return array
    try:
        whole = [int(value) for value in values]
    except OverflowError:  # infinity, which is refused elsewhere
        return _floats(values, name)
    if whole != list(values):
        return _floats(values, name)  # no labels: they have a fraction
    for dtype in (np.int64, np.uint64):
        try:
            return np.array(whole, dtype)
        except OverflowError:
            continue
    raise _too_wide(whole, name)


def _too_wide(values: Sequence[Any], name: str) -> ValueError:
    least, greatest = min(map(int, values)), max(map(int, values))
    return ValueError(
        f"{name} contains labels from {least} to {greatest}, which no 64-bit type holds to the last digit"
    )


def _is_exact(array: NDArray[Any], values: Sequence[Any]) -> bool:
    return array.dtype.kind == "f" and bool(array.tolist() == list(values))


def _first_of_kind(values: Sequence[Any], wanted: str | None) -> tuple[int, str]:
    place = next(i for i, value in enumerate(values) if _kind_of_type(type(value)) == wanted)
    singular = {"numbers": "a number", "booleans": "a boolean"}.get(str(wanted), wanted)
    return place, f"{_shown(values[place])} ({singular}) at row {place}"


def _shown(value: object) -> str:
    if isinstance(value, float) and value != value:
        return "NaN"
    return repr(value.item() if isinstance(value, np.generic) else value)
