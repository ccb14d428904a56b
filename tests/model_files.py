"""Model files taken apart and put together again, so that a test can make one that is wrong in just one way."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

UNSIGNED = b"0" * 64


@dataclass
class Pieces:
    header: dict[str, Any]  # onkel's own
    entries: dict[str, Any]  # safetensors' own
    data: bytearray
    version: str  # of the format

    def array(self, ending: str) -> np.ndarray:
        """The array whose name ends so, to be changed in place."""
        entry = self.entries[self.name(ending)]
        begin, end = entry["data_offsets"]
        kind = {"F64": "<f8", "F32": "<f4", "I64": "<i8"}[entry["dtype"]]
        return np.frombuffer(memoryview(self.data)[begin:end], kind)

    def name(self, ending: str) -> str:
        (name,) = [name for name in self.entries if name.endswith(ending)]
        return name

    def write(self, path: Path) -> None:
        metadata = {
            "format": "onkel",
            "version": self.version,
            "sha256": UNSIGNED.decode(),
            "header": json.dumps(self.header, separators=(",", ":")),
        }
        text = json.dumps({"__metadata__": metadata, **self.entries}, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(signed(len(text).to_bytes(8, "little") + text + bytes(self.data)))


def taken_apart(path: Path) -> Pieces:
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    entries = json.loads(content[8:end])
    metadata = entries.pop("__metadata__")
    return Pieces(json.loads(metadata["header"]), entries, bytearray(content[end:]), metadata["version"])


def signed(content: bytes) -> bytes:
    """The same file with the checksum that it should have, wherever its first one is."""
    key = b'"sha256":"'
    at = content.find(key) + len(key)
    if at < len(key):
        return content
    digest = hashlib.sha256(content[:at] + UNSIGNED + content[at + 64 :]).hexdigest()
    return content[:at] + digest.encode() + content[at + 64 :]
