"""Refusals in one sentence: what is wrong, where, and what was expected."""

from __future__ import annotations

import contextlib
import inspect
import numbers
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")


def shown(value: object) -> str:
    """Return a value as a sentence shows it: in one line, and a long one by its beginning.

    >>> shown({"n_jobs": 2}), shown(list(range(1000)))[-12:]
    ("{'n_jobs': 2}", '0, 51, 5 ...')
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= 200 else text[:200] + " ..."


def check_number(
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    integer: bool = False,
) -> None:
    """Refuse a parameter that is not a number in its range."""
    kind = numbers.Integral if integer else numbers.Real
    ok = isinstance(value, kind) and not isinstance(value, bool)
    # An integer may be of any size where integers are asked for, and must be a double elsewhere.
    is_whole = isinstance(value, numbers.Integral)
    ok = ok and (integer or abs(value) <= sys.float_info.max if is_whole else bool(np.isfinite(value)))
    ok = ok and (above is None or value > above)
    ok = ok and (at_least is None or value >= at_least)
    ok = ok and (below is None or value < below)
    ok = ok and (at_most is None or value <= at_most)
    if ok:
        return
    wanted = range_in_words(above=above, at_least=at_least, below=below, at_most=at_most)
    noun = "an integer" if integer else "a number"
    wanted = f" of {wanted}" if wanted.startswith("at") else f" {wanted}" if wanted else ""
    raise ValueError(f"{name} must be {noun}{wanted}, got {shown(value)}")


def check_seed(name: str, value: object) -> None:
    """Refuse a seed that is not a 64-bit integer."""
    check_number(name, value, at_least=0, at_most=2**64 - 1, integer=True)


MOST_THREADS = 4096


def n_threads(n_jobs: object) -> int:
    """Return the number of threads for ``n_jobs``, as in scikit-learn: None means 1, -1 means one per core."""
    if n_jobs is None:
        return 1
    check_number("n_jobs", n_jobs, at_least=-MOST_THREADS, at_most=MOST_THREADS, integer=True)
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0; 1 is one thread, -1 all cores")
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


def range_in_words(**limits: float | None) -> str:
    """Return the limits that `check_number` takes, in words.

    >>> range_in_words(above=0, at_most=1)
    'greater than 0 and at most 1'
    """
    words = {"above": "greater than", "at_least": "at least", "below": "less than", "at_most": "at most"}
    given = {name: limits[name] for name in words if limits.get(name) is not None}
    return " and ".join(f"{words[name]} {limit:g}" for name, limit in given.items())


def check_choice(name: str, value: Any, choices: Any) -> None:
    """Refuse a parameter that is not one of its choices."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}")


def check_flag(name: str, value: object) -> None:
    """Refuse a parameter that is not True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")


def are_float_rows(X: object, n_features: int) -> bool:
    """Return whether these are rows of so many features in a plain array of float32 or float64.

    >>> are_float_rows(np.zeros((1, 3)), 3), are_float_rows([[0.0, 0.0, 0.0]], 3), are_float_rows(np.zeros((1, 3)), 4)
    (True, False, False)
    """
    if type(X) is not np.ndarray or X.ndim != 2:
        return False
    return len(X) > 0 and X.shape[1] == n_features and X.dtype in (np.float32, np.float64)


def check_finite(name: str, values: NDArray[Any], columns: NDArray[Any] | None = None) -> None:
    """Refuse NaN and infinity, naming the first place."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return
    bad = np.argwhere(~np.isfinite(values))
    if len(bad) == 0:
        return
    what = "NaN" if np.isnan(values[tuple(bad[0])]) else "infinity"
    where = f"row {bad[0][0]}"
    if values.ndim == 2:
        where += f", column {bad[0][1]}"
        if columns is not None:
            where += f" ({columns[bad[0][1]]!r})"
    raise ValueError(f"Input {name} contains {what} at {where}; expected finite numbers")


MOST_ROWS = 2**62  # that a model may say it has seen
MOST_FEATURES = 2**31 - 1  # of sparse rows, whose indices have 32 bits


def check_sparse_width(n_features: int) -> None:
    """Refuse more features than 32-bit indices can number."""
    if n_features > MOST_FEATURES:
        raise ValueError(f"a sparse X must have at most {MOST_FEATURES} features, got {n_features}")


def check_weights(sample_weight: object, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights as float64, or None where all rows have the same weight."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"sample_weight must be numbers: {error}") from None
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight must have one entry for each of the {n_rows} rows, got shape {weights.shape}")
    check_finite("sample_weight", weights)
    if (weights < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {weights.min():g} at row {int(weights.argmin())}")
    return np.ascontiguousarray(weights)


@contextlib.contextmanager
def unchanged_if_refused(model: object) -> Iterator[None]:
    """Restore the attributes of a model when a check inside the block fails."""
    before = dict(vars(model))
    try:
        yield
    except BaseException:
        for name in vars(model).keys() - before.keys():
            delattr(model, name)
        vars(model).update(before)  # not cleared first: a thread that predicts misses nothing
        raise


@contextlib.contextmanager
def columns_of_numbers(X: Any, model: Any) -> Iterator[None]:
    """Refuse what scikit-learn cannot make a matrix of: tables of Arrow, and the first column that is no numbers."""
    way = f"onkel.make_stream_pipeline({type(model).__name__}()) learns from text, dates and gaps too"
    if hasattr(X, "schema") and hasattr(X, "num_rows"):
        raise TypeError(f"X is a {type(X).__name__} of pyarrow: give X.to_pandas(); {way}")
    is_dict = isinstance(X, Mapping) and not hasattr(X, "shape")  # which sparse ones of scipy have
    if is_dict or (isinstance(X, list | tuple) and X and isinstance(X[0], Mapping)):
        raise TypeError(f"X is a {'table as a dict' if is_dict else 'list of records'}: {way}")
    try:
        yield
    except (TypeError, ValueError):
        if isinstance(X, np.ndarray) and X.ndim == 2:
            named = [(str(place), X[:, place]) for place in range(X.shape[1])]
        else:
            named = [(name, X[name]) for name in getattr(X, "columns", ())]
        for place, (name, column) in enumerate(named):
            row, value = _first_that_is_no_number(column)
            if row is not None and (hasattr(X, "columns") or value is None or isinstance(value, str)):
                where = f"row {row}, column {place} ({str(name)!r})"
                raise ValueError(f"X contains {value!r} at {where}, and an estimator takes numbers: {way}") from None
        raise


def _first_that_is_no_number(column: object) -> tuple[int | None, Any]:
    for row, value in enumerate(np.asarray(column).tolist()):
        try:
            float(value)
        except (TypeError, ValueError):
            return row, value
    return None, None


def columns_by_name(X: Any, names: NDArray[Any] | None) -> Any:
    """Return a data frame with its columns in the order of a fitted model's names; anything else is unchanged."""
    if names is None or not hasattr(X, "columns"):
        return X
    found, wanted = list(X.columns), names.tolist()
    return X[wanted] if found != wanted and len(found) == len(wanted) == len({*found, *wanted}) else X


def check_feature_names(names: object, n_features: int) -> None:
    """Refuse names that a fitted model cannot have; None means no names."""
    if names is None:
        return
    if not isinstance(names, np.ndarray) or not all(isinstance(name, str) for name in names.tolist()):
        raise ValueError(f"feature_names must be an array of strings, got {names!r}")
    if names.shape != (n_features,):
        raise ValueError(f"feature_names must be {n_features} strings, got {names.size}")


def with_parameters(cls: type[T], parameters: object) -> T:
    """Return an estimator with the parameters of a file; refuse unknown and missing ones."""
    if not isinstance(parameters, dict):
        raise ValueError(f"parameters must be names with values, got {parameters!r}")
    known = inspect.signature(cls).parameters
    for name in parameters:
        if name not in known:
            raise ValueError(f"it has a parameter {name!r}, which this version of onkel does not know")
    for name, parameter in known.items():
        if name not in parameters and parameter.default is parameter.empty:
            raise ValueError(f"it lacks the parameter {name!r}")
    return cls(**parameters)
