"""A call that is interrupted while it runs."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable


class Interrupted(Exception):
    """What the signal raises."""


def interrupted_amid(
    learn: Callable[[int], tuple[Callable[[], object], Callable[[], int]]], rows: int = 50_000
) -> None:
    """Interrupt a call amid its rows, on a machine of any speed.

    `learn(rows)` returns the call of a new learner that learns so many rows, and a function that counts those it has
    learned. A signal that comes too early is tried again later, one that comes too late with more rows.
    """

    def interrupt(*_: object) -> None:
        raise Interrupted

    delay = 0.01
    while True:
        call, count = learn(rows)
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            with contextlib.suppress(Interrupted):
                signal.setitimer(signal.ITIMER_REAL, delay)
                call()
                signal.setitimer(signal.ITIMER_REAL, 0)
        finally:
            signal.signal(signal.SIGALRM, before)
        if 0 < count() < rows:
            return
        delay, rows = (2 * delay, rows) if count() == 0 else (delay, 2 * rows)
