"""A hash of named arrays, which need not be copied for it."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Digest:
    """A hash of named arrays: equal exactly when every bit of them is."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def show(self, name: str, dtype: str, shape: tuple[int, ...], values: Array) -> None:
        """Take in an array, given by its bytes."""
        self._hash.update(f"{name} {dtype} {shape};".encode())
        self._hash.update(values.data)

    def take(self, arrays: dict[str, Array]) -> None:
        """Take in arrays by their names."""
        for name, values in sorted(arrays.items()):
            self.show(name, values.dtype.str, values.shape, np.ascontiguousarray(values))

    def hex(self) -> str:
        """Return the hash of all that was taken in."""
        return self._hash.hexdigest()
