"""Work in steps, so that no row waits for a choice (``docs/choices.md``).

Steps are a generator: it is sent how much work it may do, does about as much, and yields how much it was, counted in
multiplications with an addition. The counts depend on shapes and on numbers of steps alone, however the work was cut.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel import _core
from onkel.choice.rows import Rows, as_wide_as_one_another
from onkel.learner import Learner
from onkel.parts import SecondOrder
from onkel.utils.threads import results_of

Floats = NDArray[np.float64]
Result = TypeVar("Result")
Steps = Generator[float, float, Result]

EXPONENTIAL = 16  # features that take as long as the exponential of a kernel value
PASS = 30  # multiplications that take as long as what NumPy does with a number when it sorts or ranks rows
CALL, OF_FEATURE = 300_000, 40_000  # those that take as long as what Python does, once and for each feature's metric
UNBOUNDED = 1000  # points of a learner without a budget
LEARNED_FROM, WAIT = 10, 1e7  # rows, or multiplications if these are more, that a row carries beside itself


def looked_through(numbers: int, n_features: int) -> float:
    """Return the work of a few passes of NumPy's over so many numbers, and of what is done for each feature.

    Examples
    --------
    >>> looked_through(1000, 2)
    410000
    """
    return CALL + OF_FEATURE * n_features + PASS * numbers


def at_once(steps: Steps[Result]) -> Result:
    """Do all of the work, and return its result.

    Examples
    --------
    >>> def steps():
    ...     room = yield 3.0
    ...     return room
    >>> at_once(steps())
    inf
    """
    try:
        next(steps)
        while True:
            steps.send(math.inf)
    except StopIteration as end:
        result: Result = end.value
        return result


def each(parts: Sequence[Steps[Result]], n_threads: int = 1) -> Steps[list[Result]]:
    """Do one after another; where all may be done at once, as many at a time as there are threads."""
    if n_threads > 1 and (yield 0.0) == math.inf:
        return results_of([partial(at_once, part) for part in parts], n_threads)
    results = []
    for part in parts:
        results.append((yield from part))
    return results


def searched(search: _core.Search) -> Steps[_core.Search]:
    """Let a search of the core go on to its end, and return it."""
    ended, room = False, (yield CALL)
    while not ended:
        before = search.spent
        ended = search.go_on(room)
        room = yield search.spent - before
    return search


def learned(
    learner: Learner, rows: Rows, *, scores: bool = False, positions: NDArray[np.int64] | None = None
) -> Steps[Floats]:
    """Learn from rows, and return their scores from before where these are wanted."""
    width, begin, found = int(rows.rows.shape[1]), 0, list[Floats]()
    work = np.cumsum([row_work(learner, width, n) for n in range(len(rows) + 1)])  # points are as many as rows at most
    room = yield CALL + OF_FEATURE * width
    while begin < len(rows):
        end = len(rows) if room == math.inf else int(np.searchsorted(work, work[begin] + room, side="right")) - 1
        end = max(end, begin + 1)
        some, own = rows[begin:end], None if positions is None else positions[begin:end]
        made = learner.learn_rows(some.rows, some.y, some.weight, scores=scores, positions=own)
        found += [] if made is None else [made]
        room = yield float(work[end] - work[begin])
        begin = end
    return as_wide_as_one_another(found) if found else np.empty((0, 1))


def row_work(learner: Learner, n_features: int, n_rows: int | None = None) -> int:
    """Return the work of learning from a row with all points that the learner may have of so many rows."""
    points = min(number for number in (learner.budget, n_rows, UNBOUNDED) if number is not None)
    second = points * (3 * points + learner.n_classes) if isinstance(learner.recipe, SecondOrder) else 0
    return points * (n_features + EXPONENTIAL) + second


def carried(learner: Learner, n_features: int) -> float:
    """Return how much work each row carries."""
    return max(WAIT, float(LEARNED_FROM * row_work(learner, n_features)))
