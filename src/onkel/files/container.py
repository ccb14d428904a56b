"""The container: one JSON header and named arrays in one safetensors file, under one checksum (docs/persistence.md).

Written by hand rather than by the safetensors package: equal models must give equal bytes, and a file must be checked
to the last byte before memory is allocated for what it claims to contain. Any safetensors reader opens these files.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import stat
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.files.format import VERSION
from onkel.utils.files import write_atomically

MOST_HEADER_BYTES = 100_000_000  # the safetensors package's own limit
_BLOCK = 1 << 20

_UNSIGNED = "0" * 64
_OPENING = '{"__metadata__":{"format":"onkel","version":"%s","sha256":"%s","header":"'
_MAGIC = re.compile((_OPENING % ("([0-9]{1,9})", "([0-9a-f]{64})")).replace("{", r"\{", 2).encode())

_TYPES = {
    "F64": "<f8",
    "I64": "<i8",
    "U64": "<u8",
    "F32": "<f4",
    "I32": "<i4",
    "U32": "<u4",
    "F16": "<f2",
    "I16": "<i2",
    "U16": "<u2",
    "I8": "|i1",
    "U8": "|u1",
}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}

Tensors = dict[str, NDArray[Any]]


class NotAModel(ValueError):
    """A file that is not a valid model: the message says why in one sentence."""


def holds(array: NDArray[Any]) -> bool:
    """Whether a file can contain an array."""
    return array.dtype.newbyteorder("<") in _NAMES


def write(path: str | os.PathLike[str], header: dict[str, Any], tensors: Tensors) -> None:
    """Write a header and arrays; equal ones give equal bytes."""
    write_atomically(path, _pieces(header, tensors))


def _pieces(header: dict[str, Any], tensors: Tensors) -> Iterator[Any]:
    """The file from its first byte to its last."""
    little = {name: np.ascontiguousarray(a, dtype=a.dtype.newbyteorder("<")) for name, a in tensors.items()}
    order = sorted(little, key=lambda name: (-little[name].itemsize, name))  # wide types first, so that all are aligned
    entries, end = {}, 0
    for name in order:
        begin, end = end, end + little[name].nbytes
        kind = _NAMES[little[name].dtype]
        entries[name] = {"dtype": kind, "shape": list(little[name].shape), "data_offsets": [begin, end]}
    metadata = {"format": "onkel", "version": str(VERSION), "sha256": _UNSIGNED, "header": _dumps(header)}
    text = _dumps({"__metadata__": metadata, **entries}).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER_BYTES:
        raise ValueError(f"the model's header takes {len(text)} bytes, and the limit is {MOST_HEADER_BYTES}")
    opening = len(text).to_bytes(8, "little") + text
    digest = hashlib.sha256(opening)
    bodies = [little[name].reshape(-1).view(np.uint8) for name in order]
    for body in bodies:
        digest.update(body.data)
    at = 8 + (_OPENING % (VERSION, "")).index('","header')
    yield opening[:at] + digest.hexdigest().encode("ascii") + opening[at + 64 :]
    yield from bodies


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], Tensors]:
    """Read a header and arrays; refuse a file that is not exactly as it was written."""
    with _opened(path) as file:
        text, size = _verified(file)
        entries = _loads(text.decode("ascii", "replace"))
        header = _loads(entries.pop("__metadata__")["header"])
        if not isinstance(header, dict):
            raise NotAModel("its header is not a JSON object")
        _check_layout(entries, size - 8 - len(text))
        file.seek(8 + len(text))
        tensors = {}
        for name, entry in entries.items():
            tensors[name] = np.empty(entry["shape"], _TYPES[entry["dtype"]])
            body = tensors[name].reshape(-1).view(np.uint8)
            if file.readinto(body.data) != len(body):
                raise NotAModel("it became shorter while it was read")
        return header, tensors


def verify(path: str | os.PathLike[str]) -> None:
    """Refuse a file that is not, byte for byte, as it was written."""
    with _opened(path) as file:
        _verified(file)


def _opened(path: str | os.PathLike[str]) -> io.BufferedReader:
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise NotAModel("it is a directory" if stat.S_ISDIR(mode) else "it is not a regular file")
    return open(path, "rb")


def _verified(file: io.BufferedReader) -> tuple[bytes, int]:
    """The header's text and the file's size, once every byte of the file has been checked."""
    size = os.fstat(file.fileno()).st_size
    opening = file.read(8 + 256)
    magic = _MAGIC.match(opening, 8)
    if magic is None:
        raise NotAModel("it does not begin like a file written by onkel.save" if size else "it is empty")
    if int(magic[1]) != VERSION:
        raise NotAModel(f"its format is version {int(magic[1])}, and this version of onkel reads version {VERSION}")
    length = int.from_bytes(opening[:8], "little")
    if length > min(size - 8, MOST_HEADER_BYTES):
        raise NotAModel(f"its header claims {length} bytes, and the file has {size}")
    digest = hashlib.sha256(opening[: magic.start(2)] + _UNSIGNED.encode() + opening[magic.end(2) :])
    while block := file.read(_BLOCK):
        digest.update(block)
    if digest.hexdigest().encode() != magic[2]:
        raise NotAModel("its checksum is wrong: the file is incomplete, or was changed after it was written")
    file.seek(8)
    return file.read(length), size


def _check_layout(entries: dict[str, Any], room: int) -> None:
    """Check that the arrays fill the file without gaps or overlaps, whatever the header claims."""
    end = 0
    for name, entry in entries.items():
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise NotAModel(f"array {name!r} must have a dtype, a shape and data_offsets")
        kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(kind, str) or kind not in _TYPES:
            raise NotAModel(f"array {name!r} has dtype {kind!r}, which onkel does not write")
        if not _are_counts(shape) or len(shape) > 8 or not _are_counts(offsets) or len(offsets) != 2:
            raise NotAModel(f"array {name!r} must have a shape and two data_offsets, integers of at least 0")
        nbytes = math.prod(shape) * np.dtype(_TYPES[kind]).itemsize
        if offsets != [end, end + nbytes] or max(shape, default=0) > 2**62:
            raise NotAModel(f"array {name!r} must be at bytes {end} to {end + nbytes} of the data, not {offsets}")
        end += nbytes
    if end != room:
        raise NotAModel(f"its arrays take {end} bytes, and the file has {room} for them")


def _are_counts(values: object) -> bool:
    return isinstance(values, list) and all(type(v) is int and v >= 0 for v in values)


def _dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def _loads(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_finite, parse_float=_finite)
    except NotAModel:
        raise
    except (ValueError, RecursionError) as error:
        raise NotAModel(f"its header is not valid JSON ({error})") from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise NotAModel(f"its header names {next(n for n in names if names.count(n) > 1)!r} twice")
    return members


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise NotAModel(f"its header holds {text}, which is not finite")
    return value
