"""Results are written completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file that appears under its name when all of it is written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "result.json"
    >>> write_whole(path, "{}")
    >>> path.read_text(), len(list(path.parent.iterdir()))
    ('{}', 1)
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    unfinished.write_text(text, "utf-8", newline="")
    os.replace(unfinished, path)
