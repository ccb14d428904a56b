"""gamma="stream", lam="stream": a gaussian kernel's width and a Newton step's λ, chosen on the first rows of a stream.

The first rows are kept. After 4 and 16 of them the width is ``1 / median |x - x'|^2``. After 64, 256, 1024 and 4096
several widths around that value compete, and then several λ at the width that won (at the last two of these stages
the neighbours of those that won before): for each a second-order learner predicts the rows so far, each before learning
from it. Of those whose loss over the later half of the rows is within 1 % of the least, the narrowest width wins, since
more rows and points than those want narrower kernels, and the λ nearest to 0.01. Each time the learner starts anew and
is shown the rows so far again; after the last choice they are dropped. All of this is a function of the rows alone, so
it does not depend on how they were cut into calls.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from scipy.special import logsumexp

from onkel.learner import Learner

Floats = NDArray[np.float64]

STAGES = (4, 16, 64, 256, 1024, 4096)
# In the order of preference. Widths are in units of the median's.
OPTIONS = {
    "gamma": tuple(2.0**e for e in range(3, -6, -1)),
    "lam": tuple(0.01 * 10.0**e for e in (0.0, 0.5, -0.5, 1.0, -1.0)),
}
# Of what was chosen before: more rows want narrower kernels. The median distance, their unit, has moved a little since.
NEIGHBOURS = {"gamma": (1 / 3, 12.0), "lam": (1 / 4, 4.0)}
# The budget of those that compete is the learner's own, and at most this: the latter for second-order learners.
BUDGETS = (200, 2000)
SLACK = 0.01


class Choice(NamedTuple):
    """A width and a λ."""

    gamma: float
    lam: float


class FirstRows:
    """The rows so far, with their labels and weights (none of which is 0)."""

    def __init__(self, rows: Any, y: Floats, weight: Floats) -> None:
        self.rows, self.y, self.weight = rows, y, weight

    @property
    def later(self) -> slice:
        """The half that judges: the first half would speak for what is best for few rows."""
        return slice(len(self) // 2, None)

    def __len__(self) -> int:
        return len(self.y)

    @property
    def until_choice(self) -> int:
        """How many rows are missing until the next choice of a width."""
        return next(stage for stage in STAGES if stage > len(self)) - len(self)

    def extended(self, rows: Any, y: Floats, weight: Floats) -> FirstRows:
        """Return these and some more."""
        stacked = vstack([self.rows, rows], format="csr") if issparse(rows) else np.concatenate([self.rows, rows])
        return FirstRows(stacked, np.concatenate([self.y, y]), np.concatenate([self.weight, weight]))

    @property
    def compete(self) -> bool:
        """Whether these are enough for learners to compete on."""
        return len(self) >= STAGES[2]

    @property
    def complete(self) -> bool:
        """Whether these are all the rows that are kept."""
        return len(self) == STAGES[-1]

    def best(
        self, start: Choice, chosen: Collection[str], losses_at: Callable[[Choice], Floats], last: Choice | None = None
    ) -> Choice:
        """Return what these rows ask for, differing from ``start`` in what is chosen: around its width.

        ``losses_at`` are the losses, row by row, of a learner with that choice. Where ``last`` was chosen on fewer
        rows, but enough of them, only its neighbours compete.
        """
        choice, middle = start, start.gamma
        if not self.compete:
            return choice

        @cache
        def loss(choice: Choice) -> float:
            return self.total(losses_at(choice))

        for name, unit in (("gamma", middle), ("lam", 1.0)):
            if name in chosen:
                candidates = [choice._replace(**{name: unit * option}) for option in OPTIONS[name]]
                if last is not None and len(self) > STAGES[3]:
                    low, high = (factor * getattr(last, name) for factor in NEIGHBOURS[name])
                    candidates = [c for c in candidates if low < getattr(c, name) < high] or candidates
                least = min(map(loss, candidates))
                choice = next(c for c in candidates if loss(c) <= (1 + SLACK) * least)
        return choice

    def total(self, losses: Floats) -> float:
        """Return the weighted sum of the later rows' losses."""
        return float(np.sum(self.weight[self.later] * losses[self.later]))

    def widened(self, n_features: int) -> FirstRows:
        """Return these sparse rows with more features, which they did not have."""
        parts = self.rows.data, self.rows.indices, self.rows.indptr
        return FirstRows(csr_array(parts, shape=(len(self), n_features)), self.y, self.weight)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the rows as named arrays."""
        named = {"y": self.y, "weight": self.weight}
        if not issparse(self.rows):
            return named | {"rows": self.rows}
        places = {"features": self.rows.indices.astype(np.int64), "offsets": self.rows.indptr.astype(np.int64)}
        return named | {"values": self.rows.data} | places

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], learner: Learner) -> FirstRows:
        """Return the rows that a learner has kept; refuse arrays that do not hold them."""
        if not isinstance(arrays, dict) or not all(isinstance(values, np.ndarray) for values in arrays.values()):  # type: ignore[redundant-expr]
            raise ValueError("the first rows of the stream must be arrays")
        arrays = dict(arrays)
        try:
            y, weight = arrays.pop("y"), arrays.pop("weight")
            if "rows" in arrays:
                rows: Any = arrays.pop("rows")
            else:
                parts = [arrays.pop(name) for name in ("values", "features", "offsets")]
                shape = len(y), learner.n_features
                rows = csr_array((parts[0], parts[1].astype(np.int32), parts[2]), shape=shape)
                rows.check_format(full_check=True)
        except (KeyError, ValueError, TypeError) as error:
            raise ValueError(f"the first rows of the stream are incomplete: {error}") from None
        fits = rows.shape == (len(y), learner.n_features) and weight.shape == y.shape and rows.dtype == learner.dtype
        values = rows.data if issparse(rows) else rows
        if arrays or not fits or y.dtype != np.float64 or weight.dtype != np.float64 or len(y) >= STAGES[-1]:
            raise ValueError("the first rows of the stream do not fit the learner")
        if not all(np.isfinite(part).all() for part in (values, y, weight)) or not (weight > 0).all():
            raise ValueError("the first rows of the stream must be finite numbers, and their weights positive")
        if issparse(rows) != learner.sparse or len(y) != learner.t:
            raise ValueError(f"there are {len(y)} first rows after {learner.t} rows, or they are held in another way")
        return cls(rows, y, weight)


def loss_of(task: str) -> Callable[[Floats, Floats], Floats]:
    """Return how bad scores are for labels, row by row: the log loss, or the squared error."""
    if task == "regression":
        return lambda scores, y: (scores[:, 0] - y) ** 2
    if task == "binary":
        return lambda scores, y: np.logaddexp(0.0, (1 - 2 * y) * scores[:, 0])
    return lambda scores, y: logsumexp(scores, axis=1) - scores[np.arange(len(y)), y.astype(np.intp)]


def median_distance(rows: Any) -> float:
    """Return the median squared distance of the first half of the rows to the second; 1 where all are equal."""
    half = rows.shape[0] // 2
    differences = rows[:half].astype(np.float64) - rows[half : 2 * half].astype(np.float64)
    squares = differences.power(2) if issparse(differences) else differences**2
    distances = np.asarray(squares.sum(axis=1)).ravel()
    median = float(np.median(distances)) or float(np.mean(distances))
    return median if median > 0 else 1.0
