"""Platt's sigmoids one row at a time, each step minimised by SciPy: the formulas of onkel/_sigmoids.py, solved anew."""

from functools import partial

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit


def _excess(after, z, length, target):
    return after - z - length * (target - expit(after))


def sigmoid(scores, own, forget):
    """Return the probabilities before each row, and the numbers (a, b) at the end."""
    theta, H, n_own, n_others = np.zeros(2), np.diag([0.0, 1.0]), 0, 0
    made = []
    for f, is_own in zip(scores, own, strict=True):
        x = np.array([f, 1.0])
        made.append(expit(theta @ x))
        n_own, n_others = n_own + is_own, n_others + (not is_own)
        target = (n_own + 1) / (n_own + 2) if is_own else 1 / (n_others + 2)
        started = H[0, 0] > 0
        rho = min(forget, 1 - 2 / (n_own + n_others + 4))
        H = rho * H + np.diag([(1 - rho if started else 1.0) * f**2, 1 - rho])
        way = np.linalg.pinv(H, hermitian=True) @ x
        z, length = theta @ x, x @ way
        excess = partial(_excess, z=z, length=length, target=target)
        after = brentq(excess, z - length - 1, z + length + 1, xtol=1e-14)
        theta = theta + way * (target - expit(after))
        H = H + expit(after) * expit(-after) * np.outer(x, x)
    return np.array(made), theta
