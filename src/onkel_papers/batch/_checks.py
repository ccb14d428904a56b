"""Refusals of parameters, in one sentence each: what is wrong, and what was expected."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np

_INTEGER = (int, np.integer)
_REAL = (*_INTEGER, float, np.floating)


def check_number(name: str, value: Any, *, above: float = -math.inf, at_least: float = -math.inf) -> None:
    """Refuse a parameter that is not a finite number greater than `above` and at least `at_least`."""
    number = isinstance(value, _REAL) and not isinstance(value, bool) and math.isfinite(value)
    if not (number and value > above and value >= at_least):
        limit = f"greater than {above:g}" if at_least == -math.inf else f"of at least {at_least:g}"
        raise ValueError(f"{name} must be a number {limit}, got {value!r}")


def check_count(name: str, value: Any) -> None:
    """Refuse a parameter that is not a positive integer."""
    if not isinstance(value, _INTEGER) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, got {value!r}")


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Refuse a parameter that is not one of its choices."""
    if not (isinstance(value, str) and value in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
