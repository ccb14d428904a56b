"""The papers' data: which files, how scaled and labelled, in which order."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from onkel.streams import datasets
from onkel.streams.datasets.store import found

_SAMPLE = 2_000  # of the rows kept apart, for a curve
_DENSE = 0.25  # share of values other than 0 above which dense rows are the faster ones


class Missing(Exception):
    """A data set that is not to be had, and why."""


@dataclass(frozen=True)
class Data:
    """A data set as a paper uses it.

    Parameters
    ----------
    train : tuple of str
        Names of `onkel.datasets`, joined in this order; none where the set is not to be had.
    test : tuple of str
        Likewise, where the paper keeps rows apart.
    split : float or int
        Where there is no `test`: the share of rows, drawn anew for each seed, that is kept apart; or into how many
        folds the rows are cut, of which a seed keeps one apart.
    scale : (low, high) or None
        What each feature's range over the training files becomes.
    positive : float or None
        The label of class 1 against all the rest; None: the greater of two. A score of exactly 0 stands for the rest.
    paper_rows : int
        Rows that the paper learned from.
    note : str
        What a reader of the table must know.
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
        """The share of the rows that `split` keeps apart."""
        return 1 / self.split if self.split > 1 else self.split

    def spec(self) -> dict[str, Any]:
        """Return what decides the rows, as JSON has it.

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
    """Say why a set is not to be had, None where it is."""
    if not spec["train"]:
        return "not to be had"
    try:
        for name in (*spec["train"], *spec["test"]):
            for file in datasets.info(name).files:
                found(name, file)
    except (OSError, ImportError, ValueError) as error:
        return str(error)
    return None


@dataclass(frozen=True)
class Rows:
    """Rows to learn from in their order, and rows kept apart (none, where the paper keeps none)."""

    X: Any
    y: NDArray[np.int64]
    X_test: Any
    y_test: NDArray[np.int64]

    @property
    def sample(self) -> tuple[Any, NDArray[np.int64]]:
        """As many of the rows kept apart as a curve is measured on; its end is measured on all."""
        return self.X_test[:_SAMPLE], self.y_test[:_SAMPLE]

    @property
    def majority(self) -> float:
        """The error in % of always predicting the commoner class: on the rows kept apart, if there are some."""
        y = self.y_test if len(self.y_test) else self.y
        return 100 * float(min(np.mean(y > 0), np.mean(y < 0)))


def shuffled(spec: dict[str, Any], seed: int, rows: int | None = None) -> Rows:
    """Return a random order of a set's rows, or of so many rows drawn from it."""
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
    return Rows(X[order], y[order], X[kept], y[kept])


def _frozen(spec: dict[str, Any]) -> tuple[Any, ...]:
    scale = None if spec["scale"] is None else tuple(spec["scale"])
    return tuple(spec["train"]), tuple(spec["test"]), scale, spec["positive"]


@lru_cache(maxsize=2)
def _joined(spec: tuple[Any, ...]) -> tuple[Any, NDArray[np.int64], int]:
    """Rows and labels of -1 and 1 of all files, those to learn from first, and how many these are."""
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
    """The same rows with the indices of 32 bits that LIBSVM wants."""
    return csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def _sparse(part: tuple[Any, Any]) -> Any:
    return part[0] if issparse(part[0]) else csr_array(part[0])
