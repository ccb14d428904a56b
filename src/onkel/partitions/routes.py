"""Which rows belong to which region, where experts of several regions learn from all partitions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.regions import Condition, Region

Places = NDArray[np.intp]
ROOT = 0  # the number of the region that is everything


@dataclass(frozen=True)
class Routes:
    """The conditions of a tree of regions; small enough to be sent to every worker.

    Parameters
    ----------
    divided : tuple of (int, Condition, int, int)
        The number of each region that is divided, its condition, and the numbers of its lower and its upper side.

    Examples
    --------
    >>> routes = Routes(((0, Condition((0,), (0.5,)), 1, 2),))
    >>> {region: places.tolist() for region, places in routes.of(np.array([[0.0], [1.0], [0.5]])).items()}
    {0: [0, 1, 2], 1: [0, 2], 2: [1]}
    """

    divided: tuple[tuple[int, Condition, int, int], ...] = ()

    @classmethod
    def through(cls, regions: Sequence[Region]) -> Routes:
        """Return the routes through a tree, given with parents before children."""
        return cls(
            tuple(
                (region.number, region.condition, *region.children)  # type: ignore[misc]
                for region in regions
                if region.condition is not None
            )
        )

    def of(self, X: Any) -> dict[int, Places]:
        """Return the places of the rows of each region, in their order."""
        found = {ROOT: np.arange(X.shape[0])}
        for number, condition, lower, upper in self.divided:
            places = found[number]
            is_lower = condition.lower(X[places])
            found[lower], found[upper] = places[is_lower], places[~is_lower]
        return found


def taken(values: Any, places: Places) -> Any:
    """Return the values at these ascending places; all of them are not copied."""
    return values if values is None or len(places) == values.shape[0] else values[places]
