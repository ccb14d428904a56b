"""What the values of a category say about the target: their shrunk means, each row by those before it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel import _core

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
State = dict[str, Any]

LEVELS = 2**16  # so many values of a category are told apart; further ones share their places
MOST_COLUMNS = 8  # of classes; further classes share these


@dataclass(frozen=True)
class Targets:
    """Targets of some rows, as a category is encoded by them.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
        The target of a regression, whether a row is of the second of two classes, or of each class.
    counts : ndarray of shape (n_rows,)
        Which rows have one to learn from.
    """

    values: Floats
    counts: Flags

    def __getitem__(self, rows: Any) -> Targets:
        return Targets(self.values[rows], self.counts[rows])

    def only(self, kept: Flags) -> Targets:
        """Return the targets where no others than those of ``kept`` count."""
        return Targets(self.values, self.counts & kept)

    @property
    def n_columns(self) -> int:
        """Number of columns that a category becomes besides those of its values."""
        return int(self.values.shape[1])

    @classmethod
    def of(cls, values: Floats, n_classes: int | None, counts: Flags | None = None) -> Targets:
        """Return targets of a regression (`n_classes` is None), or of classes by their indices; 0 is an open number.

        Examples
        --------
        >>> import numpy as np
        >>> Targets.of(np.array([0.0, 1.0]), 2).values.ravel(), Targets.of(np.array([0.0, 2.0]), 3).values.tolist()
        (array([0., 1.]), [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
        """
        counts = np.ones(len(values), bool) if counts is None else counts
        if n_classes is None or n_classes == 2:
            return cls(np.ascontiguousarray(values[:, None], np.float64), counts)
        columns = min(n_classes or MOST_COLUMNS, MOST_COLUMNS)
        return cls(np.eye(columns)[values.astype(np.intp) % columns], counts)


def blank(n_columns: int) -> State:
    """Return what is known before the first row."""
    return {
        "names": [],  # of the levels, in the order of their hashes
        "levels": np.zeros(0, np.int64),
        "counts": np.zeros(0, np.int64),
        "sums": np.zeros((0, n_columns)),
        "rows": np.zeros(1, np.int64),
        "mean": np.zeros(n_columns),
        "squares": np.zeros(n_columns),
        "errors": np.zeros(_core.target_priors),
    }


def encode(state: State, words: NDArray[Any], there: Flags, targets: Targets | None, out: Floats) -> State:
    """Write the shrunk means of words, each by the rows before its own; return what is known after the last row."""
    levels = np.full(len(words), -1, np.int64)
    levels[there] = [level_of(word) for word in words[there].tolist()]
    full = 0  # the row from which on there is no room for another level
    if targets is not None:
        state = {name: values.copy() for name, values in state.items()}
        full = _make_room(state, words, levels, np.flatnonzero(there & targets.counts))
    places = _places(state["levels"], levels, full)
    statistics = (state[name] for name in ("counts", "sums", "rows", "mean", "squares", "errors"))
    values, counts = (None, None) if targets is None else (targets.values, targets.counts)
    n, sums, rows, mean, squares, errors = statistics
    out[:] = _core.encode_targets(n, sums, rows, mean, squares, errors, places, values, counts)
    return state


def _make_room(state: State, words: NDArray[Any], levels: NDArray[np.int64], rows: NDArray[np.intp]) -> int:
    """Add the levels that rows are the first of, as far as there is room; return the row from which on it is gone."""
    known = state["levels"]
    fresh, first = np.unique(levels[rows], return_index=True)
    is_new = ~np.isin(fresh, known)
    order = np.argsort(first[is_new])[: LEVELS - len(known)]
    kept = np.sort(order)
    new, at = fresh[is_new][kept], rows[first[is_new]]
    if len(new):
        before = np.searchsorted(known, new)
        state["levels"], state["counts"] = np.insert(known, before, new), np.insert(state["counts"], before, 0)
        state["sums"] = np.insert(state["sums"], before, 0.0, axis=0)
        for place, row in zip((before + np.arange(len(new))).tolist(), at[kept].tolist(), strict=True):
            state["names"].insert(place, words[row])
    if len(state["levels"]) < LEVELS:
        return len(levels)
    return int(at[order[-1]]) + 1 if len(new) else 0


def _places(known: NDArray[np.int64], levels: NDArray[np.int64], full: int) -> NDArray[np.int64]:
    """The places of levels; where there is no room, others share those of the known ones."""
    if not len(known):
        return np.full(len(levels), -1, np.int64)
    places = np.minimum(np.searchsorted(known, levels), len(known) - 1)
    shared = np.where((len(known) == LEVELS) & (levels >= 0) & (np.arange(len(levels)) >= full), levels % LEVELS, -1)
    return np.where(known[places] == levels, places, shared).astype(np.int64)


@lru_cache(2**16)
def level_of(word: str) -> int:
    """Return the hash of a value of a category, of 63 bits.

    >>> level_of("Bern")
    1834714944190686434
    """
    digest = hashlib.blake2b(word.encode(), digest_size=8, key=b"onkel levels").digest()
    return int.from_bytes(digest, "little") >> 1


def means(state: State) -> dict[str, tuple[float, ...]]:
    """Return what each value becomes by what is known now; refuse more values than are told apart."""
    if len(state["levels"]) == LEVELS:
        raise ValueError(f"it has more than {LEVELS:,} values, which share what they say about the target")
    made = np.empty((len(state["names"]), len(state["mean"])))
    names = np.array([*state["names"], ""], object)[:-1]
    encode(state, names, np.ones(len(names), bool), None, made)
    return dict(zip(names.tolist(), map(tuple, made.tolist()), strict=True))


def merged(states: Sequence[State]) -> State:
    """Return what is known after the rows of several streams, one behind the other."""
    names = {
        level: name for state in states for level, name in zip(state["levels"].tolist(), state["names"], strict=True)
    }
    levels = np.array(list(names)[:LEVELS], np.int64)
    levels.sort()
    both = blank(len(states[0]["mean"])) | {"levels": levels, "names": [names[level] for level in levels.tolist()]}
    both |= {"counts": np.zeros(len(levels), np.int64), "sums": np.zeros((len(levels), len(both["mean"])))}
    for state in states:
        at = _places(levels, state["levels"], 0)
        np.add.at(both["counts"], at, state["counts"])
        np.add.at(both["sums"], at, state["sums"])
        n, more = int(both["rows"][0]), int(state["rows"][0])
        if more:  # the formula of Chan, Golub and LeVeque for two samples
            difference = state["mean"] - both["mean"]
            both["mean"] = both["mean"] + difference * (more / (n + more))
            both["squares"] = both["squares"] + state["squares"] + difference**2 * (n * more / (n + more))
        both["rows"] = both["rows"] + state["rows"]
        both["errors"] = both["errors"] + state["errors"]
    return both


def check(state: object, n_columns: int) -> None:
    """Refuse statistics that no rows have."""
    expected = blank(n_columns)
    if not isinstance(state, dict) or state.keys() != expected.keys():
        raise ValueError(f"what the values of a category say about the target must have {', '.join(expected)}")
    levels, names = state["levels"], state["names"]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(names) > LEVELS:
        raise ValueError(f"the values of a category must be at most {LEVELS:,} texts")
    for name, like in expected.items():
        if name == "names":
            continue
        shape = (len(names), *like.shape[1:]) if name in ("levels", "counts", "sums") else like.shape
        value = state[name]
        if not isinstance(value, np.ndarray) or value.dtype != like.dtype or value.shape != shape:
            raise ValueError(f"{name} of a category must be an array of {like.dtype} of shape {shape}")
    if levels.tolist() != [level_of(name) for name in names] or (np.diff(levels) <= 0).any():
        raise ValueError("the levels of a category must be the ascending hashes of its values")
    if (state["counts"] < 0).any() or not state["counts"].sum() <= state["rows"][0]:
        raise ValueError("the rows of a category's values must not be more than all rows")
