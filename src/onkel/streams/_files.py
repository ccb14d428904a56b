"""Several files as one stream: those of a folder, or those that a pattern names, in the order of their names."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from typing import Any

from onkel.streams._stream import Chunk, Position, Stream, check_position

_INNER = "file_"  # before the names of what a position says of the file that is being read


def files_of(source: object) -> list[str]:
    """Return the files that a folder or a pattern names, in the order of their names; none for any other source."""
    if not isinstance(source, str | os.PathLike):
        return []
    path = os.fspath(source)
    if os.path.isdir(path):
        names = sorted(name for name in os.listdir(path) if not name.startswith((".", "_")))
        found = [file for name in names if os.path.isfile(file := os.path.join(path, name))]
        if not found:
            raise ValueError(f"{path} is a directory without files to read")
        return found
    if os.path.lexists(path) or not glob.has_magic(path):
        return []
    return sorted(filter(os.path.isfile, glob.glob(path)))


class FilesStream(Stream):
    """The rows of files of one form, one file after the other.

    Parameters
    ----------
    name : str
    files : sequence of str
    opened : callable
        Opens the stream of a file, given the number of features where it must be that of the first file.
    """

    def __init__(self, name: str, files: Sequence[str], opened: Callable[[str, int | None], Any]) -> None:
        self._files, self._opened = files, opened
        self._file = 0
        self._before: tuple[int, list[str]] = (0, [])  # what was skipped in the files before this one
        self._stream = opened(files[0], None)
        super().__init__(name, self._stream.chunk_rows, self._stream.on_error)
        self.n_features, self.columns = self._stream.n_features, self._stream.columns

    def _next(self) -> Chunk | None:
        while True:
            chunk: Chunk | None = self._stream._next()
            skipped, problems = self._before
            self.skipped = skipped + self._stream.skipped
            self.problems = [*problems, *self._stream.problems][: self.MOST_PROBLEMS]
            if chunk is not None:
                self._stream.rows += int(chunk[0].shape[0])
                return chunk
            if self._file + 1 == len(self._files):
                return None
            self._open(self._file + 1)

    def _open(self, file: int) -> None:
        self._stream.close()
        self._before = self.skipped, self.problems
        self._file, self._stream = file, self._opened(self._files[file], self.n_features)
        for what in ("columns", "n_features"):
            own, first = getattr(self._stream, what), getattr(self, what)
            if own != first:
                raise ValueError(f"{self._files[file]} has the {what} {own}, and {self._files[0]} has {first}")

    def position(self) -> Position:
        """Return where the next chunk begins, as JSON."""
        inner = {_INNER + name: value for name, value in self._stream.position().items()}
        return {"rows": self.rows, "skipped": self.skipped, "file": self._file, **inner}

    def seek(self, position: Position) -> None:
        """Make the next chunk the one that begins at a position of this stream."""
        checked = check_position(self, position)
        if checked["file"] >= len(self._files):
            raise ValueError(f"{self.name} has {len(self._files)} files, and the position is in another: other files")
        if checked["file"] != self._file:
            self._open(checked["file"])
        self._stream.seek({name.removeprefix(_INNER): n for name, n in checked.items() if name.startswith(_INNER)})
        self._count_from(checked)
        self._before = self.skipped - self._stream.skipped, self.problems

    def fraction(self) -> float | None:
        """Return how much of the files has been read, from 0 to 1; None where it is unknown."""
        inner = self._stream.fraction()
        return None if inner is None else (self._file + inner) / len(self._files)

    def close(self) -> None:
        """Release the source."""
        self._stream.close()
