"""Regions: how rows are divided among experts, as values that a person reads."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.utils.validation import check_number

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Condition:
    """How a region is divided in two.

    A row is on the lower side if each of these features is at most its threshold. For a number that is one feature; for
    a set of categories it is all columns that stand for one of them, so that the upper side has the rows of these
    categories.

    Parameters
    ----------
    features : tuple of int
        Columns, ascending. What a sparse row does not have is 0.
    thresholds : tuple of float
        One for each of them. They are rounded to float32, so that an export in that type divides rows in the same way.

    Examples
    --------
    >>> import numpy as np
    >>> Condition((1,), (0.5,)).lower(np.array([[9.0, 0.5], [0.0, 0.6]])).tolist()
    [True, False]
    """

    features: tuple[int, ...]
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        for feature in self.features:
            check_number("a feature of a condition", feature, at_least=0, below=2**31, integer=True)
        with np.errstate(over="ignore"):
            rounded = np.array(self.thresholds, np.float32)
        if not self.features or len(self.features) != len(rounded) or not np.isfinite(rounded).all():
            raise ValueError(f"a condition must have one finite threshold for each of its features, got {self!r}")
        if list(self.features) != sorted(set(self.features)):
            raise ValueError(f"the features of a condition must ascend, got {self.features}")
        object.__setattr__(self, "features", tuple(map(int, self.features)))
        object.__setattr__(self, "thresholds", tuple(rounded.astype(np.float64).tolist()))

    def lower(self, X: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which of these rows, an array, are on the lower side."""
        return np.asarray((X[:, list(self.features)] <= np.array(self.thresholds)).all(axis=1))

    def named(self, names: Sequence[str] | None = None, *, upper: bool = False) -> str:
        """Return one of its sides in words, with the names of the features."""
        features = [f"x{j}" if names is None else str(names[j]) for j in self.features]
        sign, joint = (">", " or ") if upper else ("<=", " and ")
        return joint.join(f"{name} {sign} {c:.6g}" for name, c in zip(features, self.thresholds, strict=True))


@dataclass(frozen=True)
class Region:
    """A region of a tree, and what is known of it."""

    number: int  # which it keeps for as long as it lives; 0 is the root, which is everything
    parent: int | None = None  # the number of the region that it is one side of
    is_upper: bool = False  # which side
    condition: Condition | None = None  # how it is divided; None for a leaf
    children: tuple[int, ...] = ()  # the numbers of the lower and of the upper side
    born: int = 0  # rows of the stream before its birth
    rows: int = 0  # rows since
    experts: tuple[int, ...] = (0,)  # the numbers of its own experts
    path: tuple[int, ...] = (0,)  # of a leaf: the numbers of the experts of all regions that hold its rows
    weights: Floats = field(default_factory=lambda: np.ones(1))  # of a leaf: those of the path, whose sum is 1
    loss: float = float("nan")  # of a leaf: the mean loss of the sum, on each row before it was learned from
    noise: float = float("nan")  # of a leaf: the mean squared residual of a regression

    @property
    def is_leaf(self) -> bool:
        """Whether it is not divided."""
        return self.condition is None


def regions_of(found: Sequence[Any]) -> tuple[Region, ...]:
    """Return regions as the core shows them, in its order: parents before children, lower sides before upper ones."""
    children: dict[int, list[int]] = {}
    for number, parent, *_ in found:
        children.setdefault(parent, []).append(number)
    regions = []
    for number, parent, features, thresholds, born, rows, experts, path, weights, loss, noise in found:
        condition = Condition(tuple(features), tuple(thresholds)) if features else None
        regions.append(
            Region(
                number,
                None if parent < 0 else parent,
                parent >= 0 and children[parent][1] == number,
                condition,
                tuple(children.get(number, ())),
                born,
                rows,
                tuple(experts),
                tuple(path),
                np.array(weights),
                loss if condition is None else float("nan"),
                noise if condition is None else float("nan"),
            )
        )
    return tuple(regions)


def path_to(regions: Sequence[Region], number: int) -> list[Region]:
    """Return the regions from the root to this one."""
    by_number = {region.number: region for region in regions}
    path = [by_number[number]]
    while path[-1].parent is not None:
        path.append(by_number[path[-1].parent])
    return path[::-1]


def conditions_to(regions: Sequence[Region], number: int) -> list[tuple[Condition, bool]]:
    """Return the conditions from the root to a region, each with whether it is on the upper side."""
    path = path_to(regions, number)
    return [(above.condition, below.is_upper) for above, below in itertools.pairwise(path) if above.condition]


def described(regions: Sequence[Region], names: Sequence[str] | None = None) -> list[str]:
    """Return each leaf in words: its conditions, its rows, its experts and its loss.

    Examples
    --------
    >>> root = Region(0, condition=Condition((1,), (0.5,)), children=(1, 2), rows=30)
    >>> leaf = {"parent": 0, "path": (0,)}
    >>> described([root, Region(1, **leaf, rows=20, loss=0.5), Region(2, **leaf, is_upper=True, rows=10, loss=0.25)])
    ['x1 <= 0.5: 20 rows, 1 expert, loss 0.5', 'x1 > 0.5: 10 rows, 1 expert, loss 0.25']
    """
    lines = []
    for leaf in regions:
        if not leaf.is_leaf:
            continue
        words = [condition.named(names, upper=upper) for condition, upper in conditions_to(regions, leaf.number)]
        n = len(leaf.path)
        where = ", ".join(words) or "everywhere"
        lines.append(f"{where}: {leaf.rows:,} rows, {n} expert{'s' * (n != 1)}, loss {leaf.loss:.4g}")
    return lines
