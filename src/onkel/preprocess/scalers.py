"""Scalers for streams: one pass, row by row, the same bits however the rows are cut into calls."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel import _core
from onkel.inside import Inside
from onkel.utils.turns import in_turn
from onkel.utils.validation import (
    MOST_ROWS,
    check_feature_names,
    check_flag,
    check_number,
    columns_by_name,
    unchanged_if_refused,
    with_parameters,
)

Floats = NDArray[np.float64]
Statistics = dict[str, NDArray[Any]]


class StreamScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the scalers share: checks, calls, saving. The arithmetic is in native/scaler.cpp."""

    _statistics: Statistics  # replaced as a whole: whoever reads beside a learning thread sees one state

    @in_turn
    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the statistics from scratch.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with unchanged_if_refused(self):
            rows = self._validated(X, first=True)
            self._statistics = self._pass(rows, self._blank(rows.shape[1]), learn=True)[1]
        return self

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from more rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        self.partial_fit_transform(X)
        return self

    @in_turn
    def partial_fit_transform(self, X: ArrayLike, y: object = None) -> Any:
        """Learn from more rows; scale each by the statistics of the rows up to itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features)
        """
        scaled, self._statistics = self._learned(X)
        return scaled

    def transform(self, X: ArrayLike) -> Any:
        """Scale rows by the statistics learned so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self._pass(self._validated(X, first=False), self._statistics, learn=False)[0]

    def inverse_transform(self, X: ArrayLike) -> Any:
        """Undo `transform`, up to rounding.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray or csr_array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        rows = self._validated(X, first=False)
        factor, shift = self.inverse_factors()
        if issparse(rows):
            return csr_array((rows.data * factor[rows.indices], rows.indices, rows.indptr), shape=rows.shape)
        return (rows * factor + shift).astype(rows.dtype)

    @property
    def n_samples_seen_(self) -> int:
        """Rows learned from."""
        return int(self._known("n")[0])

    def _known(self, name: str) -> NDArray[Any]:
        check_is_fitted(self)
        return self._statistics[name]

    def _learned(self, X: ArrayLike, counts: NDArray[np.bool_] | None = None) -> tuple[Any, Statistics]:
        """The rows, each scaled by those up to itself, and the statistics after them, which are not taken over yet.

        Rows that do not count are scaled and not learned from.
        """
        first = not hasattr(self, "_statistics")
        with unchanged_if_refused(self):
            rows = self._validated(X, first=first)
            before = self._blank(rows.shape[1]) if first else self._statistics
            return self._pass(rows, before, learn=True, counts=counts)

    def _fitted(self, X: ArrayLike, counts: NDArray[np.bool_] | None = None) -> tuple[Any, Statistics]:
        """The rows, all scaled by the statistics of all, and these: `fit` has all rows before it."""
        _, statistics = self._learned(X, counts)
        return self._pass(self._validated(X, first=False), statistics, learn=False)[0], statistics

    def _validated(self, X: ArrayLike, *, first: bool) -> Any:
        self._check_parameters()
        sparse = self._takes_sparse()
        if issparse(X) and sparse is not None:
            raise ValueError(sparse)
        X = X if first else columns_by_name(X, getattr(self, "feature_names_in_", None))
        rows = validate_data(self, X, reset=first, dtype=[np.float64, np.float32], order="C", accept_sparse="csr")
        if issparse(rows) and not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows

    def _pass(
        self, rows: Any, statistics: Statistics, *, learn: bool, counts: NDArray[np.bool_] | None = None
    ) -> tuple[Any, Statistics]:
        after = {name: _writable(values, copy=learn) for name, values in statistics.items()}
        given = rows
        if issparse(rows):
            given = rows.data, rows.indices.astype(np.int32, copy=False), rows.indptr.astype(np.int64, copy=False)
        values = self._scale(after, given, learn, counts)
        if learn:
            for name, numbers in after.items():
                if not np.isfinite(numbers).all():
                    feature = int(np.flatnonzero(~np.isfinite(numbers))[0])
                    raise ValueError(f"X has values in column {feature} that are too large to scale: {name} overflows")
        if issparse(rows):
            return csr_array((values, rows.indices, rows.indptr), shape=rows.shape), after
        return values.reshape(rows.shape), after

    # -- what a scaler says of itself
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    def _takes_sparse(self) -> str | None:
        """Why sparse rows cannot be scaled, if so."""
        return None

    def _blank(self, n_features: int) -> Statistics:
        """Statistics of no rows."""
        raise NotImplementedError

    def _scale(self, statistics: Statistics, rows: object, learn: bool, counts: object) -> NDArray[Any]:
        raise NotImplementedError

    def inverse_factors(self) -> tuple[Floats, Floats | float]:
        """Return the factors and shifts of the way back."""
        raise NotImplementedError

    def merged(self, other: StreamScaler) -> Self:
        """Return a scaler with the statistics of the rows of both."""
        if type(self) is not type(other) or self.get_params(deep=False) != other.get_params(deep=False):
            raise ValueError(f"{self!r} and {other!r} cannot be merged: they scale in different ways")
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(f"scalers of {self.n_features_in_} and {other.n_features_in_} features cannot be merged")
        merged = copy.copy(self)
        if other.n_samples_seen_ and not self.n_samples_seen_:
            merged._statistics = other._statistics
        elif other.n_samples_seen_:
            merged._statistics = self._added(self._statistics, other._statistics)
        return merged

    def _added(self, mine: Statistics, theirs: Statistics) -> Statistics:
        """Return the statistics of the rows of both, of which neither is without rows."""
        raise NotImplementedError

    def has_statistics_of(self, other: StreamScaler) -> bool:
        """Return whether both scale rows alike."""
        mine, theirs = self.get_params(deep=False), other.get_params(deep=False)
        if type(self) is not type(other) or mine != theirs:
            return False
        return all(np.array_equal(values, other._statistics[name]) for name, values in self._statistics.items())

    def __onkel_inside__(self) -> Inside:
        return Inside(self, None, transformers=(self,))

    def __onkel_facts__(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"scaler": type(self).__name__}
        if self.__sklearn_is_fitted__():
            facts |= {"n_features": self.n_features_in_, "rows": self.n_samples_seen_}
        return facts

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_statistics")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse() is None
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    # -- saving (see onkel.files.persistence)
    def _saved_fields(self) -> dict[str, Any]:
        fitted = {n: v for n, v in sorted(vars(self).items()) if n.endswith("_") or n == "_statistics"}
        return {"parameters": self.get_params(deep=False), **fitted}

    @classmethod
    def _from_saved_fields(cls, fields: dict[str, Any]) -> Self:
        scaler = with_parameters(cls, fields.pop("parameters"))
        scaler._check_parameters()
        if "_statistics" in fields:
            n_features = fields["n_features_in_"]
            check_number("n_features", n_features, at_least=1, below=2**31, integer=True)
            check_feature_names(fields.get("feature_names_in_"), n_features)
            scaler._check_statistics(fields["_statistics"], n_features)
        elif fields:
            raise ValueError("it has fitted attributes, but no statistics")
        scaler.__dict__.update(fields)
        return scaler

    def _check_statistics(self, statistics: object, n_features: int) -> None:
        """Refuse statistics that no rows have."""
        if not isinstance(statistics, dict) or not all(isinstance(v, np.ndarray) for v in statistics.values()):
            raise ValueError("statistics must hold arrays")
        n = statistics["n"]
        for name, blank in self._blank(1).items():
            found = statistics.get(name)
            shape = (1 if name == "n" else n_features,)
            if found is None or found.dtype != blank.dtype or found.shape != shape:
                raise ValueError(f"statistics must have {name} of {blank.dtype}, one for each of {shape[0]} features")
            if name in ("n", "seen") and ((found < 0) | (found > min(n.max(initial=0), MOST_ROWS))).any():
                raise ValueError(f"statistics must have counts in {name} between 0 and the number of rows")
        if len(statistics) != len(self._blank(1)):
            raise ValueError("statistics must not hold arrays that this scaler does not have")


def _writable(values: NDArray[Any], copy: bool) -> NDArray[Any]:
    return values.copy() if copy or not values.flags.writeable else values


class StreamStandardScaler(StreamScaler):
    """Scale features to mean 0 and variance 1, by one pass over a stream.

    The statistics are Welford's, taken row by row, so that any cut of the rows into calls gives the same bits.
    Sparse rows stay sparse and are not centred (``with_mean=False``); their zeros count.

    Parameters
    ----------
    with_mean : bool, default=True
        Whether to subtract the mean.
    with_std : bool, default=True
        Whether to divide by the standard deviation. A feature that has had one value only is not divided.
    forget : float, default=1.0
        How much a row counts beside the one after it, for features that move: with 0.999 about 1000 rows count.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    var_ : ndarray of shape (n_features,)
    scale_ : ndarray of shape (n_features,)
        What is divided by.
    n_samples_seen_ : int
    n_features_in_ : int

    See Also
    --------
    StreamMinMaxScaler : Scale to a range.
    StreamPipeline : A scaler and an estimator, learning together.

    Examples
    --------
    >>> import onkel
    >>> scaler = onkel.StreamStandardScaler().partial_fit([[0.0], [2.0]]).partial_fit([[4.0]])
    >>> scaler.mean_, scaler.transform([[2.0]])
    (array([2.]), array([[0.]]))
    """

    def __init__(self, *, with_mean: bool = True, with_std: bool = True, forget: float = 1.0) -> None:
        self.with_mean = with_mean
        self.with_std = with_std
        self.forget = forget

    @property
    def mean_(self) -> Floats:
        """Mean of each feature."""
        return self._known("mean") * self._with_zeros()[1]

    @property
    def var_(self) -> Floats:
        """Variance of each feature."""
        kept, share, zeros, total = self._with_zeros()
        return np.asarray((kept * self._known("squares") + self._known("mean") ** 2 * share * zeros) / total)

    def _with_zeros(self) -> tuple[Floats, Floats, Floats, float]:
        """How much of a feature's numbers still counts, their share of all rows, and the weights of zeros and rows."""
        n, seen = max(1, self.n_samples_seen_), self._known("seen")
        kept = np.power(float(self.forget), n - seen)
        total = float(self._weight(n))
        return kept, kept * self._weight(seen) / total, self._weight(n - seen), total

    def _weight(self, rows: Any) -> Any:
        """What so many rows weigh: 1 + forget + forget^2 + ..."""
        return (1 - np.power(float(self.forget), rows)) / (1 - self.forget) if self.forget < 1 else np.asarray(rows)

    @property
    def scale_(self) -> Floats:
        """What each feature is divided by."""
        deviation = np.sqrt(self.var_)
        return np.where(deviation > 0, deviation, 1.0) if self.with_std else np.ones_like(deviation)

    def _check_parameters(self) -> None:
        check_flag("with_mean", self.with_mean)
        check_flag("with_std", self.with_std)
        check_number("forget", self.forget, above=0, at_most=1)

    def _takes_sparse(self) -> str | None:
        return "sparse rows cannot be centred and stay sparse: use with_mean=False" if self.with_mean else None

    def _blank(self, n_features: int) -> Statistics:
        return {
            "n": np.zeros(1, np.int64),
            "seen": np.zeros(n_features, np.int64),
            "mean": np.zeros(n_features),
            "squares": np.zeros(n_features),
        }

    def _added(self, mine: Statistics, theirs: Statistics) -> Statistics:
        """Chan, Golub and LeVeque (1983); a feature's numbers stand for the rows that have it."""
        if self.forget < 1:
            raise ValueError("scalers that forget cannot be merged: which rows came last is not known; use forget=1")
        seen = mine["seen"] + theirs["seen"]
        share = theirs["seen"] / np.maximum(1, seen)
        apart = theirs["mean"] - mine["mean"]
        squares = mine["squares"] + theirs["squares"] + apart * apart * (mine["seen"] * share)
        return {"n": mine["n"] + theirs["n"], "seen": seen, "mean": mine["mean"] + apart * share, "squares": squares}

    def _scale(self, statistics: Statistics, rows: Any, learn: bool, counts: Any) -> NDArray[Any]:
        n, seen, mean, squares = (statistics[name] for name in ("n", "seen", "mean", "squares"))
        centre, scale = bool(self.with_mean), bool(self.with_std)
        forget = float(self.forget)
        return _core.scale_standard(n, seen, mean, squares, centre, scale, forget, rows, learn, counts)

    def inverse_factors(self) -> tuple[Floats, Floats | float]:
        """Return the factors and shifts of the way back."""
        return self.scale_, self.mean_ if self.with_mean else 0.0


class StreamMinMaxScaler(StreamScaler):
    """Scale features to a range, by one pass over a stream.

    The least value seen so far becomes the range's start, the greatest its end; rows that `transform` is given later
    may lie outside. Sparse rows are refused, since zeros would not stay zeros.

    Parameters
    ----------
    feature_range : tuple (start, end), default=(0, 1)

    Attributes
    ----------
    data_min_ : ndarray of shape (n_features,)
    data_max_ : ndarray of shape (n_features,)
    n_samples_seen_ : int
    n_features_in_ : int

    See Also
    --------
    StreamStandardScaler : Scale to mean 0 and variance 1.
    StreamPipeline : A scaler and an estimator, learning together.

    Examples
    --------
    >>> import onkel
    >>> scaler = onkel.StreamMinMaxScaler(feature_range=(-1, 1))
    >>> scaler.partial_fit_transform([[5.0], [9.0], [6.0]])  # each by the rows up to itself
    array([[-1. ],
           [ 1. ],
           [-0.5]])
    >>> scaler.transform([[7.0], [11.0]])
    array([[0.],
           [2.]])
    """

    def __init__(self, *, feature_range: tuple[float, float] = (0, 1)) -> None:
        self.feature_range = feature_range

    @property
    def data_min_(self) -> Floats:
        """Least value of each feature."""
        return self._known("least")

    @property
    def data_max_(self) -> Floats:
        """Greatest value of each feature."""
        return self._known("greatest")

    def _check_parameters(self) -> None:
        given: Any = self.feature_range
        if not isinstance(given, tuple | list) or len(given) != 2:
            raise ValueError(f"feature_range must be two numbers, got {self.feature_range!r}")
        for name, value in zip(("start", "end"), self.feature_range, strict=True):
            check_number(f"{name} of feature_range", value, at_least=-1e6, at_most=1e6)
        if self.feature_range[0] >= self.feature_range[1]:
            raise ValueError(f"feature_range must have its start below its end, got {self.feature_range!r}")

    def _takes_sparse(self) -> str | None:
        return (
            "sparse rows cannot be scaled to a range and stay sparse: "
            "make them dense, or use StreamStandardScaler(with_mean=False)"
        )

    def _blank(self, n_features: int) -> Statistics:
        return {"n": np.zeros(1, np.int64), "least": np.zeros(n_features), "greatest": np.zeros(n_features)}

    def _added(self, mine: Statistics, theirs: Statistics) -> Statistics:
        least, greatest = np.minimum(mine["least"], theirs["least"]), np.maximum(mine["greatest"], theirs["greatest"])
        return {"n": mine["n"] + theirs["n"], "least": least, "greatest": greatest}

    def _scale(self, statistics: Statistics, rows: Any, learn: bool, counts: Any) -> NDArray[Any]:
        start, end = map(float, self.feature_range)
        n, least, greatest = (statistics[name] for name in ("n", "least", "greatest"))
        return _core.scale_range(n, least, greatest, start, end, rows, learn, counts)

    def inverse_factors(self) -> tuple[Floats, Floats | float]:
        """Return the factors and shifts of the way back."""
        start, end = map(float, self.feature_range)
        span = self.data_max_ - self.data_min_
        factor = np.where(span > 0, span, 1.0) / (end - start)
        return factor, self.data_min_ - start * factor
