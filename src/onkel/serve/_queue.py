"""The bounded queue in front of the single writer."""

from __future__ import annotations

import threading
from collections import deque
from typing import Protocol

from onkel.serve._refusal import Refusal


class QueuedTask(Protocol):
    """A task in the queue."""

    @property
    def n_rows(self) -> int:
        """Number of its rows."""

    @property
    def alone(self) -> bool:
        """Whether it must not share a group with others."""


class Full(Refusal):
    """The queue is full: try again later."""


class TaskQueue:
    """Tasks in order of arrival, handed out in groups; the queue is bounded in tasks and in rows.

    Parameters
    ----------
    most_tasks, most_rows : int
    group_rows : int
        A group has no more rows than this, unless its first task alone has more.

    Examples
    --------
    >>> from types import SimpleNamespace as Task
    >>> queue = TaskQueue(most_tasks=3, most_rows=100, group_rows=10)
    >>> for rows in (4, 4, 4):
    ...     queue.put(Task(n_rows=rows, alone=False))
    >>> queue.put(Task(n_rows=1, alone=False))
    Traceback (most recent call last):
    onkel.serve._queue.Full: 3 requests with 12 rows wait to be learned; try again in a second
    >>> len(queue.take()), len(queue.take())
    (2, 1)
    """

    def __init__(self, most_tasks: int, most_rows: int, group_rows: int) -> None:
        self.most_tasks = most_tasks
        self.most_rows = most_rows
        self.group_rows = group_rows
        self._tasks: deque[QueuedTask] = deque()
        self._rows = 0
        self._closed = False
        self._changed = threading.Condition()

    def put(self, task: QueuedTask) -> None:
        """Add a task, or refuse it if the queue is full (`Full`) or closed (503)."""
        with self._changed:
            if self._closed:
                raise Refusal(503, "the service is stopping and no longer learns")
            full = len(self._tasks) >= self.most_tasks or (self._tasks and self._rows + task.n_rows > self.most_rows)
            if full:
                raise Full(
                    429,
                    f"{len(self._tasks)} requests with {self._rows} rows wait to be learned; try again in a second",
                )
            self._tasks.append(task)
            self._rows += task.n_rows
            self._changed.notify()

    def take(self) -> list[QueuedTask]:
        """Wait for tasks and return the next group; an empty list once the queue is closed and empty."""
        with self._changed:
            while not self._tasks and not self._closed:
                self._changed.wait()
            group: list[QueuedTask] = []
            rows = 0
            while self._tasks:
                following = self._tasks[0]
                if group and (following.alone or rows + following.n_rows > self.group_rows):
                    break
                group.append(self._tasks.popleft())
                rows += following.n_rows
                if following.alone:
                    break
            self._rows -= rows
            return group

    def close(self) -> None:
        """Accept no more tasks; waiting ones are still handed out."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def size(self) -> tuple[int, int]:
        """Numbers of waiting tasks and rows."""
        with self._changed:
            return len(self._tasks), self._rows
