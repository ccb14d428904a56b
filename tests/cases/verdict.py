"""Runs a case both ways, compares what is left, and makes a case that fails smaller."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cases.program import Case, Piece, text_of


def failure_of(case: Case) -> str | None:
    """What is wrong with a case; None for one that holds."""
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        exec(compile(text_of(case), f"case {case.seed}", "exec"), namespace)
        found = [_outcome(namespace[way]) for way in ("plain", "disturbed")]
    for each in found:
        if isinstance(each, str) and not each.startswith("ValueError"):
            return each
    one, other = found
    if isinstance(one, str) or isinstance(other, str):
        return None if _sentence(one) == _sentence(other) else f"plain: {_said(one)}\ndisturbed: {_said(other)}"
    differ = [name for name in one.keys() | other.keys() if one.get(name) != other.get(name)]
    return f"these differ: {', '.join(sorted(differ))}" if differ else None


def _outcome(way: Any) -> dict[str, Any] | str:
    try:
        return way()
    except (ValueError, FloatingPointError) as error:  # a learner that diverges is refused as well
        return f"ValueError: {error}"
    except Exception:
        return traceback.format_exc()


def _sentence(outcome: dict[str, Any] | str) -> str | None:
    """A refusal without the numbers of rows, which are those of a call."""
    return re.sub(r"\brow \d+", "row", outcome) if isinstance(outcome, str) else None


def _said(outcome: dict[str, Any] | str) -> str:
    return outcome if isinstance(outcome, str) else "learned"


def smaller(case: Case, most: int = 60) -> Case:
    """A case that fails as well, with fewer disturbances, calls and rows."""
    tried = 0
    while True:
        for candidate in _smaller_ones(case):
            if candidate == case:
                continue
            tried += 1
            if tried > most:
                return case
            if failure_of(candidate) is not None:
                case = candidate
                break
        else:
            return case


def _smaller_ones(case: Case) -> Iterator[Case]:
    """The case with one thing less, the largest first."""
    pieces = case.pieces
    yield replace(case, exports=False)
    yield replace(case, carried=0.0)
    yield replace(case, n_jobs=None)
    yield replace(case, change="", change_at=0)
    yield replace(case, pieces=tuple(replace(piece, interruption="") for piece in pieces))
    yield replace(case, pieces=tuple(replace(piece, move="") for piece in pieces))
    for rows in (case.rows // 2, case.rows * 3 // 4, case.rows - case.rows // 10, case.rows - 1):
        if case.change_at < rows < case.rows:
            ends = [min(piece.end, rows) for piece in pieces]
            kept = [i for i, end in enumerate(ends) if end > (ends[i - 1] if i else 0)]
            yield replace(case, rows=rows, pieces=tuple(replace(pieces[i], end=ends[i]) for i in kept))
    for few in (pieces[-1:], pieces[len(pieces) // 2 :], (*pieces[: len(pieces) // 2], pieces[-1]), pieces[1::2]):
        if few and few[-1].end == case.rows:
            yield replace(case, pieces=few)
    for i in range(len(pieces) - 1):  # without the cut behind this piece
        yield replace(
            case, pieces=(*pieces[:i], replace(pieces[i + 1], interruption=pieces[i].interruption), *pieces[i + 2 :])
        )
    for i, piece in enumerate(pieces):
        bare = Piece(piece.end)
        yield replace(case, pieces=(*pieces[:i], bare, *pieces[i + 1 :]))
