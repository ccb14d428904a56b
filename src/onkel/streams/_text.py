"""Streams of lines of text: whole lines at a time, whatever the bytes' compression; a position is a byte and a line."""

from __future__ import annotations

from abc import abstractmethod

from onkel.streams._bytes import BLOCK, Bytes
from onkel.streams._stream import Chunk, Position, Stream, check_position

MOST_LINE_BYTES = 1 << 28  # of one row, which must fit into memory several times over


class TextStream(Stream):
    """What LIBSVM and CSV text share."""

    def __init__(self, source: Bytes, *, chunk_rows: int, on_error: str) -> None:
        super().__init__(source.name, chunk_rows, on_error)
        self._bytes = source
        self._discard_text(line=0)

    def _discard_text(self, line: int) -> None:
        self._text = b""
        self._used = 0  # bytes of the text
        self._last = False  # whether the text ends where the file does
        self._line = line  # lines before the next

    def _fill(self, wait: bool = False) -> bool:
        """Have a whole line in the text, unless all has been read; False when nothing is left."""
        if not self._last and self._text.find(b"\n", self._used) < 0:
            self._read_line(wait)
        return self._used < len(self._text)

    def _read_line(self, wait: bool) -> None:
        """Read on to the end of a line. Its pieces are put together once, however many a pipe gives."""
        pieces = [self._text[self._used :]]
        size = len(pieces[0])
        try:
            while not self._last and b"\n" not in pieces[-1]:
                if size > MOST_LINE_BYTES:
                    raise ValueError(f"{self.name}, line {self._line + 1}: longer than {MOST_LINE_BYTES} bytes")
                pieces.append(self._bytes.read(BLOCK, wait))
                size += len(pieces[-1])
                self._last = not pieces[-1]
        finally:  # what has been read is kept, whatever stopped the reading
            self._text, self._used = b"".join(pieces), 0

    def _next(self) -> Chunk | None:
        while self._fill():
            chunk, problems = self._parse()
            for problem in problems:
                if chunk is None or self.on_error == "skip":  # otherwise it comes back when its line is the first
                    self._wrong(problem)
            if chunk is not None:
                return chunk
        return None

    @abstractmethod
    def _parse(self) -> tuple[Chunk | None, list[str]]:
        """Read the rows of some lines and what is wrong; unless rows are skipped, stop before a line that is wrong."""

    def position(self) -> Position:
        """Return where the next chunk begins, as JSON; bytes are counted after decompression."""
        byte = self._bytes.at - len(self._text) + self._used
        return {"byte": byte, "line": self._line, "rows": self.rows, "skipped": self.skipped}

    def seek(self, position: Position) -> None:
        """Make the next chunk the one that begins at a position of this stream."""
        checked = check_position(self, position)
        self._bytes.seek(checked["byte"])
        self._discard_text(checked["line"])
        self._count_from(checked)

    def fraction(self) -> float | None:
        """Return how much of the file has been read, from 0 to 1; None for a pipe."""
        if self._last and self._used == len(self._text):
            return 1.0
        read, at = self._bytes.fraction(), self._bytes.at
        return None if read is None else read * (at - len(self._text) + self._used) / max(1, at)

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()
