"""Where the data sets' files are (the user's folder, the cache, their origin), and whether they are the right ones."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from onkel.streams._bytes import BLOCK, Bytes
from onkel.utils.extras import needed
from onkel.utils.files import write_atomically


@dataclass(frozen=True)
class File:
    """A file of a data set.

    Parameters
    ----------
    name : str
        In the user's folder, with its compression.
    sha256 : str
        Of that file.
    content : str
        SHA-256 of its content, decompressed.
    exact : bool
        Whether the origin's file, decompressed, has the same content. Where it has not (line ends, a blank line), what
        is fetched can be checked by its rows and features only.
    url : str or None
        Its origin, which may compress it otherwise; None where there is none to fetch it from.
    """

    name: str
    sha256: str
    content: str
    exact: bool
    url: str | None


def found(dataset: str, file: File) -> Path:
    """Return the path of a file that has been checked; fetch it where it is nowhere."""
    folder = os.environ.get("ONKEL_DATA")
    if folder and (path := Path(folder) / file.name).exists():
        _check(path, _digest(_blocks(path)), file.sha256)
        return path
    if file.url is None:
        raise FileNotFoundError(
            f"{dataset} has no address to be fetched from: "
            f"put {file.name} in a folder and set ONKEL_DATA to it ({_looked_in(folder)})"
        )
    path = cache() / PurePosixPath(file.url).name
    if not path.exists():
        _fetch(dataset, file, path, folder)
    if file.exact:
        _check(path, _content_digest(path), file.content)
    return path


def cache() -> Path:
    """Return the folder of what was fetched: ONKEL_CACHE, or the user's cache."""
    if "ONKEL_CACHE" in os.environ:
        return Path(os.environ["ONKEL_CACHE"])
    home = Path.home()
    places = {"win32": home / "AppData/Local", "darwin": home / "Library/Caches"}
    return Path(os.environ.get("XDG_CACHE_HOME") or places.get(sys.platform, home / ".cache")) / "onkel"


def _fetch(dataset: str, file: File, path: Path, folder: str | None) -> None:
    """Download a file; it is there whole and right, or not at all."""
    assert file.url is not None
    pooch = needed("pooch", "datasets", f"{dataset} is not on this machine ({_looked_in(folder)}); fetching it")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        pooch.HTTPDownloader(stream=False)(file.url, str(part), None)  # a stream leaks its socket after an error
        write_atomically(path, _blocks(part))
    except OSError as error:  # requests' errors too
        raise ConnectionError(
            f"{dataset} is not on this machine ({_looked_in(folder)}), and {file.url} cannot be fetched "
            f"({type(error).__name__}): fetch it elsewhere and put it in {path.parent}"
        ) from None
    finally:
        part.unlink(missing_ok=True)
    try:
        if file.exact:
            _check(path, _content_digest(path), file.content)
    except ValueError:
        path.unlink()
        raise


def _looked_in(folder: str | None) -> str:
    where = f"not in ONKEL_DATA, {folder}" if folder else "ONKEL_DATA is not set"
    return f"{where}, and not in the cache, {cache()}"


def _check(path: Path, digest: str, expected: str) -> None:
    if digest != expected:
        raise ValueError(f"{path} is not the expected file: its SHA-256 is {digest}, expected {expected}")


def _digest(blocks: Iterator[bytes]) -> str:
    digest = hashlib.sha256()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            yield block


def _content_digest(path: Path) -> str:
    content = Bytes(path)

    def blocks() -> Iterator[bytes]:
        while block := content.read(BLOCK):
            yield block

    try:
        return _digest(blocks())
    finally:
        content.close()
