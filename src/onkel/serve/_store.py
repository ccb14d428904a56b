"""The directory of one served model: its checkpoints, called versions, and the log of everything after the newest."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onkel.files import persistence
from onkel.serve import _log
from onkel.serve._log import CorruptLog, Disk, Log
from onkel.utils.files import UNFINISHED

_VERSION = re.compile(r"version-([0-9]{6,})\.onkel")


@dataclass(frozen=True)
class Opened:
    """The contents of a directory at the start."""

    version: int
    model: Any
    notes: dict[str, Any]
    records: list[tuple[int, memoryview]]  # of the log, with their numbers
    torn_bytes: int  # removed from the end of the log


class Store:
    """The versions and the log of a model, used by one process at a time.

    A version is a model file (`onkel.load` reads it) whose notes say, under "sequence", how many records of the log it
    includes. When a version is on the disk, the log starts anew after it; a crash in between leaves records that the
    version already includes, and these are skipped.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    keep : int
        Number of versions to keep.
    disk : Disk, default=None

    Examples
    --------
    >>> import onkel, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with Store(folder, keep=2) as store:
    ...     store.save(onkel.OGDClassifier(), {})
    ...     store.append([b"a record"])
    0
    1
    >>> with Store(folder, keep=2) as store:
    ...     [(number, bytes(record)) for number, record in store.open().records]
    [(1, b'a record')]
    """

    def __init__(self, folder: Path, keep: int, disk: Disk | None = None) -> None:
        self.folder = folder
        self.keep = keep
        self._disk = disk
        self._log: Log | None = None
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder)

    def open(self) -> Opened | None:
        """Return the newest version and the records after it; None if nothing was ever saved."""
        for litter in self.folder.glob(f".version-*{UNFINISHED}"):  # left by a crash while writing
            litter.unlink(missing_ok=True)
        paths = self._versions()
        logs = self._logs()
        if not paths:
            if logs:
                raise CorruptLog(f"{self.folder} contains a log but no version that it follows")
            return None
        version = max(paths)
        try:
            model, header = persistence.read(paths[version])
        except ValueError as error:
            raise ValueError(
                f"{error}; the newest version is needed, since the log follows it: restore a copy of it"
            ) from None
        notes = header["notes"]
        records, torn = self._records_behind(notes["sequence"])
        return Opened(version, model, notes, records, torn)

    def _records_behind(self, sequence: int) -> tuple[list[tuple[int, memoryview]], int]:
        """The records after the newest version. Opens the last file of the log for appending."""
        records: list[tuple[int, memoryview]] = []
        following, torn = sequence + 1, 0
        for path in self._logs():
            try:
                found = _log.read(path)
            except CorruptLog:
                if (
                    path.stat().st_size < _log.EMPTY_BYTES and path == self._logs()[-1]
                ):  # torn while it was created, so empty
                    path.unlink()
                    continue
                raise
            torn = found.torn_bytes
            first = found.next - len(found.records)
            if first > following:
                raise CorruptLog(
                    f"{path} begins with record {first}, but {self.folder} has only the records up to "
                    f"{following - 1}: records are missing"
                )
            records += [(number, record) for number, record in found.records if number >= following]
            following = max(following, found.next)
        last = self._logs()[-1:]
        self._log = Log(last[0] if last else self._log_path(following), following, self._disk)
        return records, torn

    def append(self, records: Sequence[bytes]) -> int:
        """Append records; return the number of the first when all are on the disk; raise `OSError` if that fails."""
        assert self._log is not None
        first = self._log.next
        self._log.append(records)
        return first

    def save(self, model: Any, notes: dict[str, Any]) -> int:
        """Write a version, start a new log after it and remove versions beyond those kept; return its number."""
        sequence = 0 if self._log is None else self._log.next - 1
        paths = self._versions()
        version = max(paths, default=-1) + 1
        persistence.write(model, self._path(version), {**notes, "sequence": sequence})
        if self._log is None or not self._log.is_empty:
            try:
                behind = Log(self._log_path(sequence + 1), sequence + 1, self._disk)
            except OSError:
                self._path(version).unlink()  # the present log belongs to the previous version
                raise
            if self._log is not None:
                self._log.close()
            self._log = behind
        for path in self._logs():
            if path != self._log.path:
                path.unlink()
        for old in sorted(paths)[: max(0, len(paths) + 1 - self.keep)]:
            paths[old].unlink(missing_ok=True)
        return version

    def load(self, version: int) -> tuple[Any, dict[str, Any]]:
        """Return the model and the notes of a version."""
        path = self._versions().get(version)
        if path is None:
            raise LookupError(f"there is no version {version}; there are {', '.join(map(str, self.versions()))}")
        model, header = persistence.read(path)
        return model, header["notes"]

    def versions(self) -> list[int]:
        """Return the numbers of the versions that are kept, oldest first."""
        return sorted(self._versions())

    def is_newest_complete(self) -> bool:
        """Return whether the newest version includes every record."""
        return self._log is not None and self._log.is_empty and bool(self._versions())

    @property
    def log_bytes(self) -> int:
        """Size of the log."""
        return 0 if self._log is None else self._log.bytes

    def close(self) -> None:
        """Release the directory."""
        if self._log is not None:
            self._log.close()
            self._log = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _versions(self) -> dict[int, Path]:
        found = ((_VERSION.fullmatch(path.name), path) for path in self.folder.iterdir())
        return {int(match[1]): path for match, path in found if match}

    def _path(self, version: int) -> Path:
        return self.folder / f"version-{version:06d}.onkel"

    def _logs(self) -> list[Path]:
        return sorted(self.folder.glob("log-*.wal"))

    def _log_path(self, first: int) -> Path:
        return self.folder / f"log-{first:012d}.wal"


def _locked(folder: Path) -> int | None:
    """Lock the directory for this process; the lock ends with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # not a POSIX system
        return None
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise ValueError(f"{folder} is in use by another process") from None
    return handle
