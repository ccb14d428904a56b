"""The columns of the screen (onkel/choice/screen.py), by NumPy's own decompositions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata


def effects(rows: Any, groups: Any) -> tuple[Any, Any]:
    """Return orthonormal columns of each feature or category, and the group of each."""
    n, columns, owners = len(rows), [], []
    for group in np.unique(groups):
        own = np.flatnonzero(groups == group)
        u = (rankdata(rows[:, own], axis=0) - 0.5) / n
        if len(own) == 1:
            several = min(4, len(np.unique(rows[:, own])) - 1)
            u = np.cos(np.pi * u * np.arange(1, several + 1))
        else:
            u = np.cos(np.pi * u)
        u = u - u.mean(axis=0)
        q, r = np.linalg.qr(u)
        there = abs(np.diag(r)) > 1e-6 * np.linalg.norm(u, axis=0) if u.shape[1] else np.zeros(0, bool)
        columns.append((q * np.sign(np.diag(r)))[:, there] * np.sqrt(n))
        owners += [group] * int(there.sum())
    return np.hstack(columns), np.array(owners)
