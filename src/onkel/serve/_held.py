"""Predicted rows that wait for their labels: on disk, found by id, bounded in number, bytes and time."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.serve import _log
from onkel.serve._batch import Batch
from onkel.serve._log import CorruptLog, Disk, Log
from onkel.streams.table import Table


@dataclass
class _Segment:
    """One file of held rows, and the ids in it that still wait for labels."""

    number: int
    log: Log
    waiting: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class _Place:
    segment: _Segment
    at: int
    length: int
    since: float
    n_rows: int


class HeldRows:
    """Holds rows by id until their labels come, their time is over, or newer rows need the space.

    Only the ids are in memory. Held rows survive a kill, and after `sync` a power failure; if the disk is full, rows
    are not held, and `hold` returns False.

    Parameters
    ----------
    folder : path
    most_rows, most_bytes : int
        Beyond these limits the oldest rows are dropped.
    seconds : float
        How long a row waits for its label.
    segment_bytes : int, default=8 MB
        Size of one file; files are deleted as a whole.
    disk : Disk, default=None

    Examples
    --------
    >>> import pathlib, tempfile
    >>> held = HeldRows(pathlib.Path(tempfile.mkdtemp()), most_rows=2, most_bytes=10**6, seconds=60)
    >>> for n, name in enumerate(["a", "b", "c"]):
    ...     held.hold(name, np.full((1, 2), n), None, now=n)
    True
    True
    True
    >>> held.get("a", now=3), held.get("c", now=3).rows.tolist()
    (None, [[2.0, 2.0]])
    >>> held.get("c", now=70)
    """

    def __init__(
        self,
        folder: Path,
        *,
        most_rows: int,
        most_bytes: int,
        seconds: float,
        segment_bytes: int = 2**23,
        disk: Disk | None = None,
    ) -> None:
        self.folder = folder
        self.most_rows = most_rows
        self.most_bytes = most_bytes
        self.seconds = seconds
        self.segment_bytes = segment_bytes
        self.rows = 0
        self._disk = disk
        self._places: OrderedDict[str, _Place] = OrderedDict()  # oldest first
        self._segments: list[_Segment] = []
        self._mine = threading.Lock()
        for path in sorted(folder.glob("held-*.wal")):
            self._take_up(path)

    def hold(self, name: str, rows: NDArray[Any] | Table, names: tuple[str, ...] | None, now: float) -> bool:
        """Hold rows under an id; return whether that was possible."""
        waiting = Batch(rows, np.zeros(len(rows), bool), names=names)  # the labels are still to come
        record = waiting.record(id=name, time=now)
        with self._mine:
            self._discard(name)
            try:
                segment = self._segment_with_room()
                at = segment.log.bytes + _log.RECORD_BYTES
                segment.log.append([record], durable=False)
            except OSError:
                return False
            self._note(name, _Place(segment, at, len(record), now, len(rows)))
            self._make_room(now)
            return name in self._places

    def get(self, name: str, now: float) -> Batch | None:
        """Return the rows held under an id, without labels; None if there are none."""
        with self._mine:
            self._make_room(now)
            place = self._places.get(name)
            if place is None:
                return None
            with open(place.segment.log.path, "rb") as file:
                file.seek(place.at)
                return Batch.of_record(file.read(place.length))[0]

    def release(self, name: str) -> None:
        """Drop the rows held under an id: their labels have been learned."""
        with self._mine:
            self._discard(name)

    def sync(self) -> None:
        """Flush everything so far to the disk."""
        with self._mine:
            for segment in self._segments:
                segment.log.sync()

    def close(self) -> None:
        """Close the files."""
        with self._mine:
            for segment in self._segments:
                segment.log.close()
            self._segments = []

    def __len__(self) -> int:
        return len(self._places)

    # -- all with the lock held

    def _take_up(self, path: Path) -> None:
        """Read a file that another process has left, for the ids that still wait; drop the file if it is damaged."""
        try:
            records = _log.read(path).records
            segment = _Segment(int(path.stem.removeprefix("held-")), Log(path, 1, self._disk))
        except (CorruptLog, ValueError):
            path.unlink()
            return
        self._segments.append(segment)
        at = _log.EMPTY_BYTES + _log.RECORD_BYTES
        for _, record in records:
            batch, notes = Batch.of_record(record)
            name = notes["id"]
            self._drop(name)
            if "released" not in notes:
                self._note(name, _Place(segment, at, len(record), notes["time"], len(batch)))
            at += len(record) + _log.RECORD_BYTES

    def _segment_with_room(self) -> _Segment:
        if not self._segments or self._segments[-1].log.bytes >= self.segment_bytes:
            number = self._segments[-1].number + 1 if self._segments else 1
            path = self.folder / f"held-{number:06d}.wal"
            self._segments.append(_Segment(number, Log(path, 1, self._disk)))
        return self._segments[-1]

    def _note(self, name: str, place: _Place) -> None:
        self._places[name] = place
        place.segment.waiting.add(name)
        self.rows += place.n_rows

    def _drop(self, name: str) -> _Place | None:
        place = self._places.pop(name, None)
        if place is not None:
            place.segment.waiting.discard(name)
            self.rows -= place.n_rows
        return place

    def _discard(self, name: str) -> None:
        """Drop an id, and record that in its file, which is deleted when nothing in it waits."""
        place = self._drop(name)
        if place is None:
            return
        segment = place.segment
        if segment.waiting or segment is self._segments[-1]:
            nothing = Batch(np.empty((0, 0)), np.empty(0, bool))
            with contextlib.suppress(OSError):  # the keys record that it was learned
                segment.log.append([nothing.record(id=name, released=True)], durable=False)
        else:
            self._remove(segment)

    def _make_room(self, now: float) -> None:
        while self._places:
            name, place = next(iter(self._places.items()))
            if self.rows <= self.most_rows and now - place.since <= self.seconds:
                break
            self._discard(name)
        while len(self._segments) > 1 and sum(segment.log.bytes for segment in self._segments) > self.most_bytes:
            oldest = self._segments[0]
            for name in list(oldest.waiting):
                self._drop(name)
            self._remove(oldest)

    def _remove(self, segment: _Segment) -> None:
        self._segments.remove(segment)
        segment.log.close()
        os.unlink(segment.log.path)
