"""One SQLite file for one process: every transaction is on the disk when it ends, or has changed nothing.

The file is in WAL mode with `synchronous=FULL`: a commit is one sync. One connection reads, writes and checkpoints,
under one lock, and holds the file exclusively: neither another process nor a tool can write or checkpoint beside it.
Two connections that checkpoint at once can corrupt a file with SQLite before 3.51.3.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import struct
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_APPLICATION = 0x6F6E6B6C  # "onkl"
_WAL_BYTES = 2**24  # the size at which what was committed moves from the WAL into the file
_WAL_HEAD, _FRAME_HEAD = struct.Struct(">8x I 4x II 8x"), struct.Struct(">II II 8x")
_NETWORK = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "gluster", "lustre", "ncp", "fuse.sshfs")


class Damaged(ValueError):
    """A file that is damaged in a way that no crash explains, or that is not of this service."""


class Database:
    """A connection to a file, which is made with the tables of `schema` if it does not exist.

    Parameters
    ----------
    path : path
    schema : str
    version : int
        That of the schema; a file of another version is refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "numbers.sqlite"
    >>> with contextlib.closing(Database(path, "CREATE TABLE numbers (n INTEGER)", 1)) as database:
    ...     with database.transaction():
    ...         database.execute("INSERT INTO numbers VALUES (?)", 7)
    ...     database.rows("SELECT n FROM numbers")
    [(7,)]
    """

    def __init__(self, path: Path, schema: str, version: int) -> None:
        self.path = path
        self._wal = path.with_name(f"{path.name}-wal")
        self._mine = threading.RLock()
        self._connection = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        try:
            self._begin(schema, version)
        except sqlite3.OperationalError as error:
            self._connection.close()
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                raise ValueError(f"{path.parent} is in use by another process") from None
            raise _as_os_error(path, error) from error
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise Damaged(f"{path} is damaged: {error}") from None
        except BaseException:
            self._connection.close()
            raise

    def _begin(self, schema: str, version: int) -> None:
        def pragma(words: str) -> Any:
            return self._connection.execute(f"PRAGMA {words}").fetchone()[0]

        pragma("locking_mode=EXCLUSIVE")
        pragma("journal_mode=WAL")
        for setting in ("synchronous=FULL", "wal_autocheckpoint=0", "trusted_schema=OFF", "secure_delete=FAST"):
            self._connection.execute(f"PRAGMA {setting}")
        if not self.rows("SELECT name FROM sqlite_schema"):
            with self.transaction():
                for statement in [*schema.split(";"), f"PRAGMA application_id={_APPLICATION}"]:
                    self.execute(statement)
                self.execute(f"PRAGMA user_version={version}")
            return
        if pragma("application_id") != _APPLICATION:
            raise Damaged(f"{self.path} is not the state of a service of onkel")
        if (found := pragma("user_version")) != version:
            raise ValueError(f"{self.path} has version {found}, and this version of onkel reads version {version}")
        self._check_wal()
        if (complaint := pragma("quick_check(1)")) != "ok":
            raise Damaged(f"{self.path} is damaged: {complaint}")

    def _check_wal(self) -> None:
        """Refuse a WAL of which SQLite has ignored more than the one transaction that a crash can tear.

        SQLite reads a WAL up to the first page that is not as it was written, and takes that for its torn end. But each
        transaction was synced before the next began: if the ends of two follow there, it is no torn end.
        """
        _, n_frames, _ = self.rows("PRAGMA wal_checkpoint(PASSIVE)")[0]
        with contextlib.suppress(FileNotFoundError), open(self._wal, "rb") as file:
            head = file.read(_WAL_HEAD.size)
            if len(head) < _WAL_HEAD.size:
                return
            page_bytes, *salts = _WAL_HEAD.unpack(head)
            whole = _FRAME_HEAD.size + page_bytes
            n_ends, at = 0, _WAL_HEAD.size + max(0, n_frames) * whole
            file.seek(at)
            while len(frame := file.read(whole)) == whole:
                _, is_end, *own_salts = _FRAME_HEAD.unpack_from(frame)
                n_ends += own_salts == salts and is_end != 0
            if n_ends > 1:
                raise Damaged(f"{self._wal} is damaged at byte {at} but goes on after it: no crash does that")

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Everything inside is on the disk at the end; if that fails (`OSError`), nothing of it has happened."""
        with self._mine:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError):
                    with contextlib.suppress(sqlite3.OperationalError):
                        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # which may make room
                    raise _as_os_error(self.path, error) from error
                raise

    def execute(self, statement: str, *values: Any) -> None:
        """Execute a statement."""
        self._connection.execute(statement, values)

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows that answer a query."""
        with self._mine:
            return self._connection.execute(query, values).fetchall()

    def each(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that answer a query, as long as they are asked for; within a transaction."""
        return iter(self._connection.execute(query, values))

    def tidy(self) -> None:
        """Move what was committed from the WAL into the file, if the WAL has become long."""
        with self._mine, contextlib.suppress(OSError, sqlite3.OperationalError):  # it goes on in a longer WAL
            if self._wal.stat().st_size >= _WAL_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def copy_to(self, path: Path) -> None:
        """Write a copy of this moment, in as few pages as possible."""
        try:
            with self._mine:
                self._connection.execute("VACUUM INTO ?", (str(path),))
        except sqlite3.OperationalError as error:
            raise _as_os_error(path, error) from error

    def close(self) -> None:
        """Move everything into the file and release it."""
        with self._mine:
            self._connection.close()


def is_on_network(path: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """Return the kind of file system that a path is on if it is one of a network, where that can be found out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w") as mounts:
    ...     print("disk / ext4 rw 0 0", "host:/v /data nfs4 rw 0 0", sep=chr(10), file=mounts, flush=True)
    ...     is_on_network(Path("/data/state"), Path(mounts.name)), is_on_network(Path("/tmp"), Path(mounts.name))
    ('nfs4', None)
    """
    try:
        lines = [line.split() for line in mounts.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return None
    place = Path(os.path.realpath(path))
    above = [line for line in lines if len(line) > 2 and place.is_relative_to(line[1])]
    kind = max(above, key=lambda line: len(line[1]), default=["", "", ""])[2]
    return kind if kind.startswith(_NETWORK) else None


def _as_os_error(path: Path, error: sqlite3.OperationalError) -> OSError:
    return OSError(f"{path.name}: {error} ({error.sqlite_errorname})")
