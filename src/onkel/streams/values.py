"""Single values of a table: what each is, the one form in which it is kept, and its word as a category."""

from __future__ import annotations

import datetime as dt
import math
import numbers
import re
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.utils.labels import is_missing

MISSING = {"", "?", "na", "n/a", "nan", "null", "none"}  # in small letters: text that stands for no value
NO_ANSWER = {"unknown", "missing", "undefined", "not available", "n.a.", "n.d.", "nil", "-", "--", "."}
BOOLEANS = {"true": True, "false": False}
EXACT = 2**53  # a double holds all whole numbers up to here
A_TIME = "a time in the years 1 to 9999"
_EPOCH = dt.datetime(1970, 1, 1)
_MICROSECOND = dt.timedelta(microseconds=1)
_MOST_DIGITS = 4_000  # beyond which a Decimal is written with an exponent
_LONGEST_SHOWN = 60


class Refused(ValueError):
    """A value that is not what it should be."""

    def __init__(self, row: int, value: object, expected: str) -> None:
        super().__init__(f"expected {expected}, got {shown(value)}")
        self.row, self.value, self.expected = row, value, expected


def shown(value: object) -> str:
    """Return a value as messages show it.

    >>> shown("Bern"), shown(Decimal(2**60 + 1)), shown(dt.datetime(2024, 5, 1))
    ("'Bern'", '1152921504606846977', '2024-05-01')
    """
    text = word_of(value) if isinstance(value, Decimal | dt.date | np.datetime64) else repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def plain_value(value: object, row: int = 0) -> Any:
    """Return a value in the one form in which a table keeps it, whatever library it comes from.

    The forms are None (missing), bool, float, Decimal where a number's word is not that of a float (whole numbers
    beyond 2^53, more digits than a double has), datetime with or without a zone, and text.

    Examples
    --------
    >>> import numpy as np
    >>> [plain_value(value) for value in (np.int64(3), 2**60 + 1, Decimal("1.10"), np.float32(0.5), "3", float("nan"))]
    [3.0, Decimal('1152921504606846977'), 1.1, 0.5, '3', None]
    >>> plain_value(dt.date(2024, 5, 1)) == plain_value(np.datetime64("2024-05-01T00:00", "ns"))
    True
    """
    if type(value) in (str, float, bool):
        return None if value != value else value
    if is_missing(value):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, np.datetime64):
        return times(np.array([value]), row).astype(object)[0]
    if isinstance(value, dt.date):
        return _plain_time(value, row)
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Decimal | numbers.Integral):
        return _plain_number(value)
    if isinstance(value, numbers.Real):
        return None if value != value else _as_float(value)
    if isinstance(value, dt.timedelta):  # that of pandas is written in another way
        return str(dt.timedelta(value.days, value.seconds, value.microseconds))
    return str(value)


def _plain_number(value: Any) -> float | Decimal | None:
    if isinstance(value, numbers.Integral):
        whole = int(value)
        return float(whole) if abs(whole) <= EXACT else Decimal(whole)
    if value.is_nan():
        return None
    return float(value) if word_of(float(value)) == _digits(value) else Decimal(value)


def _as_float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _plain_time(value: dt.date, row: int) -> dt.datetime:
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    try:
        plain = dt.datetime(*parts, tzinfo=value.tzinfo, fold=value.fold)  # that of pandas may have nanoseconds
        as_naive(plain)
    except (OverflowError, ValueError):
        raise Refused(row, value.isoformat(), A_TIME) from None
    return plain


def times(array: NDArray[Any], row: int = 0) -> NDArray[Any]:
    """Return times of any unit as datetime64[us], or refuse the first beyond the years 1 to 9999.

    >>> times(np.array(["2024-05-01", "NaT"], "datetime64[D]")).tolist()
    [datetime.datetime(2024, 5, 1, 0, 0), None]
    >>> times(np.array(["31000-01-01"], "datetime64[D]"))
    Traceback (most recent call last):
    onkel.streams.values.Refused: expected a time in the years 1 to 9999, got '31000-01-01'
    """
    years = array.astype("datetime64[Y]").astype(np.int64) + 1970
    far = ((years < 1) | (years > 9999)) & ~np.isnat(array)
    if far.any():
        first = int(far.argmax())
        raise Refused(row + first, str(array[first]), A_TIME)
    return array.astype("datetime64[us]")


def microseconds(value: Any) -> np.datetime64:
    """Return a time, or None, as a time of NumPy."""
    if value is None:
        return np.datetime64("NaT", "us")
    return np.datetime64((as_naive(value) - _EPOCH) // _MICROSECOND, "us")


def as_naive(value: dt.date) -> dt.datetime:
    """Return a date or a time as a time of UTC without a zone."""
    if not isinstance(value, dt.datetime):
        return dt.datetime(value.year, value.month, value.day)
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)


def kind_of_value(value: object, parse: bool) -> str | None:
    """Return what a value is: "number", "boolean", "date" or "category" (text); None where it is missing.

    To ``parse`` is to read text as what it says; dates are always read.

    Examples
    --------
    >>> [kind_of_value(text, parse=True) for text in ("1e3", "true", "2024-05-01", "Bern", "NA")]
    ['number', 'boolean', 'date', 'category', None]
    >>> kind_of_value("1e3", parse=False)
    'category'
    """
    if isinstance(value, str):
        text = value.strip()
        if not parse:  # a date is what no type but text could have meant
            return "category" if date_of(text) is None else "date"
        if text.lower() in MISSING:
            return None
        if text.lower() in BOOLEANS:
            return "boolean"
        return "number" if number_of(text) is not None else "date" if date_of(text) is not None else "category"
    if is_missing(value):
        return None
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, numbers.Real | Decimal):
        return "number"
    return "date" if isinstance(value, dt.date) else "category"


def says_missing(value: object, parse: bool) -> bool:
    """Return whether a text says that there is no value, though it may be a category's name.

    >>> [says_missing(text, parse=False) for text in ("NA", "Unknown", "Bern")]
    [True, True, False]
    """
    if not isinstance(value, str):
        return False
    text = value.strip().lower()
    return text in NO_ANSWER or (not parse and text in MISSING)


def number_of(text: str) -> float | None:
    """Return the number that a text stands for; None where it stands for none."""
    if "_" in text:  # a number for Python, and nowhere else
        return None
    try:
        return float(text)
    except ValueError:
        return None


def date_of(text: str) -> dt.datetime | None:
    """Return the time that a text stands for by ISO 8601 ("2024-05-01", "2024-05-01 12:30"); None where it is none."""
    if text[4:5] != "-" or not text[:4].isdecimal():
        return None
    try:
        return as_naive(dt.datetime.fromisoformat(text))
    except (ValueError, OverflowError):  # the latter where the zone leads out of the years 1 to 9999
        return None


def value_as(kind: str, value: Any, parse: bool) -> Any:
    """Return a value, none that is missing, as what a column of a kind holds; None where it is of another kind."""
    if kind == "category" or kind == "text":
        return word_of(value)
    found = kind_of_value(value, parse)
    if found == "boolean" and kind in ("boolean", "number"):
        return BOOLEANS[value.strip().lower()] if isinstance(value, str) else bool(value)
    if found == "number" and kind == "boolean":
        return {0.0: False, 1.0: True}.get(float(value))
    if found != kind:
        return None
    if kind == "number":
        number = number_of(value) if isinstance(value, str) else float(value)
        return number if number is not None and math.isfinite(number) else None
    return microseconds(date_of(value.strip()) if isinstance(value, str) else value)


def word_of(value: object) -> str:
    """Return a value as the name of a category, a function of the value alone.

    Whole numbers are alike whatever their type, and so are dates and times at midnight.

    Examples
    --------
    >>> word_of(3.0), word_of("3"), word_of(True), word_of(" Bern "), word_of(2**60 + 1), word_of(0.1)
    ('3', '3', 'true', 'Bern', '1152921504606846977', '0.1')
    >>> word_of(Decimal("1.10")), word_of(dt.date(2024, 5, 1)), word_of(dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC))
    ('1.1', '2024-05-01', '2024-05-01T12:00:00+00:00')
    """
    value = value if type(value) in (str, float, Decimal) else plain_value(value)
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) <= EXACT else repr(value)
    if isinstance(value, Decimal):
        return _digits(value)
    if isinstance(value, dt.datetime):
        return value.isoformat().removesuffix("T00:00:00")
    return str(value)


def _digits(value: Decimal) -> str:
    """A Decimal by its digits, without zeros at the end of its fraction: equal Decimals are written alike."""
    if not value:
        return "0"
    if not value.is_finite():
        return repr(float(value))
    if not -_MOST_DIGITS < value.adjusted() < _MOST_DIGITS:
        digits = "".join(map(str, value.as_tuple().digits)).rstrip("0")
        return f"{'-' * value.is_signed()}{digits}E{value.adjusted() - len(digits) + 1:+d}"
    text = format(value, "f")
    return re.sub(r"\.?0+$", "", text) if "." in text else text
