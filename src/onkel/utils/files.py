"""Files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

UNFINISHED = ".unfinished"  # how the names of temporary files end


def write_atomically(path: str | os.PathLike[str], pieces: Iterable[Any]) -> None:
    """Write the pieces to a file that appears under its name only when all of it is on the disk.

    A failure leaves what was there before, and nothing else.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> write_atomically(folder / "hello", [b"hel", b"lo"])
    >>> (folder / "hello").read_bytes(), len(list(folder.iterdir()))
    (b'hello', 1)
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    unfinished = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with open(unfinished, "xb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(unfinished)
        raise
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder last through a power cut, where the system can (not on Windows)."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
