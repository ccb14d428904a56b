"""Calls that know nothing of each other, made at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")


def together(calls: Sequence[Callable[[], Result]], n_threads: int) -> list[Result]:
    """Make some calls, at most ``n_threads`` of them at a time, and return their results in order.

    Examples
    --------
    >>> from functools import partial
    >>> together([partial(pow, 2, n) for n in range(4)], n_threads=2)
    [1, 2, 4, 8]
    """
    if n_threads == 1 or len(calls) < 2:
        return [call() for call in calls]
    with ThreadPoolExecutor(min(n_threads, len(calls))) as pool:
        futures = [pool.submit(call) for call in calls]
        try:
            return [future.result() for future in futures]
        finally:  # after an error or an interruption those that have not begun are not made
            for future in futures:
                future.cancel()
