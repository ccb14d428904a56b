"""The write-ahead log: its contents survive any crash, and an end torn by a crash is distinguished from corruption.

A file is a header followed by frames. A frame is one group of records that were made durable by one fsync, under one
checksum: a crash leaves at most one incomplete frame, at the end, whose records were never acknowledged.

- The header: ``onkellog``, version (u32), checksum (u32), number of the first record (u64), salt (u64).
- A frame: ``grup``, length (u32), checksum (u32), number of its first record (u64), then its records.
- A record: length (u32), then as many bytes.

All numbers are little-endian. Checksums are CRC-32 of the salt, of a frame's length and of what follows them. The salt
is drawn at random for each file, so that no record can imitate a frame.
"""

from __future__ import annotations

import os
import secrets
import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from onkel.utils.files import sync_folder

_MAGIC, _VERSION = b"onkellog", 1
_HEAD = struct.Struct("<8sIIQQ")
_FRAME = struct.Struct("<4sIIQ")
_MARK = b"grup"
_LENGTH = struct.Struct("<I")
EMPTY_BYTES = _HEAD.size  # the size of a log without records
RECORD_BYTES = _FRAME.size + _LENGTH.size  # before the first record of a frame
MOST_BYTES = 2**31  # the largest size of a frame


class CorruptLog(ValueError):
    """A log that is damaged in a way that no crash explains; the message says where."""


class Disk:
    """The operations that the log needs of a disk, so that a test can make them fail."""

    def write(self, handle: int, data: bytes) -> None:
        """Write all of the data, or raise."""
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]

    def sync(self, handle: int) -> None:
        """Flush everything written to the disk."""
        os.fsync(handle)

    def truncate(self, handle: int, size: int) -> None:
        """Truncate a file."""
        os.ftruncate(handle, size)


class Log:
    """One file of the log, open for appending.

    Parameters
    ----------
    path : path
    first : int
        The number of its first record; the file is created if it does not exist.
    disk : Disk, default=None

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log"
    >>> with Log(path, 1) as log:
    ...     log.append([b"one", b"two"])
    ...     log.append([b"three"])
    >>> [(number, bytes(record)) for number, record in read(path).records]
    [(1, b'one'), (2, b'two'), (3, b'three')]
    """

    def __init__(self, path: Path, first: int, disk: Disk | None = None) -> None:
        self.path = path
        self._disk = disk or Disk()
        if path.exists():
            found = read(path)
            self.next, self.bytes, self._salt = found.next, found.sound_bytes, found.salt
            self._handle = os.open(path, os.O_RDWR)
            self._disk.truncate(self._handle, self.bytes)  # removes what a crash has torn
            os.lseek(self._handle, self.bytes, os.SEEK_SET)
        else:
            self.next, self.bytes, self._salt = first, _HEAD.size, secrets.randbits(64)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                self._disk.write(self._handle, _head(first, self._salt))
                self._disk.sync(self._handle)
                sync_folder(path.parent)
            except BaseException:
                os.close(self._handle)
                path.unlink(missing_ok=True)
                raise
        self._usable = True

    def append(self, records: Sequence[bytes], *, durable: bool = True) -> None:
        """Append records and return when they are on the disk; if that fails (`OSError`), none of them is in the log.

        Without `durable` they are only handed to the operating system: they survive a kill, but not a power failure.
        """
        if not self._usable:
            raise OSError(f"{self.path} could not be repaired after a failed write; start the service again")
        frame = _frame(self.next, records, self._salt)
        try:
            self._disk.write(self._handle, frame)
            if durable:
                self._disk.sync(self._handle)
        except OSError:
            self._usable = False
            self._disk.truncate(self._handle, self.bytes)
            os.lseek(self._handle, self.bytes, os.SEEK_SET)
            self._usable = True
            raise
        self.next += len(records)
        self.bytes += len(frame)

    def sync(self) -> None:
        """Flush everything appended to the disk."""
        self._disk.sync(self._handle)

    @property
    def is_empty(self) -> bool:
        """Whether it has no record."""
        return self.bytes == EMPTY_BYTES

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True)
class Found:
    """The contents of a file of the log."""

    records: list[tuple[int, memoryview]]  # with their numbers, in order
    next: int  # the number after that of the last record
    sound_bytes: int  # the length of the header and all complete frames
    torn_bytes: int  # the length of what a crash has left after them
    salt: int


def read(path: Path) -> Found:
    """Read a file of the log; a torn end is ignored, and damage before it is an error that says where."""
    data = memoryview(path.read_bytes())
    if len(data) < _HEAD.size:
        raise CorruptLog(f"{path} has {len(data)} bytes, fewer than the header of a log")
    magic, version, checksum, first, salt = _HEAD.unpack_from(data)
    if magic != _MAGIC or checksum != zlib.crc32(data[16 : _HEAD.size]):
        raise CorruptLog(f"{path}, byte 0: expected the header of a log")
    if version != _VERSION:
        raise CorruptLog(f"{path} is a log of version {version}, and this version of onkel reads version {_VERSION}")
    records: list[tuple[int, memoryview]] = []
    following, at = int(first), _HEAD.size
    while at < len(data):
        found = _frame_at(data, at, salt)
        if found is None or found[0] != following:
            later = _later_frame(data, at, salt)
            if later is not None:
                raise CorruptLog(f"{path} is damaged at byte {at} but intact from byte {later} on: no crash does that")
            break
        for record in _records(found[1]):
            records.append((following, record))
            following += 1
        at += _FRAME.size + len(found[1])
    return Found(records, following, at, len(data) - at, salt)


def _head(first: int, salt: int) -> bytes:
    return _HEAD.pack(_MAGIC, _VERSION, zlib.crc32(struct.pack("<QQ", first, salt)), first, salt)


def _frame(first: int, records: Sequence[bytes], salt: int) -> bytes:
    body = b"".join(_LENGTH.pack(len(record)) + record for record in records)
    if len(body) > MOST_BYTES:
        raise ValueError(f"a group of records takes {len(body)} bytes, and the limit is {MOST_BYTES}")
    return _FRAME.pack(_MARK, len(body), _checksum(salt, len(body), first, body), first) + body


def _checksum(salt: int, length: int, first: int, body: bytes | memoryview) -> int:
    return zlib.crc32(body, zlib.crc32(struct.pack("<QIQ", salt, length, first)))


def _frame_at(data: memoryview, at: int, salt: int) -> tuple[int, memoryview] | None:
    """The first number and the body of the frame that begins there; None if there is no complete frame."""
    if at + _FRAME.size > len(data):
        return None
    mark, length, checksum, number = _FRAME.unpack_from(data, at)
    body = data[at + _FRAME.size : at + _FRAME.size + length]
    whole = mark == _MARK and len(body) == length and checksum == _checksum(salt, length, number, body)
    return (number, body) if whole else None


def _later_frame(data: memoryview, at: int, salt: int) -> int | None:
    """The position of the next complete frame after a place where a frame is damaged; None if there is none."""
    raw = bytes(data)
    at -= 1
    while (at := raw.find(_MARK, at + 1)) >= 0:
        if _frame_at(data, at, salt) is not None:
            return at
    return None


def _records(body: memoryview) -> Iterator[memoryview]:
    at = 0
    while at < len(body):
        (length,) = _LENGTH.unpack_from(body, at)
        at += _LENGTH.size
        yield body[at : at + length]
        at += length
