"""What rows sum to at a function of a span, and the solutions on it, in plain NumPy (docs/scale.md)."""

import numpy as np

from reference.newton import LARGE

CONSTANT = 0.3125


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))


def coordinates(points, X, gamma, constant=True):
    """z = L^-1 k(D, x) with K = L L', one row a row; the constant first."""
    L = np.linalg.cholesky(gaussian(points, points, gamma))
    Z = np.linalg.solve(L, gaussian(points, X, gamma)).T
    return np.hstack([np.full((len(X), 1), CONSTANT), Z]) if constant else Z


def sums(Z, y, weight, w, task):
    """Loss, slopes and information of rows at the functions w, one row per output."""
    F = Z @ w.T
    if task == "regression":
        slopes, curvature = F - y[:, None], np.ones(len(y))
        loss = 0.5 * slopes[:, 0] ** 2
    elif task == "binary":
        sign = 2 * y - 1
        p = 1 / (1 + np.exp(sign * F[:, 0]))  # of the other class
        loss, slopes, curvature = np.logaddexp(0, -sign * F[:, 0]), (-sign * p)[:, None], p * (1 - p)
    else:
        P = np.exp(F - F.max(axis=1, keepdims=True))
        P /= P.sum(axis=1, keepdims=True)
        own = np.arange(len(y)), y.astype(int)
        loss, slopes = -np.log(P[own]), P.copy()
        slopes[own] -= 1
        excess = np.maximum(1, np.abs(F).max(axis=1) / LARGE)
        curvature = (P * (1 - P)).sum(axis=1) / (P.shape[1] - 1) / excess**2
    H = (Z * (weight * curvature)[:, None]).T @ Z
    return weight @ loss, (slopes * weight[:, None]).T @ Z, H


def falkon(points, X, y, gamma, lam_of_a_row):
    """Rudi, Carratino and Rosasco (2017), equation 8: (K_nm' K_nm + lam n K_mm) a = K_nm' y."""
    Knm, Kmm = gaussian(X, points, gamma), gaussian(points, points, gamma)
    A = Knm.T @ Knm + lam_of_a_row * len(y) * Kmm
    return np.linalg.lstsq(A, Knm.T @ y, rcond=1e-15)[0]
