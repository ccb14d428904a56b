"""Calls that change an object take turns, so that what a call has checked still holds when it changes the object."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class _Locks:
    """One lock for each object, stored outside it: copies, pickles and files of the object do not contain it."""

    def __init__(self) -> None:
        self._of: weakref.WeakKeyDictionary[Any, threading.RLock] = weakref.WeakKeyDictionary()
        self._mine = threading.Lock()

    def of(self, it: object) -> Any:
        with self._mine:
            lock = self._of.get(it)
            return self._of.setdefault(it, threading.RLock()) if lock is None else lock


_locks = _Locks()


def _start_anew() -> None:
    global _locks
    _locks = _Locks()


if hasattr(os, "register_at_fork"):  # the thread that holds a lock does not exist after a fork
    os.register_at_fork(after_in_child=_start_anew)


def turn_of(it: object) -> Any:
    """Return the lock of an object; while it is held, no other thread is in a method of it that takes turns."""
    return _locks.of(it)


def in_turn(method: Method) -> Method:
    """Make a method wait until no other thread is in such a method of the same object."""

    @functools.wraps(method)
    def taking_turns(self: object, *args: Any, **kwargs: Any) -> Any:
        with turn_of(self):
            return method(self, *args, **kwargs)

    return cast(Method, taking_turns)
