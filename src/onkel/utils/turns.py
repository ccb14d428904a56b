"""One call at a time changes an object, whoever calls."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

Method = TypeVar("Method", bound=Callable[..., Any])


class _Locks:
    """A lock for each object, beside it: an object that held its own could not be copied or pickled."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: WeakKeyDictionary[Any, threading.RLock] = WeakKeyDictionary()

    def of(self, owner: Any) -> Any:
        """Return the object's lock."""
        with self._guard:
            return self._locks.setdefault(owner, threading.RLock())


_locks = _Locks()
if hasattr(os, "register_at_fork"):  # a thread that is not in the child cannot let go of a lock there
    os.register_at_fork(after_in_child=_locks.__init__)  # type: ignore[misc]


def one_at_a_time(method: Method) -> Method:
    """Let the calls of such methods of one object follow each other."""

    @functools.wraps(method)
    def alone(self: Any, *args: Any, **kwargs: Any) -> Any:
        with _locks.of(self):
            return method(self, *args, **kwargs)

    return alone  # type: ignore[return-value]
