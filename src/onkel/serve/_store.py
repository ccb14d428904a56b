"""The directory of one served model: its versions, which are model files, and everything else in one SQLite file."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import shutil
import tarfile
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

from onkel.files import persistence
from onkel.serve._database import Damaged, Database
from onkel.utils.files import UNFINISHED, sync_folder

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # of a model
_NAME, _VERSION = "state.sqlite", re.compile(r"version-([0-9]{6,})\.onkel")
_SCHEMA = """
CREATE TABLE requests (
  number INTEGER PRIMARY KEY, time REAL NOT NULL, rows INTEGER NOT NULL, record BLOB NOT NULL, crc32 INTEGER NOT NULL,
  refused TEXT
);
CREATE TABLE keys (
  key TEXT PRIMARY KEY, number INTEGER NOT NULL, digest TEXT NOT NULL, rows INTEGER NOT NULL, refused TEXT
) WITHOUT ROWID;
CREATE INDEX keys_by_age ON keys (number);
CREATE TABLE held (
  place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, time REAL NOT NULL, rows INTEGER NOT NULL, record BLOB NOT NULL
);
CREATE TABLE versions (
  version INTEGER PRIMARY KEY, time REAL NOT NULL, sequence INTEGER NOT NULL, sha256 TEXT NOT NULL
)"""
_AT_ONCE, _BYTES_AT_ONCE = 1000, 2**24  # requests that are read from the file at a time, and their bytes


@dataclass(frozen=True, kw_only=True)
class Retention:
    """How much a store keeps."""

    versions: int = 10
    keys: int = 10_000  # requests whose idempotency keys are remembered
    history_bytes: int = 2**28  # of requests that a version includes, for audits
    held_rows: int = 100_000
    held_bytes: int = 2**28
    held_seconds: float = 86_400.0


@dataclass(frozen=True)
class Opened:
    """The newest version."""

    version: int
    model: Any
    notes: dict[str, Any]


@dataclass(frozen=True)
class Request:
    """A request to learn, as it is logged."""

    record: bytes
    n_rows: int
    known_as: Mapping[str, str] = field(default_factory=dict)  # its keys, each with a digest of the request
    id: str | None = None  # of held rows that get their labels with it


@dataclass(frozen=True)
class StoredRequest:
    """A request of the log."""

    number: int
    time: float
    record: bytes
    refused: str | None


@dataclass(frozen=True)
class Known:
    """What became of an earlier request with a key."""

    digest: str
    n_rows: int
    refused: str | None


@dataclass
class _Hold:
    id: str
    record: bytes
    n_rows: int
    time: float
    done: bool | None = None


class Store:
    """What a served model keeps on the disk, used by one process at a time.

    The requests after the newest version are the log: they are learned again at the next start. A version is a model
    file (`onkel.load` reads it), on the disk before the file's row that names it.

    Parameters
    ----------
    folder : path
        Created if it does not exist.
    kept : Retention, default=None

    Examples
    --------
    >>> import onkel, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> with Store(folder) as store:
    ...     store.save(onkel.OGDClassifier(), {})
    ...     store.log([Request(b"a record", 1, {"key k": "its digest"})])
    0
    1
    >>> with Store(folder) as store:
    ...     [found.record for found in store.waiting()], store.known("key k").n_rows
    ([b'a record'], 1)
    """

    def __init__(self, folder: Path, kept: Retention | None = None) -> None:
        self.folder = folder
        self.kept = kept or Retention()
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _NAME
        if not path.exists() and self._files():
            raise Damaged(f"{folder} holds versions but no {_NAME}: restore it from a backup, or use another directory")
        self._database = Database(path, _SCHEMA, version=1)
        try:
            last_included, last = "(SELECT ifnull(max(sequence), 0) FROM versions)", "SELECT max(number) FROM requests"
            self._next = 1 + self._sum(f"SELECT max({last_included}, ifnull(({last}), 0))")
            self._log_bytes = self._sum(f"SELECT sum(length(record)) FROM requests WHERE number > {last_included}")
            self._held_rows = self._sum("SELECT sum(rows) FROM held")
            self._held_bytes = self._sum("SELECT sum(length(record)) FROM held")
            self.n_held = self._sum("SELECT count(*) FROM held")
            self._versions: dict[int, tuple[int, str]] = {
                version: (sequence, digest)
                for version, sequence, digest in self._database.rows("SELECT version, sequence, sha256 FROM versions")
            }
        except BaseException:
            self._database.close()
            raise
        self._holds: deque[_Hold] = deque()
        self._holding, self._counting = threading.Lock(), threading.Lock()

    def open(self) -> Opened | None:
        """Return the newest version; None if nothing was ever saved."""
        for litter in (*self.folder.glob(f".*{UNFINISHED}"), *self._superfluous()):  # left by a crash
            litter.unlink(missing_ok=True)
        if not self._versions:
            return None
        version = max(self._versions)
        try:
            return Opened(version, *self.load(version))
        except ValueError as error:
            raise ValueError(
                f"{error}; the newest version is needed, since the log follows it: restore it from a backup"
            ) from None

    def waiting(self) -> Iterator[StoredRequest]:
        """Yield the requests after the newest version, in order; refuse gaps and damage."""
        n_found = 0
        for found in self._found(self._sequence, "number < ?", self._next):
            n_found += 1
            yield found
        if n_found != self._next - 1 - self._sequence:
            raise Damaged(f"{self._database.path} holds {n_found} requests of {self._sequence + 1} to {self._next - 1}")

    def learned(self, begin: float, end: float) -> Iterator[StoredRequest]:
        """Yield what is kept of the requests that came in a range of time (seconds since 1970), in order."""
        yield from self._found(0, "time >= ? AND time < ?", begin, end)

    def _found(self, number: int, condition: str, *values: float) -> Iterator[StoredRequest]:
        asked = f"FROM requests WHERE number > ? AND {condition} ORDER BY number LIMIT ?"
        while sizes := self._database.rows(f"SELECT length(record) {asked}", number, *values, _AT_ONCE):
            totals = itertools.accumulate(size for (size,) in sizes)
            n = max(1, sum(total <= _BYTES_AT_ONCE for total in totals))
            rows = self._database.rows(f"SELECT number, time, record, crc32, refused {asked}", number, *values, n)
            for number, moment, record, checksum, refused in rows:
                if zlib.crc32(record) != checksum:
                    raise Damaged(f"{self._database.path}: request {number} is damaged")
                yield StoredRequest(number, moment, record, refused)

    def log(self, requests: Sequence[Request]) -> int:
        """Write requests; return the number of the first when all are on the disk; raise `OSError` if that fails."""
        first, now = self._next, time.time()
        with self._database.transaction():
            released = [self._released(request.id) for request in requests if request.id is not None]
            for number, request in enumerate(requests, first):
                self._database.execute(
                    "INSERT INTO requests VALUES (?, ?, ?, ?, ?, NULL)",
                    *(number, now, request.n_rows, request.record, zlib.crc32(request.record)),
                )
                for key, digest in request.known_as.items():
                    self._database.execute(
                        "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, NULL)", key, number, digest, request.n_rows
                    )
            following = first + len(requests)
            self._database.execute("DELETE FROM keys WHERE number < ?", following - self.kept.keys)
        self._next = following
        self._log_bytes += sum(len(request.record) for request in requests)
        self._count_held(released, -1)
        return first

    def refuse(self, number: int, sentence: str) -> None:
        """Record that learning from a request was refused."""
        with self._database.transaction():
            for table in ("requests", "keys"):
                self._database.execute(f"UPDATE {table} SET refused = ? WHERE number = ?", sentence, number)

    def known(self, key: str) -> Known | None:
        """Return what became of the request that had a key; None if there was none lately."""
        found = self._database.rows("SELECT digest, rows, refused FROM keys WHERE key = ?", key)
        return Known(*found[0]) if found else None

    # -- rows that wait for their labels

    def hold(self, id: str, record: bytes, n_rows: int) -> bool:
        """Hold rows under an id, in the place of those before; return whether they are on the disk.

        Callers that wait at the same time share one transaction.
        """
        if n_rows > self.kept.held_rows or len(record) > self.kept.held_bytes:
            return False
        mine = _Hold(id, record, n_rows, time.time())
        self._holds.append(mine)
        with self._holding:
            if mine.done is None:
                waiting = [self._holds.popleft() for _ in range(len(self._holds))]
                try:
                    self._hold_all(waiting)
                except OSError:
                    for each in waiting:
                        each.done = False
            self._database.tidy()
        return bool(mine.done)

    def held(self, id: str) -> bytes | None:
        """Return the rows held under an id; None if there are none, or their time is over."""
        since = time.time() - self.kept.held_seconds
        found = self._database.rows("SELECT record FROM held WHERE id = ? AND time >= ?", id, since)
        return found[0][0] if found else None

    def _hold_all(self, holds: list[_Hold]) -> None:
        with self._database.transaction():
            left = [self._released(each.id) for each in holds]
            for each in holds:
                self._database.execute(
                    "INSERT OR REPLACE INTO held (id, time, rows, record) VALUES (?, ?, ?, ?)",
                    *(each.id, each.time, each.n_rows, each.record),
                )
            come = [(each.n_rows, len(each.record), 1) for each in {each.id: each for each in holds}.values()]
            left += self._oldest_held(
                self._held_rows + sum(n for n, _, _ in come) - sum(n for n, _, _ in left) - self.kept.held_rows,
                self._held_bytes + sum(n for _, n, _ in come) - sum(n for _, n, _ in left) - self.kept.held_bytes,
            )
        self._count_held(come, 1)
        self._count_held(left, -1)
        for each in holds:
            each.done = True

    def _oldest_held(self, rows: int, nbytes: int) -> list[tuple[int, int, int]]:
        """Release the oldest: so many rows and bytes, and those whose time is over."""
        since, dropped, last = time.time() - self.kept.held_seconds, [], 0
        for place, its_rows, its_bytes, moment in self._database.each(
            "SELECT place, rows, length(record), time FROM held ORDER BY place"
        ):
            if rows <= 0 and nbytes <= 0 and moment >= since:
                break
            last, rows, nbytes = place, rows - its_rows, nbytes - its_bytes
            dropped.append((its_rows, its_bytes, 1))
        self._database.execute("DELETE FROM held WHERE place <= ?", last)
        return dropped

    def _released(self, id: str) -> tuple[int, int, int]:
        """Release the rows under an id; return the numbers of rows, bytes and ids that this makes free."""
        found = self._database.rows("SELECT rows, length(record), 1 FROM held WHERE id = ?", id)
        self._database.execute("DELETE FROM held WHERE id = ?", id)
        return found[0] if found else (0, 0, 0)

    def _count_held(self, changes: list[tuple[int, int, int]], sign: int) -> None:
        with self._counting:
            for rows, nbytes, ids in changes:
                self._held_rows += sign * rows
                self._held_bytes += sign * nbytes
                self.n_held += sign * ids

    # -- versions

    def save(self, model: Any, notes: dict[str, Any]) -> int:
        """Write a version, which includes every request so far; give up what is no longer kept; return its number."""
        sequence, version = self._next - 1, max(self._versions, default=-1) + 1
        path = self._path(version)
        persistence.write(model, path, {**notes, "sequence": sequence})
        oldest = version + 1 - self.kept.versions
        try:
            digest = _digest(path)
            with self._database.transaction():
                self._database.execute(
                    "INSERT INTO versions VALUES (?, ?, ?, ?)", version, time.time(), sequence, digest
                )
                self._database.execute("DELETE FROM versions WHERE version < ?", oldest)
                self._database.execute("DELETE FROM requests WHERE number <= ?", self._last_given_up(sequence))
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        kept = {number: its for number, its in self._versions.items() if number >= oldest}
        self._versions = kept | {version: (sequence, digest)}
        self._log_bytes = 0
        for old in self._superfluous():
            old.unlink(missing_ok=True)
        self._database.tidy()
        return version

    def _last_given_up(self, sequence: int) -> int:
        """The last request that is too old for the history."""
        nbytes = 0
        for number, size in self._database.each(
            "SELECT number, length(record) FROM requests WHERE number <= ? ORDER BY number DESC", sequence
        ):
            nbytes += size
            if nbytes > self.kept.history_bytes:
                return int(number)
        return 0

    def load(self, version: int) -> tuple[Any, dict[str, Any]]:
        """Return the model and the notes of a version."""
        if version not in self._versions:
            raise LookupError(f"there is no version {version}; there are {', '.join(map(str, self.versions()))}")
        path = self._path(version)
        try:
            model, header = persistence.read(path)
            if _digest(path) != self._versions[version][1]:
                raise Damaged(f"{path} is not the file that was saved as version {version}")
        except FileNotFoundError:
            raise Damaged(f"{path} is missing") from None
        return model, header["notes"]

    def versions(self) -> list[int]:
        """Return the numbers of the versions that are kept, oldest first."""
        return sorted(self._versions)

    def is_newest_complete(self) -> bool:
        """Return whether the newest version includes every request."""
        return bool(self._versions) and self._sequence == self._next - 1

    @property
    def log_bytes(self) -> int:
        """Size of the requests after the newest version."""
        return self._log_bytes

    def back_up(self) -> IO[bytes]:
        """Write everything, as it is at this moment, to a tar file, of which only this handle is left."""
        copy, tar = self.folder / f".copy{UNFINISHED}", self.folder / f".backup{UNFINISHED}"
        try:
            self._database.copy_to(copy)
            with tarfile.open(tar, "w") as archive:
                archive.add(copy, f"{self.folder.name}/{_NAME}")
                for version in self.versions():
                    archive.add(self._path(version), f"{self.folder.name}/{self._path(version).name}")
            return open(tar, "rb")
        finally:
            copy.unlink(missing_ok=True)
            tar.unlink(missing_ok=True)

    def tidy(self) -> None:
        """Keep the file's own log short."""
        self._database.tidy()

    def close(self) -> None:
        """Release the directory."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _sum(self, query: str) -> int:
        return int(self._database.rows(query)[0][0] or 0)

    @property
    def _sequence(self) -> int:
        """The number of the last request that the newest version includes."""
        return max((sequence for sequence, _ in self._versions.values()), default=0)

    def _path(self, version: int) -> Path:
        return self.folder / f"version-{version:06d}.onkel"

    def _files(self) -> dict[int, Path]:
        found = ((_VERSION.fullmatch(path.name), path) for path in self.folder.iterdir())
        return {int(match[1]): path for match, path in found if match}

    def _superfluous(self) -> list[Path]:
        """Files of versions that are no longer kept, or that a crash has left without their row."""
        return [path for number, path in self._files().items() if number not in self._versions]


def groups_of(found: Iterator[StoredRequest]) -> Iterator[list[StoredRequest]]:
    """Yield requests in groups of bounded memory."""
    group: list[StoredRequest] = []
    nbytes = 0
    for each in found:
        group.append(each)
        nbytes += len(each.record)
        if len(group) == _AT_ONCE or nbytes > _BYTES_AT_ONCE:
            yield group
            group, nbytes = [], 0
    if group:
        yield group


def restore(backup: Path, root: Path) -> str:
    """Unpack a backup to where there is no model of its name; return the name."""
    with tarfile.open(backup) as archive:
        files = [(member, PurePosixPath(member.name)) for member in archive.getmembers()]
        names = {path.parent.name for _, path in files}
        known = all(
            member.isreg()
            and len(path.parts) == 2
            and NAME.fullmatch(path.parts[0])
            and (path.name == _NAME or _VERSION.fullmatch(path.name))
            for member, path in files
        )
        if not known or len(names) != 1 or _NAME not in {path.name for _, path in files}:
            raise ValueError(f"{backup} is not a backup of a service")
        (name,) = names
        target, unfinished = root / name, root / f".{name}{UNFINISHED}"
        if target.exists():
            raise ValueError(f"{target} exists: a backup is restored to where there is none of its model")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for member, path in files:
            source = archive.extractfile(member)
            assert source is not None
            with source, open(unfinished / path.name, "xb") as file:
                shutil.copyfileobj(source, file)
                file.flush()
                os.fsync(file.fileno())
    unfinished.rename(target)
    sync_folder(root)
    return name


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
