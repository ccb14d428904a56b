"""Streams of LIBSVM text, read by the core's parser (native/libsvm.cpp)."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

from onkel import _core
from onkel._checks import check_number
from onkel.streams._bytes import BLOCK, Bytes
from onkel.streams._stream import Chunk, Position, Stream, check_position

MOST_FEATURES = 2**31 - 1
MOST_LINE_BYTES = 1 << 30


class LibsvmStream(Stream):
    """Rows of LIBSVM text: ``label [qid:n] index:value ... [# comment]``.

    Blank lines and comments are no rows. Without `n_features` a file is read twice: its highest index is looked for
    first. A pipe cannot be read twice; there the first chunk decides.
    """

    def __init__(
        self,
        source: Any,
        *,
        chunk_rows: int,
        on_error: str,
        n_features: int | None,
        dtype: str,
        labelled: bool,
        zero_based: bool,
        dense: bool,
    ) -> None:
        self._bytes = Bytes(source)
        super().__init__(self._bytes.name, chunk_rows, on_error)
        if n_features is not None:
            check_number("n_features", n_features, at_least=1, at_most=MOST_FEATURES, integer=True)
        self.n_features = n_features
        self._limit = n_features or MOST_FEATURES
        self._hint = ""
        self._dtype = dtype
        self._labelled = labelled
        self._zero_based = zero_based
        self._dense = dense
        self._text, self._used, self._last = b"", 0, False
        self._line = 0  # lines before the next
        if n_features is None and self._bytes.can_be_read_again():
            self.n_features = self._highest_index()
            self._bytes.seek(0)

    def _highest_index(self) -> int:
        """The width of the rows that are right; those that are not are complained of when they are read."""
        width = 1
        while self._fill():
            _, _, features, *_ = self._parse(skip=True)
            width = max(width, int(features.max(initial=0)) + 1)
        self._text, self._used, self._last, self._line = b"", 0, False, 0
        return width

    def _fill(self) -> bool:
        """Have a whole line in the text, unless all has been read; False when nothing is left."""
        while not self._last and self._text.find(b"\n", self._used) < 0:
            rest = self._text[self._used :]
            if len(rest) > MOST_LINE_BYTES:
                raise ValueError(f"{self.name}, line {self._line + 1}: longer than {MOST_LINE_BYTES} bytes")
            # Twice as much each time: a long line is not copied often. The chunk that decides the width is a full one.
            block = self._bytes.read(max(BLOCK, len(rest)), wait=self.n_features is None)
            self._last = not block
            self._text, self._used = rest + block, 0
        return self._used < len(self._text)

    def _parse(self, skip: bool) -> tuple[Any, ...]:
        """Labels, values, features, offsets, lines skipped, complaint: of whole lines, at most a chunk of them."""
        labels, values, features, offsets, n_bytes, n_lines, skipped, complaint = _core.read_libsvm(
            self._text,
            begin=self._used,
            last=self._last,
            most=self.chunk_rows,
            labelled=self._labelled,
            zero_based=self._zero_based,
            width=self._limit,
            skip=skip,
            single=self._dtype == "float32",
        )
        problem = None
        if complaint is not None:
            line, column, expected, found = complaint
            got = repr(found.decode("utf-8", "backslashreplace")) if found else "the end of the line"
            place = f"{self.name}, line {self._line + line + 1}, column {column}"
            problem = f"{place}: expected {expected}, got {got}{self._hint if 'at most' in expected else ''}"
        self._used += n_bytes
        self._line += n_lines
        return labels, values, features, offsets, skipped, problem

    def _next(self) -> Chunk | None:
        while self._fill():
            labels, values, features, offsets, skipped, problem = self._parse(self.on_error == "skip")
            if problem is not None and (self.on_error == "skip" or len(labels) == 0):
                self._wrong(problem)
                self.skipped += skipped - 1
            if len(labels):
                return self._matrix(values, features, offsets), labels if self._labelled else None
        return None

    def _matrix(self, values: Any, features: Any, offsets: Any) -> Any:
        width = int(features.max(initial=0)) + 1
        if self.n_features is None:
            self._limit = self.n_features = width
            self._hint = "; the first chunk has no higher index: give n_features"
        if width > self.n_features:  # no higher index was found when the file was opened
            raise ValueError(f"{self.name} has changed since it was opened: it has an index {width} now")
        X = csr_array((values, features, offsets), shape=(len(offsets) - 1, self.n_features))
        X.has_canonical_format = True  # the parser has seen to it
        return X.toarray() if self._dense else X

    def position(self) -> Position:
        """Return where the next chunk begins, as JSON; bytes are counted after decompression."""
        return {
            "byte": self._bytes.at - len(self._text) + self._used,
            "line": self._line,
            "rows": self.rows,
            "skipped": self.skipped,
            "n_features": self.n_features or 0,
        }

    def seek(self, position: Position) -> None:
        """Make the next chunk the one that begins at a position of this stream."""
        checked = check_position(self, position)
        self._bytes.seek(checked["byte"])
        self._text, self._used, self._last = b"", 0, False
        self._line, self.rows, self.skipped = checked["line"], checked["rows"], checked["skipped"]
        self.n_features = checked["n_features"] or self.n_features
        self.problems = self.problems if self.skipped else []

    def fraction(self) -> float | None:
        """Return how much of the file has been read, from 0 to 1; None for a pipe."""
        if self._last and self._used == len(self._text):
            return 1.0
        return self._bytes.fraction()

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()
