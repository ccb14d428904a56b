"""Bytes of files, plain or compressed, and of pipes: read forward, counted, and continued from a byte."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import PurePath
from typing import Any, BinaryIO

from onkel.utils.extras import pyarrow

BLOCK = 1 << 20


def _zstd(file: object) -> Any:
    arrow = pyarrow("a file compressed with zstd")
    return arrow.CompressedInputStream(arrow.PythonFile(file, "r"), "zstd")


COMPRESSIONS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda file: gzip.GzipFile(fileobj=file),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _zstd,
}
# what the packages raise when compressed bytes are not what they should be
_BROKEN = (EOFError, zlib.error, lzma.LZMAError)


class Broken(ValueError):
    """Compressed content that is cut short, or not compressed content at all; all that could be read has been."""


class Bytes:
    """The content of a file, of standard input ("-") or of an open binary file, after decompression.

    Parameters
    ----------
    source : str, path or binary file
    """

    def __init__(self, source: Any) -> None:
        self._source: Any = sys.stdin.buffer if source == "-" else source
        self._given = hasattr(self._source, "read")
        if source == "-":
            self.name = "standard input"
        elif self._given:
            self.name = str(getattr(source, "name", None) or f"a {type(source).__name__}")
        else:
            self.name = os.fspath(source)
        self._open()

    def _open(self) -> None:
        self.at = 0  # the next byte
        self._broken: Broken | None = None  # what is wrong with the bytes after the ones read so far
        self._start = 0  # the byte of an open file that is the first here
        if self._given:
            self._raw: BinaryIO = self._source
            self._file: Any = self._raw
            self.again = self._raw.seekable()  # whether the first byte can be reached again
            self._start = self._raw.tell() if self.again else 0
            return
        self._raw = open(self._source, "rb")  # noqa: SIM115
        self.again = self._raw.seekable()
        try:
            decompress = COMPRESSIONS.get(PurePath(self._source).suffix.lower())
            self._file = self._raw if decompress is None else decompress(self._raw)
        except BaseException:
            self._raw.close()
            raise

    def read(self, n: int, wait: bool = True) -> bytes:
        """Read at most n bytes, of a slow pipe only those that are there already unless told to wait.

        None are left when none are returned.
        """
        if self._broken is not None:
            self.close()
            raise self._broken
        read = self._file.read if wait or self._file is not self._raw else getattr(self._raw, "read1", self._raw.read)
        try:
            block = read(n)
        except (*_BROKEN, OSError) as error:
            if getattr(error, "errno", None) is not None:  # the disk's, not the content's
                raise
            block = self._salvaged()
            broken = Broken(
                f"{self.name} is broken after byte {self.at + len(block)} of its content: {_sentence(error)}"
            )
            if not block:
                self.close()
                raise broken from None
            self._broken = broken
        if not isinstance(block, bytes):
            raise ValueError(f"{self.name} must be opened for binary reading, and gives {type(block).__name__}")
        self.at += len(block)
        if len(block) == 0:
            self.close()
        return bytes(block)

    def _salvaged(self) -> bytes:
        """The bytes from here to the broken place, one by one: a failing read drops those it had."""
        if self._given or not self.again:
            return b""
        at = self.at
        self.close()
        self._open()
        self.seek(at)
        line = bytearray()
        with contextlib.suppress(*_BROKEN, OSError):
            while byte := self._file.read(1):
                line += byte
        return bytes(line)

    def seek(self, at: int) -> None:
        """Go to a byte of the content: forward by reading where it must be so, back by opening anew."""
        if at < self.at and not self.again:
            raise ValueError(f"{self.name} can be read only once, and its byte {at} has been read")
        if (at < self.at or self._raw.closed) and not self._given:
            self.close()
            self._open()
        size = self.size() if self._file is self._raw else None
        if size is not None:
            self.at = min(at, size - self._start)
            self._raw.seek(self._start + self.at)
        while self.at < at and self.read(min(BLOCK, at - self.at)):
            pass
        if self.at < at:
            raise ValueError(f"{self.name} has {self.at} bytes, and the position is byte {at}: another file")

    def fraction(self) -> float | None:
        """Return how much of the file has been read, from 0 to 1, counted before decompression; None for a pipe."""
        if self._raw.closed:
            return 1.0
        size = self.size()
        if size is None:
            return None
        return min(1.0, (self._raw.tell() - self._start) / (size - self._start)) if size > self._start else 1.0

    def size(self) -> int | None:
        """Return the file's size on disk; None for a pipe."""
        try:
            if not self.again:
                return None
            if isinstance(self._raw, io.BytesIO):
                return self._raw.getbuffer().nbytes
            return os.fstat(self._raw.fileno()).st_size
        except (OSError, ValueError):
            return None

    def close(self) -> None:
        """Close what was opened here; `seek` opens it again."""
        if not self._given:
            self._file.close()
            self._raw.close()


def _sentence(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
