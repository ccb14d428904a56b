"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

UNFINISHED = ".unfinished"  # the suffix of temporary files


def write_atomically(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Write the pieces to a file that appears under its name only when all of them are on the disk.

    After a failure the former file, if there was one, is unchanged. A new file that replaces another takes over its
    mode and, where the system allows it, its owner. A pipe or a device is written to directly.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "hello", [b"hel", b"lo"])
    >>> (folder / "hello").read_bytes(), len(list(folder.iterdir()))
    (b'hello', 1)
    """
    if is_special(path):
        with open(path, "wb") as file:
            file.writelines(pieces)
        return
    before = _status(path)
    target = Path(os.path.realpath(path))  # a link stays a link
    unfinished = target.with_name(f".{_shortened(target.name)}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with open(unfinished, "xb", opener=None if before is None else _private) as file:
            if before is not None:
                _pass_on(before, file.fileno())
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
    sync_folder(target.parent)


def is_special(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is a pipe or a device, which is written to and not replaced."""
    status = _status(path)
    return status is not None and not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode)


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:  # writing will then raise the error
        return None


def _shortened(name: str, most: int = 100) -> str:
    """A short temporary name: a name longer than that of the file might be too long for the system."""
    return os.fsencode(name)[:most].decode("utf-8", "ignore")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _pass_on(before: os.stat_result, handle: int) -> None:
    """Give a file the owner and the mode of another."""
    if os.name != "posix":
        return
    now = os.fstat(handle)
    if (before.st_uid, before.st_gid) != (now.st_uid, now.st_gid):
        with contextlib.suppress(OSError):  # only root may give a file away
            os.fchown(handle, before.st_uid, before.st_gid)
    os.fchmod(handle, stat.S_IMODE(before.st_mode))


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, so that they survive a power failure (not on Windows)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
