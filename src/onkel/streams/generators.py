"""Streams that are drawn: a row is a function of the seed and its number, so any place can be gone to at once.

>>> from onkel.streams import generators
>>> stream = generators.mixture(1_000_000, seed=3)
>>> stream.seek({"rows": 999_999, "skipped": 0})
>>> next(stream)[0].shape
(1, 2)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import cosdg, ndtri, sindg  # one value at a time: the same bits wherever a value stands in its array

from onkel.streams._stream import ArrayStream, Chunk, Stream
from onkel.utils.validation import check_choice, check_number, check_seed

__all__ = ["STREAMS", "hyperplane", "mixture", "mixture_modes", "switching"]

Floats = NDArray[np.float64]

_BLOCK = 4  # numbers that one count of Philox gives


def mixture(
    n_rows: int | None = None,
    *,
    seed: int = 0,
    task_seed: int = 19,
    n_classes: int = 5,
    n_modes: int = 3,
    deviation: float = 0.2,
    chunk_rows: int = 4096,
    dtype: str = "float64",
) -> Stream:
    """Stream the plane mixture of the POLK paper, section 5.2 ("multidist").

    Each class is a mixture of gaussians of equal weight; the means of a class are drawn around a point of the unit
    circle with variance 1. The paper prints a variance of 0.2 for the modes and reports error rates of 4 %, which no
    such mixture allows; a standard deviation of 0.2 does. The means of the default `task_seed` have a Bayes error of
    4 %.

    Parameters
    ----------
    n_rows : int, default=None
        None: without end.
    seed : int, default=0
        Draws the rows.
    task_seed : int, default=19
        Draws the means.
    n_classes : int, default=5
    n_modes : int, default=3
        Of each class.
    deviation : float, default=0.2
        Standard deviation of a mode.
    chunk_rows : int, default=4096
    dtype : {"float64", "float32"}

    Returns
    -------
    Stream

    Examples
    --------
    >>> X, y = next(mixture(100, seed=1))
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 2), [0, 1, 2, 3, 4])
    """
    _check_counts(n_classes=n_classes, n_modes=n_modes)
    check_number("deviation", deviation, above=0)
    modes = mixture_modes(task_seed, n_classes, n_modes)

    def draw(u: Floats, rows: Floats) -> Chunk:
        y = _whole(u[:, 0], n_classes)
        return modes[y, _whole(u[:, 1], n_modes)] + deviation * ndtri(u[:, 2:4]), y

    return _stream("mixture", draw, 4, 2, n_rows, seed, chunk_rows, dtype)


def mixture_modes(task_seed: int = 19, n_classes: int = 5, n_modes: int = 3) -> Floats:
    """Return the means of a `mixture`: an array of (class, mode, coordinate).

    Examples
    --------
    >>> mixture_modes().shape
    (5, 3, 2)
    """
    angles = 360.0 * np.arange(n_classes) / n_classes
    centres = np.column_stack([cosdg(angles), sindg(angles)])
    offsets = ndtri(_uniforms(task_seed, 1, 0, n_classes, 2 * n_modes)).reshape(n_classes, n_modes, 2)
    return np.asarray(centres[:, None] + offsets)


def hyperplane(
    n_rows: int | None = None,
    *,
    seed: int = 0,
    n_features: int = 10,
    period: int = 100_000,
    noise: float = 0.05,
    chunk_rows: int = 4096,
    dtype: str = "float64",
) -> Stream:
    """Stream rows of a cube, split in two classes by a plane that turns once in a period: slow drift.

    Parameters
    ----------
    n_rows : int, default=None
        None: without end.
    seed : int, default=0
    n_features : int, default=10
        The plane turns within the first two; the others matter as much as in the mean of both.
    period : int, default=100_000
        Rows of a whole turn.
    noise : float, default=0.05
        The share of labels that are turned round.
    chunk_rows : int, default=4096
    dtype : {"float64", "float32"}

    Returns
    -------
    Stream

    Examples
    --------
    >>> X, y = next(hyperplane(1000, n_features=3))
    >>> X.shape, float(abs(X).max()) <= 1, sorted(set(y.tolist()))
    ((1000, 3), True, [0, 1])
    """
    _check_counts(period=period)
    check_number("n_features", n_features, at_least=2, integer=True)
    check_number("noise", noise, at_least=0, at_most=0.5)

    def draw(u: Floats, rows: Floats) -> Chunk:
        X = 2 * u[:, :n_features] - 1
        angle = _angle(rows, period)
        height = X[:, 0] * cosdg(angle) + X[:, 1] * sindg(angle)
        for column in X.T[2:]:  # a sum in one order, whatever the chunk
            height = height + column * 0.5**0.5
        return X, ((height > 0) ^ (u[:, n_features] < noise)).astype(np.int64)

    return _stream("hyperplane", draw, n_features + 1, n_features, n_rows, seed, chunk_rows, dtype)


def switching(
    n_rows: int | None = None,
    *,
    seed: int = 0,
    period: int = 10_000,
    noise: float = 0.0,
    chunk_rows: int = 4096,
    dtype: str = "float64",
) -> Stream:
    """Stream the four quarters of a square, whose two classes change places at the end of each period: sudden drift.

    Parameters
    ----------
    n_rows : int, default=None
        None: without end.
    seed : int, default=0
    period : int, default=10_000
        Rows between two changes.
    noise : float, default=0.0
        The share of labels that are turned round.
    chunk_rows : int, default=4096
    dtype : {"float64", "float32"}

    Returns
    -------
    Stream

    Examples
    --------
    >>> X, y = next(switching(100, period=50))
    >>> before, after = (y == (X[:, 0] * X[:, 1] > 0))[:50], (y == (X[:, 0] * X[:, 1] > 0))[50:]
    >>> bool(before.all()), bool(after.any())
    (True, False)
    """
    _check_counts(period=period)
    check_number("noise", noise, at_least=0, at_most=0.5)

    def draw(u: Floats, rows: Floats) -> Chunk:
        X = 2 * u[:, :2] - 1
        swapped = (rows // period) % 2 == 1
        return X, ((X[:, 0] * X[:, 1] > 0) ^ swapped ^ (u[:, 2] < noise)).astype(np.int64)

    return _stream("switching", draw, 3, 2, n_rows, seed, chunk_rows, dtype)


STREAMS = {make.__name__: make for make in (hyperplane, mixture, switching)}  # by name, as the command has them


def _stream(
    name: str,
    draw: Callable[[Floats, Floats], Chunk],
    n_numbers: int,
    n_features: int,
    n_rows: int | None,
    seed: int,
    chunk_rows: int,
    dtype: str,
) -> Stream:
    """A stream whose rows are functions of some uniform numbers each, and of their own number."""
    check_choice("dtype", dtype, ("float64", "float32"))
    check_seed("seed", seed)
    if n_rows is not None:
        _check_counts(n_rows=n_rows)

    def read(begin: int, end: int) -> Chunk:
        X, y = draw(_uniforms(seed, 0, begin, end, n_numbers), np.arange(begin, end, dtype=np.float64))
        return np.ascontiguousarray(X, dtype=dtype), y

    return ArrayStream(name, read, n_rows, n_features, chunk_rows)


def _uniforms(seed: int, purpose: int, begin: int, end: int, n: int) -> Floats:
    """Draw n numbers in (0, 1) for each of some rows, by Philox: the row's number is the generator's counter."""
    check_seed("seed", seed)
    blocks = -(-n // _BLOCK)
    bits = np.random.Philox(key=[seed, purpose], counter=begin * blocks).random_raw((end - begin) * blocks * _BLOCK)
    uniforms = ((bits >> np.uint64(11)) + 0.5) * 2.0**-53
    return np.asarray(uniforms, dtype=np.float64).reshape(-1, blocks * _BLOCK)[:, :n]


def _whole(u: Floats, n: int) -> NDArray[np.int64]:
    return np.minimum(u * n, n - 1).astype(np.int64)


def _angle(rows: Floats, period: int) -> Floats:
    return np.asarray(360.0 * (rows % period) / period)


def _check_counts(**counts: int) -> None:
    for name, value in counts.items():
        check_number(name, value, at_least=1, integer=True)
