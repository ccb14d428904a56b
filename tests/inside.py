"""What parts of the core compute inside: functions that no package ships (tests/native/inside.cpp)."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_double, c_size_t
from functools import cache

import pytest

from native_build import built, missing_programs

NEEDS_COMPILER = pytest.mark.skipif(bool(missing_programs()), reason=f"needs {' and '.join(missing_programs())}")


@cache
def _library():
    (path,) = built("onkel_inside").glob("*onkel_inside.*")
    library = ctypes.CDLL(str(path))
    numbers = POINTER(c_double)
    for name, arguments in {
        "onkel_forgetron_factor": [c_double] * 3,
        "onkel_water_level": [numbers, c_size_t],
        "onkel_best_merge": [*[c_double] * 4, numbers],
        "onkel_evaluate_admission": [
            *(c_char_p, POINTER(c_char_p), numbers, c_size_t, c_char_p, c_char_p, numbers, c_size_t, c_double, numbers)
        ],
    }.items():
        getattr(library, name).argtypes, getattr(library, name).restype = arguments, c_double
    return library


def _numbers(values):
    return (c_double * len(values))(*values)


def forgetron_factor(a, b, c):
    """The factor that the Forgetron shrinks by."""
    return _library().onkel_forgetron_factor(a, b, c)


def water_level(weights):
    """BOGD++'s level: points leave with p = max(0, 1 - weight / level)."""
    return _library().onkel_water_level(_numbers(weights), len(weights))


def best_merge(L, A, B, C):
    """The place of a merged point and what merging loses."""
    h = c_double()
    loss = _library().onkel_best_merge(L, A, B, C, ctypes.byref(h))
    return h.value, loss


def evaluate_admission(admission, loss, task, scores, y):
    """A row's probability to join, and the gradient that its step would follow."""
    name, values, _ = admission.spec
    keys = (c_char_p * len(values))(*(key.encode() for key in values))
    gradient = _numbers([0.0] * len(scores))
    p = _library().onkel_evaluate_admission(
        name.encode(),
        keys,
        _numbers(list(values.values())),
        len(values),
        loss.encode(),
        task.encode(),
        _numbers(scores),
        len(scores),
        y,
        gradient,
    )
    return p, list(gradient)
