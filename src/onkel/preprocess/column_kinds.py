"""What the columns of a table are, and how a column of each kind becomes numbers.

A kind is "number", "boolean", "date", "category", "text" or "drop"; a question mark after it ("number?") gives the
column's gaps an indicator of their own. Where there are targets, a category with more values than columns is encoded
by what its values say about them, too.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel import _core
from onkel.preprocess import targets as by_target
from onkel.preprocess.targets import Targets
from onkel.streams.values import MISSING, Refused, number_of, shown, value_as
from onkel.utils.labels import is_missing
from onkel.utils.validation import MOST_ROWS, check_number

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
State = dict[str, Any]

KINDS = ("number", "boolean", "date", "category", "text", "drop")
DAY = 86_400_000_000  # microseconds
YEAR = 365.25 * DAY


def split(kind: str) -> tuple[str, bool]:
    """Return the bare kind, and whether gaps have an indicator."""
    return kind.removesuffix("?"), kind.endswith("?")


def read(kind: str, column: NDArray[Any], parse: bool) -> tuple[Flags, NDArray[Any], Flags | None]:
    """Return which values there are, the values as what the kind holds, and which are strays, if any are.

    A stray is a value of another kind. It is a gap, whatever it says; an infinite number is refused.
    """
    if kind in ("category", "text"):
        return *_read_words(column, parse), None
    if column.dtype.kind == "f" and kind == "number":
        if np.isinf(column).any():
            row = int(np.isinf(column).argmax())
            raise Refused(row, float(column[row]), "a finite number")
        return ~np.isnan(column), column, None
    if column.dtype.kind == "b" and kind in ("boolean", "number"):
        return np.ones(len(column), bool), column.astype(np.float64), None
    if column.dtype.kind == "M" and kind == "date":
        return ~np.isnat(column), column, None
    return _read_objects(kind, column)


def _read_words(column: NDArray[Any], parse: bool) -> tuple[Flags, NDArray[Any]]:
    there, words = np.ones(len(column), bool), np.empty(len(column), object)
    for i, value in enumerate(column.tolist()):
        if is_missing(value) or (parse and isinstance(value, str) and value.strip().lower() in MISSING):
            there[i] = False
        else:
            words[i] = value_as("category", value, parse)
    return there, words


def _read_objects(kind: str, column: NDArray[Any]) -> tuple[Flags, NDArray[Any], Flags | None]:
    values = column.tolist()
    found: NDArray[Any] = np.full(len(values), np.datetime64("NaT", "us")) if kind == "date" else _plain_numbers(values)
    if kind == "boolean":
        found[:] = math.nan
    strays = np.zeros(len(values), bool)
    for i in np.flatnonzero(np.isnat(found) if kind == "date" else np.isnan(found)).tolist():
        value = values[i]
        if is_missing(value) or (isinstance(value, str) and value.strip().lower() in MISSING):
            continue
        made = value_as(kind, value, parse=True)  # the kind is known: a text is read as what it says
        if made is not None:
            found[i] = made
        elif kind == "number" and isinstance(value, float | Decimal):
            raise Refused(i, value, "a finite number")
        else:
            strays[i] = True
    return ~(np.isnat(found) if kind == "date" else np.isnan(found)), found, strays if strays.any() else None


def _plain_numbers(values: list[Any]) -> Floats:
    """Numbers, and text that is one; NaN for all else, which is looked at more closely."""
    numbers = [
        number_of(value) if isinstance(value, str) else value if type(value) is float else None for value in values
    ]
    found = np.array([math.nan if number is None else number for number in numbers], np.float64)
    if np.isinf(found).any():
        row = int(np.isinf(found).argmax())
        raise Refused(row, values[row], "a finite number")
    return found


# -- encoding ---------------------------------------------------------------------------------------------------------


def width(kind: str, max_categories: int, n_targets: int) -> int:
    """Return how many columns of numbers a column becomes."""
    bare, gaps = split(kind)
    category = max_categories + n_targets + 1
    own = {"number": 1, "boolean": 1, "date": 7, "category": category, "text": max_categories, "drop": 0}
    return own[bare] + (gaps and bare != "drop")


def blank(kind: str, n_targets: int) -> State:
    """Return what is known of a column before its first value."""
    bare, _ = split(kind)
    none = {"n": np.zeros(1, np.int64), "strays": np.zeros(1, np.int64), "such_as": []}
    if bare == "number":
        return none | {"mean": np.zeros(1), "squares": np.zeros(1), "seen": np.zeros(1, np.int64)}
    if bare in ("boolean", "date"):
        return none | {{"boolean": "true", "date": "origin"}[bare]: np.zeros(1, np.int64)}
    if bare != "category":
        return {}
    targets = {"targets": by_target.blank(n_targets)} if n_targets else {}
    return {"words": [], "beyond": np.zeros(1, np.int64)} | targets


def is_by_target(state: State) -> bool:
    """Return whether a column is a category that has more values than columns, and targets to be encoded by."""
    return "targets" in state and bool(state["beyond"][0])


def moments(state: State) -> tuple[int, float, float]:
    """Return the number of a column's values, their mean and the sum of their squared deviations from it."""
    n, seen, mean = int(state["n"][0]), int(state["seen"][0]), float(state["mean"][0])
    share = seen / max(1, n)  # the zeros after the last value that was none are not in the moments yet
    return n, mean * share, float(state["squares"][0]) + mean**2 * share * (n - seen)


def merged(kind: str, states: Sequence[State], max_categories: int) -> State:
    """Return what is known of a column after the values of several streams, one behind the other."""
    bare, _ = split(kind)
    if bare == "category":
        words = list(dict.fromkeys(word for state in states for word in state["words"]))
        beyond = sum(int(state["beyond"][0]) for state in states) + max(0, len(words) - max_categories)
        whole: State = {"words": words[:max_categories], "beyond": np.array([beyond])}
        targets = [state["targets"] for state in states if "targets" in state]
        return whole | ({"targets": by_target.merged(targets)} if targets else {})
    if bare in ("text", "drop"):
        return {}
    strays: State = {
        "strays": np.sum([state["strays"] for state in states], axis=0),
        "such_as": [shown for state in states for shown in state["such_as"]][:1],
    }
    if bare == "boolean":
        return strays | {name: np.sum([state[name] for state in states], axis=0) for name in ("n", "true")}
    if bare == "date":
        origins = [state["origin"] for state in states if state["n"][0]]
        n = np.sum([state["n"] for state in states], axis=0)
        return strays | {"n": n, "origin": [*origins, np.zeros(1, np.int64)][0]}
    n, mean, squares = 0, 0.0, 0.0
    for state in states:  # the formula of Chan, Golub and LeVeque for two samples
        rows, own, spread = moments(state)
        if rows == 0:
            continue
        difference, both = own - mean, n + rows
        mean, squares = mean + difference * rows / both, squares + spread + difference**2 * n * rows / both
        n = both
    sums = {"n": np.array([n]), "mean": np.array([mean]), "squares": np.array([squares]), "seen": np.array([n])}
    return strays | sums


def encode(
    kind: str,
    state: State,
    column: NDArray[Any],
    parse: bool,
    out: Floats,
    counts: Flags | None,
    max_categories: int,
    targets: Targets | None = None,
) -> tuple[State, bool]:
    """Write a column's values as numbers; return what is known after them, and whether there are strays among them.

    ``counts`` says which rows to learn from; without it nothing is learned. A row is encoded by what is known after it,
    but for its own target.
    """
    bare, has_indicator = split(kind)
    if bare == "drop":
        return state, False
    there, values, strays = read(bare, column, parse)
    learned = None if counts is None else counts & there
    own = out[:, : out.shape[1] - has_indicator]
    if has_indicator:
        out[:, -1] = ~there
    if bare == "text":
        _hashed(values, there, own)
        return state, False
    if bare == "category":
        after = _one_hot(state, values, there, learned, own, max_categories)
        if "targets" in state:
            after = _by_target(state, after, values, there, learned, own[:, max_categories:], targets)
        return after, False
    if bare == "date":
        after = _as_date(state, values, there, learned, own)
    else:
        after = {"number": _standardised, "boolean": _as_boolean}[bare](state, values, there, learned, own[:, 0])
    if strays is None:
        return after, False
    if counts is not None and (counted := np.flatnonzero(strays & counts)).size:
        such_as = state["such_as"] or [shown(column[counted[0]])]
        after = after | {"strays": state["strays"] + counted.size, "such_as": such_as}
    return after, True


def _standardised(state: State, values: Floats, there: Flags, learned: Flags | None, out: Floats) -> State:
    """Welford's statistics of the values there are; a gap is their mean, which is 0."""
    after = {name: np.array(numbers) if name != "such_as" else numbers for name, numbers in state.items()}
    column = np.ascontiguousarray(np.where(there, values, 0.0))[:, None]
    n, seen, mean, squares = (after[name] for name in ("n", "seen", "mean", "squares"))
    learns = learned is not None
    scaled = _core.scale_standard(n, seen, mean, squares, True, True, 1.0, column, learns, learned).reshape(len(values))
    if not np.isfinite(after["squares"]).all():
        raise Refused(0, float(np.abs(values[there]).max()), "a number whose square a double can hold")
    out[:] = np.where(there, scaled, 0.0)
    return after if learns else state


def _as_boolean(state: State, values: Floats, there: Flags, learned: Flags | None, out: Floats) -> State:
    """0 or 1; a gap is the share of those that are true, one half before there is one."""
    steps = np.zeros(len(values), np.int64) if learned is None else learned.astype(np.int64)
    n = state["n"] + np.cumsum(steps)
    true = state["true"] + np.cumsum(steps * np.where(there, values, 0).astype(np.int64))
    with np.errstate(invalid="ignore"):
        mean = np.where(n > 0, true / np.maximum(n, 1), 0.5)
    out[:] = np.where(there, values, mean)
    if learned is None or not len(n):
        return state
    return state | {"n": n[-1:].copy(), "true": true[-1:].copy()}


def _turn(n: int) -> Floats:
    """Cosine and sine of each of n steps round a circle: from a table, so that equal parts have equal bits."""
    return np.array([[math.cos(2 * math.pi * i / n), math.sin(2 * math.pi * i / n)] for i in range(n)])


MONTHS, WEEKDAYS, HOURS = _turn(12), _turn(7), _turn(24)


def _as_date(state: State, values: NDArray[Any], there: Flags, learned: Flags | None, out: Floats) -> State:
    """Month, weekday and hour on their circles, and the years elapsed since the first date; a gap is 0.

    Statistics of a time that goes on would move under the points that are already there: the unit is fixed.
    """
    times = np.where(there, values, np.datetime64(0, "us"))
    micros = times.astype(np.int64)
    out[:, 0:2] = MONTHS[times.astype("datetime64[M]").astype(np.int64) % 12]
    out[:, 2:4] = WEEKDAYS[(micros // DAY + 3) % 7]  # 1970-01-01 was a Thursday
    out[:, 4:6] = HOURS[micros % DAY // (DAY // 24)]
    first = None if learned is None or not learned.any() else int(learned.argmax())
    if state["n"][0]:
        begin, origin = 0, int(state["origin"][0])
    else:
        begin, origin = (len(micros), 0) if first is None else (first, int(micros[first]))
    out[begin:, 6] = (micros[begin:] - origin) / YEAR
    out[:begin, 6] = 0.0
    out[~there] = 0.0
    if learned is None:
        return state
    return state | {"n": state["n"] + np.count_nonzero(learned), "origin": np.array([origin])}


def _one_hot(
    state: State, words: NDArray[Any], there: Flags, learned: Flags | None, out: Floats, max_categories: int
) -> State:
    """A column for each of the first values, in the order of their appearance, and one for all others, whose rows are
    counted."""
    known = {word: place for place, word in enumerate(state["words"])}
    n_known, others = len(known), out.shape[1] - 1
    out[:] = 0.0
    for row in np.flatnonzero(there).tolist():
        place = known.get(words[row])
        if place is None:
            place = others
            if learned is not None and learned[row] and len(known) < max_categories:
                place = known[words[row]] = len(known)
        out[row, place] = 1.0
    if learned is None:
        return state
    after = state if len(known) == n_known else state | {"words": list(known)}
    beyond = np.count_nonzero(learned & (out[:, others] > 0))
    return after | {"beyond": state["beyond"] + beyond} if beyond else after


def _by_target(
    state: State,
    after: State,
    words: NDArray[Any],
    there: Flags,
    learned: Flags | None,
    out: Floats,
    targets: Targets | None,
) -> State:
    """Before the column of all other values: what the values say about the target, from the first of these on."""
    made = out[:, :-1]
    known = by_target.encode(state["targets"], words, there, targets, made)
    if not state["beyond"][0]:
        first = 0 if learned is None else int((learned & (out[:, -1] > 0)).argmax())
        made[: first if after["beyond"][0] else len(made)] = 0.0
    return after | {"targets": known}


def _digest(word: str) -> int:
    return int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8, key=b"onkel words").digest(), "little")


def _hashed(texts: NDArray[Any], there: Flags, out: Floats) -> None:
    """Words, each with a sign, in columns that a keyed hash gives them; a text of any length has about the norm 1."""
    out[:] = 0.0
    for row in np.flatnonzero(there).tolist():
        words = set(texts[row].lower().split())
        for word in sorted(words):
            digest = _digest(word)
            out[row, (digest >> 1) % out.shape[1]] += 1.0 if digest & 1 else -1.0
        out[row] /= math.sqrt(max(1, len(words)))


def out_names(name: str, kind: str, state: State, max_categories: int) -> list[str]:
    """Return what the columns of numbers are called."""
    bare, gaps = split(kind)
    names = {
        "number": [name],
        "boolean": [name],
        "date": [f"{name} {part}" for part in ("month x", "month y", "weekday x", "weekday y", "hour x", "hour y")]
        + [f"{name} elapsed"],
        "text": [f"{name} word {i}" for i in range(max_categories)],
        "drop": [],
    }.get(bare)
    if names is None:
        words = state["words"]
        names = [f"{name}={words[i]}" if i < len(words) else f"{name} {i}" for i in range(max_categories)]
        n_targets = len(state["targets"]["mean"]) if "targets" in state else 0
        names += [f"{name} target{f' {i}' * (n_targets > 1)}" for i in range(n_targets)]
        names.append(f"{name} others")
    return names + [f"{name} missing"] * (gaps and bare != "drop")


# -- how a column is encoded from now on ------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncodedColumn:
    """How the values of a column become numbers by what is known now: what an export has to say of it."""

    name: str
    kind: str  # without the question mark
    indicator: bool  # whether gaps have a column of their own, the last
    places: int  # columns of numbers without the indicator; of a category the last is that of all other words
    shift: float = 0.0  # of a number, which becomes (value - shift) * factor
    factor: float = 1.0
    gap: float = 0.0  # what a gap becomes where there is one column
    words: tuple[str, ...] = ()  # of a category, in the order of their columns
    # Of a category with more values than columns, where there are targets: the numbers of its values, which come
    # before the last.
    targets: dict[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def all_words(self) -> list[str]:
        """The words of a category, those with columns of their own first."""
        return list(dict.fromkeys([*self.words, *self.targets]))

    @property
    def n_targets(self) -> int:
        """How many numbers each of its values has."""
        return len(next(iter(self.targets.values()), ()))

    origin: int | None = None  # of dates, where there was one: the microseconds since 1970 from which years are counted


def as_encoded(name: str, kind: str, state: State, max_categories: int) -> EncodedColumn:
    """Return how a column is encoded by what is known of it.

    >>> as_encoded("town", "category?", {"words": ["Bern"]}, 32).words
    ('Bern',)
    """
    bare, indicator = split(kind)
    places = width(bare, max_categories, len(state["targets"]["mean"]) if "targets" in state else 0)
    if bare == "number":
        n, mean, squares = moments(state)
        deviation = math.sqrt(squares / max(1, n))
        return EncodedColumn(name, bare, indicator, places, shift=mean, factor=1 / deviation if deviation > 0 else 1.0)
    if bare == "boolean":
        n, true = int(state["n"][0]), int(state["true"][0])
        return EncodedColumn(name, bare, indicator, places, gap=true / n if n else 0.5)
    if bare == "date":
        return EncodedColumn(name, bare, indicator, places, origin=int(state["origin"][0]) if state["n"][0] else None)
    words = tuple(state.get("words", ()))
    try:
        targets = by_target.means(state["targets"]) if is_by_target(state) else {}
    except ValueError as error:
        raise ValueError(f"column {name!r} cannot be exported: {error}") from None
    return EncodedColumn(name, bare, indicator and bare != "drop", places, words=words, targets=targets)


def check_state(kind: str, state: object, max_categories: int, n_targets: int) -> None:
    """Refuse what no column of this kind can have learned."""
    found = blank(kind, n_targets)
    if not isinstance(state, dict) or state.keys() != found.keys():
        raise ValueError(f"a column of kind {kind} must have {', '.join(found) or 'no statistics'}")
    for name, expected in found.items():
        value = state[name]
        if name == "such_as":
            if not isinstance(value, list) or not all(isinstance(each, str) for each in value[:2]) or len(value) > 1:
                raise ValueError("an example of the strays of a column must be text")
        elif name == "words":
            if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
                raise ValueError("the words of a category must be text")
            if len(set(value)) != len(value) or len(value) > max_categories:
                raise ValueError(f"the words of a category must be different, and at most {max_categories}")
        elif name == "targets":
            by_target.check(value, n_targets)
        elif not isinstance(value, np.ndarray) or value.dtype != expected.dtype or value.shape != expected.shape:
            raise ValueError(f"{name} of a column must be one number of {expected.dtype}")
        elif name == "origin":
            check_number("the origin of dates", int(value[0]), above=-(2**62), below=2**62, integer=True)
        elif name in ("strays", "beyond"):
            check_number(f"{name} of a column", int(value[0]), at_least=0, at_most=MOST_ROWS, integer=True)
        elif expected.dtype == np.int64 and not 0 <= value[0] <= min(state["n"][0], MOST_ROWS):
            raise ValueError(f"{name} of a column must lie between 0 and the number of its values")
