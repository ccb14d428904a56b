"""The papers' data: which files, how scaled and labelled, in which order."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from onkel import datasets

_SAMPLE = 2_000  # held-out rows for a curve
_DENSE = 0.25  # the fraction of non-zero values above which dense rows are faster


class Missing(Exception):
    """A data set is not available; the message says why."""


@dataclass(frozen=True)
class Data:
    """A data set as a paper uses it.

    Parameters
    ----------
    train : tuple of str
        Names of `onkel.datasets`, concatenated in this order; empty if the set is not available.
    test : tuple of str
        Likewise, where the paper has a test set.
    split : float or int
        Where there is no `test`: the fraction of the rows to hold out, drawn anew for each seed; or the number of
        folds, one of which is held out for each seed.
    scale : (low, high) or None
        The range to which each feature is scaled, by its range over the training files.
    positive : float or None
        The label of class 1 against all others; None: the greater of two. A score of exactly 0 predicts the other
        class.
    paper_rows : int
        Number of rows that the paper learned from.
    note : str
        A remark for the reader of the table.
    """

    train: tuple[str, ...]
    test: tuple[str, ...] = ()
    split: float | int = 0.0
    scale: tuple[float, float] | None = None
    positive: float | None = None
    paper_rows: int = 0
    note: str = ""

    @property
    def share_kept(self) -> float:
        """The fraction of the rows that `split` holds out."""
        return 1 / self.split if self.split > 1 else self.split

    def spec(self) -> dict[str, Any]:
        """Return everything that determines the rows, as JSON.

        >>> Data(("a9a", "a9a.t"), paper_rows=48_842).spec()["train"]
        ['a9a', 'a9a.t']
        """
        known = asdict(self)
        return {
            **{name: list(known[name]) for name in ("train", "test")},
            "split": self.split,
            "scale": None if self.scale is None else list(self.scale),
            "positive": self.positive,
        }


def missing(spec: dict[str, Any]) -> str | None:
    """Return why a set is not available; None if it is."""
    if not spec["train"]:
        return "not available"
    try:
        for name in (*spec["train"], *spec["test"]):
            datasets.paths(name)
    except (OSError, ImportError, ValueError) as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Permutation:
    """Rows to learn from, in order, and held-out rows (none where the paper has none)."""

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]

    @property
    def sample(self) -> tuple[Any, NDArray[np.int64]]:
        """The held-out rows on which a curve is measured; its end is measured on all."""
        return self.X_test[:_SAMPLE], self.y_test[:_SAMPLE]

    @property
    def majority(self) -> float:
        """The error in % of always predicting the majority class, on the held-out rows if there are any."""
        y = self.y_test if len(self.y_test) else self.y
        return 100 * float(min(np.mean(y > 0), np.mean(y < 0)))


def shuffled(spec: dict[str, Any], seed: int, rows: int | None = None) -> Permutation:
    """Return the rows of a set, or this many rows drawn from it, in random order."""
    X, y, n_train = _joined(_frozen(spec))
    order = np.random.default_rng(seed).permutation(n_train)
    if spec["split"] > 1:
        fold = np.random.default_rng(0).permutation(n_train) % spec["split"]
        apart = fold == seed % spec["split"]
        order, kept = order[~apart[order]], np.flatnonzero(apart)
    elif spec["split"]:
        n_kept = round(spec["split"] * n_train)
        order, kept = order[: n_train - n_kept], order[n_train - n_kept :]
    else:
        kept = np.arange(n_train, len(y))
    order, kept = order[:rows], np.random.default_rng([seed, 1]).permutation(kept)[:rows]  # files may be sorted
    return Permutation(X[order], y[order], X[kept], y[kept])


def _frozen(spec: dict[str, Any]) -> tuple[Any, ...]:
    scale = None if spec["scale"] is None else tuple(spec["scale"])
    return tuple(spec["train"]), tuple(spec["test"]), scale, spec["positive"]


@lru_cache(maxsize=2)
def _joined(spec: tuple[Any, ...]) -> tuple[Any, NDArray[np.int64], int]:
    """Rows and labels (-1 or 1) of all files, the training rows first, and the number of training rows."""
    train, test, scale, positive = spec
    try:
        parts = [datasets.load(name) for name in (*train, *test)]
    except (OSError, ImportError) as error:
        raise Missing(str(error)) from None
    width = max(X.shape[1] for X, _ in parts)
    X = vstack(
        [csr_array((p.data, p.indices, p.indptr), shape=(p.shape[0], width)) for p in map(_sparse, parts)], "csr"
    )
    y = np.concatenate([y for _, y in parts])
    n_train = sum(len(y) for _, y in parts[: len(train)])
    rows = X.toarray() if scale is not None or X.nnz > _DENSE * X.shape[0] * width else _narrow(X)
    if scale is not None:
        low, high = rows[:n_train].min(axis=0), rows[:n_train].max(axis=0)
        rows = scale[0] + (rows - low) * ((scale[1] - scale[0]) / np.where(high > low, high - low, 1.0))
    return rows, np.where(y == (np.unique(y)[-1] if positive is None else positive), 1, -1), n_train


def _narrow(X: Any) -> Any:
    """The same rows with the 32-bit indices that LIBSVM needs."""
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _sparse(part: tuple[Any, Any]) -> Any:
    return part[0] if issparse(part[0]) else csr_array(part[0])
