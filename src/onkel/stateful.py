"""What has state as named arrays: one fingerprint and one way to be pickled for all of it."""

from __future__ import annotations

import hashlib
from typing import Any

from numpy.typing import NDArray


class Stateful:
    """Something whose state is a dictionary of named arrays."""

    def state(self) -> dict[str, NDArray[Any]]:
        """Return everything learned so far as named arrays."""
        raise NotImplementedError

    def fingerprint(self) -> str:
        """Return a hash of the state: equal exactly when every bit of it is."""
        digest = hashlib.sha256()
        for name, values in sorted(self.state().items()):
            digest.update(f"{name} {values.dtype.str} {values.shape};".encode())
            digest.update(values.tobytes())
        return digest.hexdigest()
