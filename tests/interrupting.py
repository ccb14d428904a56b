"""A call that is interrupted while it runs."""

from __future__ import annotations

import contextlib
import inspect
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from unittest import mock

import onkel
from onkel import _core
from onkel.choice import StreamChoice

_PACKAGE = str(Path(onkel.__file__).parent)


class Interrupted(Exception):
    """What the signal raises."""


def interrupted_midway(learn: Callable[[int], tuple[Callable[[], object], Callable[[], int]]]) -> None:
    """Interrupt a call in the middle of its rows, on a machine of any speed.

    `learn(rows)` returns the call of a new learner that learns so many rows, and a function that counts those it has
    learned. A signal that comes too early is tried again later, one that comes too late with more rows.
    """

    running = False

    def interrupt(*_: object) -> None:
        if running:
            raise Interrupted

    delay, rows = 0.01, 50_000
    while True:
        call, count = learn(rows)
        before = signal.signal(signal.SIGALRM, interrupt)
        try:
            running = True
            signal.setitimer(signal.ITIMER_REAL, delay)
            call()
            running = False
        except Interrupted:
            running = False
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        if 0 < count() < rows:
            return
        delay, rows = (2 * delay, rows) if count() == 0 else (delay, 2 * rows)


@contextlib.contextmanager
def interrupted_choice(row: int) -> Iterator[None]:
    """Interrupt what a choice does once so many rows were learned from, before it does anything."""
    act = StreamChoice.act

    def interrupted(self: StreamChoice, learner: onkel.Learner) -> object:
        if learner.t == row:
            raise KeyboardInterrupt
        return act(self, learner)

    with mock.patch.object(StreamChoice, "act", interrupted):
        yield


@contextlib.contextmanager
def interrupted_at(
    call: int, error: type[BaseException] = KeyboardInterrupt, of: FunctionType | None = None
) -> Iterator[Calls]:
    """Raise an error at the call that has this number, counted from 1, of onkel's Python functions, or of one function.

    It yields what counts the calls; with a number that is never reached, nothing is raised.
    """
    calls = Calls()

    def is_counted(code: CodeType) -> bool:
        if code.co_flags & inspect.CO_GENERATOR:  # it is also "called" when it is thrown away, where no error may go
            return False
        return code.co_filename.startswith(_PACKAGE) if of is None else code is of.__code__

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and is_counted(frame.f_code):
            calls.made += 1
            if calls.made == call:
                raise error

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@contextlib.contextmanager
def interrupted_at_check(number: int) -> Iterator[None]:
    """Interrupt the core's long work where it looks for Ctrl-C for the time that has this number."""
    _core.interrupt_check(number)
    try:
        yield
    finally:
        _core.interrupt_check(None)


@dataclass
class Calls:
    """How many calls there were."""

    made: int = 0
