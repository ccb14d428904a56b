"""The loss by which relevances are found (native/search/relevances.hpp), straight from its definition."""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel.parts import RBF, Laplacian

CONSTANT = 0.3125
LEAST_LAM = 0.001


def validation_loss(
    X: Any, y: Any, weight: Any, at: Any, *, task: str, classes: int = 1, kernel: str = "rbf", max_points: int = 300
) -> float:
    """Return the loss on each half of the rows of what is fitted to the other.

    ``at`` holds the logarithms of the features' scales and of λ, which is at least `LEAST_LAM`; ``y`` is -1 or 1, a
    target, or a class.
    """
    scales, lam = np.exp(at[:-1]), max(LEAST_LAM, np.exp(at[-1]))
    n = len(X)
    m = min(max_points, n // 2)
    rows, points = X * scales, (X * scales)[[k * n // m for k in range(m)]]
    like = {"rbf": RBF, "laplacian": Laplacian}[kernel](1.0)
    phi = np.hstack([like.matrix(rows, points), np.full((n, 1), CONSTANT)])
    penalty = np.eye(m + 1)
    penalty[:m, :m] = like.matrix(points, points)
    targets = np.eye(classes)[np.asarray(y, int)] if task == "multiclass" else np.asarray(y, float)[:, None]
    total = 0.0
    for first in (0, 1):
        own, other = slice(first, None, 2), slice(1 - first, None, 2)
        a = np.zeros((m + 1, targets.shape[1]))
        for _ in range(60):
            if task == "binary":
                q = 1 / (1 + np.exp(targets[own] * (phi[own] @ a)))
                e, v = weight[own, None] * targets[own] * q, weight[own] * np.maximum(1e-6, q * (1 - q))[:, 0]
            else:
                e, v = weight[own, None] * (targets[own] - phi[own] @ a), weight[own]
            hessian = phi[own].T @ (v[:, None] * phi[own]) + lam * penalty
            a = a + np.linalg.solve(hessian, phi[own].T @ e - lam * penalty @ a)
        f = phi[other] @ a
        loss = np.logaddexp(0, -targets[other] * f) if task == "binary" else (targets[other] - f) ** 2 / 2
        total += float((weight[other, None] * loss).sum() / weight.sum())
    return total
