"""Calls that know nothing of each other, made at the same time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TypeVar

from onkel import _core

Result = TypeVar("Result")


def results_of(calls: Sequence[Callable[[], Result]], n_threads: int) -> list[Result]:
    """Make some calls, at most ``n_threads`` of them at a time, and return their results in order.

    Examples
    --------
    >>> from functools import partial
    >>> results_of([partial(pow, 2, n) for n in range(4)], n_threads=2)
    [1, 2, 4, 8]
    """
    if n_threads == 1 or len(calls) < 2:
        return [call() for call in calls]
    others = _core.Cancellation()

    def made(call: Callable[[], Result]) -> Result:
        with others:
            return call()

    with ThreadPoolExecutor(min(n_threads, len(calls))) as pool:
        futures = [pool.submit(made, call) for call in calls]
        try:
            ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in ended:
                future.result()
            return [future.result() for future in futures]
        finally:  # after an error or an interruption no other call begins, and the core stops in those that have begun
            others.cancel()
            for future in futures:
                future.cancel()
