"""Whole cases: what must not matter does not, by the byte (tests/cases).

ONKEL_SOAK_CASES is how many are run, and ONKEL_SOAK_FROM the number of the first (`make soak`).
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from cases.drawing import case_of
from cases.program import Piece, text_of
from cases.verdict import failure_of, smaller

NUMBER = int(os.environ.get("ONKEL_SOAK_CASES", 320))
FIRST = int(os.environ.get("ONKEL_SOAK_FROM", 0))
GROUPS = 8  # which may run at the same time


@pytest.mark.parametrize("group", range(GROUPS))
def test_cases_hold(group):
    for seed in range(FIRST + group, FIRST + NUMBER, GROUPS):
        if failure := failure_of(case_of(seed)):
            case = smaller(case_of(seed))
            again = failure_of(case) or failure
            pytest.fail(f"case {seed}: {again}\n\n{text_of(case)}\nprint(plain() == disturbed())", pytrace=False)


def test_a_case_that_fails_is_seen_and_made_smaller():
    case = next(
        case for case in map(case_of, range(100)) if len(case.pieces) > 5 and not case.change and not failure_of(case)
    )
    pieces = list(case.pieces)
    pieces[2] = replace(pieces[2], move="new()")  # what it has learned is lost
    case = replace(case, pieces=tuple(pieces))
    assert failure_of(case)
    small = smaller(case)
    assert failure_of(small)
    assert small.rows < case.rows and small.n_jobs is None and not small.exports
    assert [piece.move for piece in small.pieces if piece != Piece(piece.end)] == ["new()"]


def test_a_case_is_a_function_of_its_number():
    assert [text_of(case_of(seed)) for seed in range(20)] == [text_of(case_of(seed)) for seed in range(20)]
