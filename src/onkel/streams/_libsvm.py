"""Streams of LIBSVM text, read by the core's parser (native/io/libsvm.cpp)."""

from __future__ import annotations

from typing import Any

from scipy.sparse import csr_array

from onkel import _core
from onkel.streams._bytes import Broken, Bytes
from onkel.streams._stream import Chunk, Position
from onkel.streams._text import TextStream
from onkel.utils.validation import MOST_FEATURES, check_number

MOST_KEPT_BYTES = 1 << 25  # of a file that is held in memory rather than read a second time


class LibsvmStream(TextStream):
    """Rows of LIBSVM text: ``label [qid:n] index:value ... [# comment]``.

    Blank lines and comments are not rows. Without `n_features` the highest index of a file is looked for first, for
    which a file of more than 32 MiB is read twice. A pipe cannot be read twice; there the first chunk decides.
    """

    def __init__(
        self,
        source: Bytes,
        *,
        n_features: int | None,
        dtype: str,
        labelled: bool,
        zero_based: bool,
        dense: bool,
        chunk_rows: int,
        on_error: str,
    ) -> None:
        if n_features is not None:
            check_number("n_features", n_features, at_least=1, at_most=MOST_FEATURES, integer=True)
        super().__init__(source, chunk_rows=chunk_rows, on_error=on_error)
        self.n_features = n_features
        self._limit = n_features or MOST_FEATURES
        self._hint = ""
        self._dtype = dtype
        self._labelled = labelled
        self._zero_based = zero_based
        self._dense = dense
        if n_features is None and self._bytes.again:
            self.n_features, content = self._highest_index()
            self._discard_text(line=0)
            if content is None:
                self._bytes.seek(0)
            else:  # as if one block had held it all
                self._text, self._last = content, True

    def _highest_index(self) -> tuple[int, bytes | None]:
        """The width of the rows that are right, and the content, unless it is long or broken.

        Rows that are wrong are reported when they are read.
        """
        width, size = 1, 0
        pieces: list[bytes] = []
        try:
            while self._fill():
                text, begin = self._text, self._used
                width = max(width, _width(self._rows(skip=True)[2]))
                size += self._used - begin
                pieces.append(text[begin : self._used]) if size <= MOST_KEPT_BYTES else pieces.clear()
        except Broken:  # it is complained of after the rows before it
            return width, None
        return width, b"".join(pieces) if size <= MOST_KEPT_BYTES else None

    def _fill(self, wait: bool = False) -> bool:
        return super()._fill(wait=self.n_features is None)  # the chunk that decides the width is a full one

    def _rows(self, skip: bool) -> tuple[Any, ...]:
        """Labels, values, features, offsets, number of wrong lines, the first problem: of at most a chunk of rows."""
        labels, values, features, offsets, n_bytes, n_lines, skipped, parse_error = _core.read_libsvm(
            self._text,
            begin=self._used,
            last=self._last,
            max_rows=self.chunk_rows,
            labelled=self._labelled,
            zero_based=self._zero_based,
            width=self._limit,
            skip=skip,
            single=self._dtype == "float32",
        )
        problem = None
        if parse_error is not None:
            line, column, expected, found = parse_error
            got = repr(found.decode("utf-8", "backslashreplace")) if found else "nothing"
            hint = self._hint if "at most" in expected else ""
            problem = (
                f"{self.name}, line {self._line + line + 1}, column {column}: expected {expected}, got {got}{hint}"
            )
        self._used += n_bytes
        self._line += n_lines
        return labels, values, features, offsets, skipped, problem

    def _parse(self) -> tuple[Chunk | None, list[str]]:
        labels, values, features, offsets, skipped, problem = self._rows(skip=self.on_error == "skip")
        self.skipped += max(0, skipped - 1)  # the first is counted where it is noted
        chunk = (self._matrix(values, features, offsets), labels if self._labelled else None) if len(labels) else None
        return chunk, [] if problem is None else [problem]

    def _matrix(self, values: Any, features: Any, offsets: Any) -> Any:
        width = _width(features)
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
        return {**super().position(), "n_features": self.n_features or 0}

    def seek(self, position: Position) -> None:
        """Make the next chunk the one that begins at a position of this stream."""
        super().seek(position)
        if self.n_features is None and position["n_features"]:
            self._limit = self.n_features = position["n_features"]


def _width(features: Any) -> int:
    return int(features.max(initial=0)) + 1
