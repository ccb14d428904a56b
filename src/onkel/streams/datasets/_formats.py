"""How the data sets' files are read. LIBSVM and CSV text is streamed; the others are small and read at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from onkel import streams
from onkel.streams import Stream
from onkel.streams._bytes import BLOCK, Bytes

if TYPE_CHECKING:
    from onkel.streams.datasets import Dataset

# Not the row's number, its date, and the two counts that the target is the sum of.
_BIKE = ["season", "yr", "mnth", "hr", "holiday", "weekday", "workingday", "weathersit", "temp", "atemp", "hum"]
_COLUMNS = {"bike": [*_BIKE, "windspeed"]}


def opened(dataset: Dataset, paths: list[Path], *, dense: bool, dtype: str, chunk_rows: int) -> Stream:
    """Open a stream of files that have been found."""
    common: dict[str, Any] = {"dtype": dtype, "chunk_rows": chunk_rows}
    if dataset.format == "libsvm":
        return streams.open(paths[0], format="libsvm", n_features=dataset.features, dense=dense, **common)
    if dataset.format in ("csv", "csv-first"):
        target = 0 if dataset.format == "csv-first" else None
        return streams.open(paths[0], format="csv", target=target, columns=_COLUMNS.get(dataset.name), **common)
    X, y = {"spaces": _spaces, "spaces-pair": _spaces_pair, "arff": _arff, "idx": _idx}[dataset.format](paths)
    return streams.open((X, y), **common)


def _text(path: Path) -> str:
    return _content(path).decode("utf-8", "replace")


def _content(path: Path) -> bytes:
    content, blocks = Bytes(path), []
    while block := content.read(BLOCK):
        blocks.append(block)
    return b"".join(blocks)


def _matrix(text: str) -> NDArray[np.float64]:
    """Numbers between blanks, one row per line."""
    lines = text.splitlines()
    return np.array(text.split(), dtype=np.float64).reshape(sum(1 for line in lines if line.strip()), -1)


def _spaces(paths: list[Path]) -> tuple[Any, Any]:
    """The target in the last column."""
    rows = _matrix(_text(paths[0]))
    return rows[:, :-1], rows[:, -1]


def _spaces_pair(paths: list[Path]) -> tuple[Any, Any]:
    return _matrix(_text(paths[0])), _matrix(_text(paths[1]))[:, 0]


def _arff(paths: list[Path]) -> tuple[Any, Any]:
    """Attributes that name their values become one 0/1 feature per value; the target is the last column."""
    header, body = re.split(r"(?im)^@data\s*$", _text(paths[0]), maxsplit=1)
    declared = re.findall(r"(?im)^@attribute\s+(?:'[^']*'|\S+)\s+(.+?)\s*$", header)
    lines = [line for line in body.splitlines() if line.strip() and not line.startswith("%")]
    fields = [[field.strip() for field in line.split(",")] for line in lines]
    columns: list[NDArray[np.float64]] = []
    for i, kind in enumerate(declared):
        values = [row[i] for row in fields]
        if kind.startswith("{"):
            columns += [np.array([v == k.strip() for v in values], np.float64) for k in kind.strip("{}").split(",")]
        else:
            columns.append(np.array(values, dtype=np.float64))
    return np.column_stack(columns[:-1]), columns[-1]


def _idx(paths: list[Path]) -> tuple[Any, Any]:
    """MNIST's own format: a magic number, the sizes, the bytes."""
    images, labels = (_idx_array(path) for path in paths)
    return images.reshape(len(images), -1), labels


def _idx_array(path: Path) -> NDArray[np.uint8]:
    content = _content(path)
    if content[:3] != b"\0\0\x08":
        raise ValueError(f"{path} is not an idx file of bytes")
    shape = np.frombuffer(content, ">u4", content[3], offset=4)
    return np.frombuffer(content, np.uint8, offset=4 + 4 * content[3]).reshape(shape)
