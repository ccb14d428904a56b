"""Comparing options that are whole numbers on a scale, such as powers of two: which ones to look at, in which order.

The losses are computed by a `Judge`, for several options at once where none of them decides whether another one is
looked at. It is told which option is the best so far, so that one that has lost need not go on to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from onkel.choice.again import surely_better

Floats = NDArray[np.float64]
# The losses of some options, the number of the best one so far being the second argument, None if there is none.
Judge = Callable[[Sequence[int], int | None], Sequence[float]]

SLACK = 0.01  # differences of less than this fraction of the loss decide nothing


def climb(judge: Judge, start: int, farthest: int, directions: Sequence[int] = (1, -1)) -> dict[int, float]:
    """Return the losses of the start, and of the options in the first direction that improves on it, as long as they
    improve."""
    losses = {start: judge([start], None)[0]}
    for step in directions:
        last = start
        while step * last < farthest:
            option = last + step
            losses[option] = judge([option], last)[0]
            if losses[option] >= losses[last]:
                break
            last = option
        if last != start:
            break
    return losses


def compete(judge: Judge, options: Sequence[int], farthest: int) -> dict[int, float]:
    """Return the losses of some options, in ascending order, and of further ones beyond an end as long as the end is
    best. They are looked at from the middle outwards, where the best one is likely to be."""
    middle = len(options) // 2
    losses: dict[int, float] = {}
    for distance in range(middle + 1):
        pair = [options[i] for i in sorted({middle - distance, middle + distance}) if i < len(options)]
        losses |= zip(pair, judge(pair, best_of(losses)), strict=True)
    for step, end in ((1, max), (-1, min)):
        while step * (last := end(losses)) < farthest and last == best_of(losses):
            losses[last + step] = judge([last + step], last)[0]
    return dict(sorted(losses.items()))


def best_of(losses: dict[int, float]) -> int | None:
    """Return the option with the smallest loss."""
    return min(losses, key=losses.__getitem__, default=None)


def has_lost(losses: Floats, best: Floats) -> bool:
    """Whether the losses on some of the rows are larger than those of the best option, by more than decides nothing and
    significantly."""
    return bool(losses.sum() > (1 + SLACK) * best.sum()) and surely_better(losses, best)
