"""A case as a short program, which is both what is run and what is printed of a case that fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Piece:
    """Rows that are learned in one call, and what happens to the model meanwhile and afterwards."""

    end: int
    interruption: str = ""  # a context in which they are learned, from which learning goes on
    move: str = ""  # what the model is replaced by


@dataclass(frozen=True)
class Case:
    """One model, its rows, and all that must not matter."""

    seed: int
    data: str  # statements that make X, y, w and `told`, what calls are told beside them
    model: str  # an expression, which takes more parameters as **also
    rows: int  # so many of them are learned
    pieces: tuple[Piece, ...]
    n_jobs: int | None = None
    change: str = ""  # what is done with the model between its rows, both ways
    change_at: int = 0  # before this row
    exports: bool = False  # whether all that can be exported is compared, too
    is_saved: bool = True  # whether the model can be a file
    grows: bool = False  # whether regions grow of few rows
    carried: float = 0.0  # the work of a choice that each row carries, if not the usual one

    @property
    def is_interrupted(self) -> bool:
        return any(piece.interruption for piece in self.pieces)


_HEAD = """\
import contextlib, copy, datetime, os, pickle, tempfile
import numpy as np, pandas as pd
from scipy.sparse import csr_array
import onkel
from onkel.parts import *
from growing import carrying, growing_early
from interrupting import interrupted_at, interrupted_at_check

file = os.path.join(tempfile.mkdtemp(), "model.onkel")
"""

_LEARN = """\

def new(**also):
    return {model}

def part(values, begin, end):
    if isinstance(values, dict):
        return {{name: column[begin:end] for name, column in values.items()}}
    return values.iloc[begin:end] if hasattr(values, "iloc") else values[begin:end]

def learn(model, begin, end):
    if begin < end:
        options = told | ({{}} if w is None else {{"sample_weight": w[begin:end]}})
        made = model.predict_then_learn(part(X, begin, end), part(y, begin, end), **options)
        scores[begin:end, : made.size // (end - begin)] = made.reshape(end - begin, -1)

weights = np.ones(len(y)) if w is None else w

def learned(model, begin):  # the first row from there on that was not learned; those without weight do not count
    counted, rows = np.flatnonzero(weights), getattr(model, "t_", 0) - started
    return max(begin, int(counted[rows]) if rows < len(counted) else len(y))

def saved(model):
    onkel.save(model, file)
    return onkel.load(file)

def without_threads(model):  # the number of threads, which is a parameter, and saved
    model.n_jobs = None
    for each in ("estimator", "estimator_"):
        if hasattr(model, each):
            without_threads(getattr(model, each))

def said(model):
    without_threads(model)
    with open(saved_as(model), "rb") as content:
        found = {{"model": content.read()}}
    for method in ("predict", "decision_function", "predict_proba"):
        if hasattr(model, method):
            found[method] = getattr(model, method)(part(X, 0, 50)).tobytes()
    for method, options in (("predict", {{"return_std": True}}), ("predict_interval", {{}}), ("predict_set", {{}})):
        with contextlib.suppress(AttributeError, TypeError, ValueError):  # what not every model has
            found[f"{{method}} {{options}}"] = np.array(getattr(model, method)(part(X, 0, 50), **options)).tobytes()
"""

_SAVED = """
def saved_as(model):
    onkel.save(model, file)
    return file
"""

_NOT_SAVED = """
def saved_as(model):  # a model with a callback is no file
    with open(file, "w") as content:
        content.write(model._fingerprint())
    return file
"""

_EXPORTS = """\
    for export in (onkel.export.to_json, onkel.export.to_c, onkel.export.to_libsvm, onkel.export.to_onnx):
        try:
            made = export(model)
            found[export.__name__] = made if isinstance(made, str) else made.SerializeToString()
        except ValueError as refusal:
            found[export.__name__] = str(refusal)
"""


def text_of(case: Case) -> str:
    """The program, whose functions `plain` and `disturbed` learn the rows and return what they are left with."""
    said = _LEARN.format(model=case.model) + (_EXPORTS if case.exports else "") + "    return found\n"
    return "\n".join(
        [
            _HEAD + case.data,
            (_SAVED if case.is_saved else _NOT_SAVED) + said,
            *_function("plain", case, _steps(case, disturbed=False)),
            *_function("disturbed", case, _steps(case, disturbed=True)),
        ]
    )


def _function(name: str, case: Case, steps: list[str]) -> list[str]:
    around = ["@growing_early(rows=64, largest=15, points=6)"] if case.grows else []
    around += [f"@carrying({case.carried})"] if case.carried else []
    return [*around, f"def {name}():", *(f"    {step}" for step in steps), ""]


def _steps(case: Case, disturbed: bool) -> list[str]:
    """The statements that learn all rows, with what is done in between."""
    also = f"n_jobs={case.n_jobs}" if disturbed and case.n_jobs else ""
    steps = ["global scores, started", "scores, started = np.zeros((len(y), 10)), 0", f"model = new({also})"]
    begin = 0
    pieces = case.pieces if disturbed else (Piece(case.rows),)
    for piece in _cut_at(pieces, case.change_at if case.change else 0):
        if case.change and begin == case.change_at:
            steps += [f"model = {case.change}", f"started = model.t_ - np.count_nonzero(weights[:{begin}])"]
        if piece.interruption:  # the call that goes on has a row at least: it makes the choice that was due before
            steps += [
                f"with contextlib.suppress(KeyboardInterrupt, RuntimeError), {piece.interruption}:",
                f"    learn(model, {begin}, {piece.end - 1})",
                f"learn(model, learned(model, {begin}), {piece.end})",
            ]
        else:
            steps.append(f"learn(model, {begin}, {piece.end})")
        if piece.move:
            steps.append(f"model = {piece.move}")
        begin = piece.end
    if case.is_interrupted:
        return [*steps, "return said(model)"]
    return [*steps, 'return said(model) | {"scores": scores.tobytes()}']


def _cut_at(pieces: tuple[Piece, ...], row: int) -> list[Piece]:
    """The pieces with one more cut, at a row."""
    begin, found = 0, []
    for piece in pieces:
        if begin < row < piece.end:
            found.append(Piece(row))
        found.append(piece)
        begin = piece.end
    return found
