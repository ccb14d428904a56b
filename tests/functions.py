"""Functions as values, made of plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel.function import Coefficients, Expansion, Term
from onkel.parts import Kernel


def function_of(kernel: Kernel, points: Any, births: Any, coefficients: Any, constants: Any, t: int) -> Expansion:
    """The function ``sum_i coefficients[:, i] k(points[i], .) + constants``, as last function and as average."""
    both = Coefficients(np.asarray(coefficients, float), np.asarray(constants, float), np.empty((len(constants), 0)))
    births = np.asarray(births, np.int64)
    ones, ghosts = np.ones(points.shape[1]), np.zeros(len(births), bool)
    return Expansion((Term(kernel, ones, points, births, ghosts, both, both),), t)
