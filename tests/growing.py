"""Choices of few rows: regions that grow early, and rows that carry little, so that much waits for its answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from onkel.choice import division, growth, stages, steps


@contextmanager
def growing_early(rows: int = 256, largest: int = 30, points: int = 10) -> Iterator[None]:
    """Divide from so many rows on, whatever the gain, with so many points of the root and of each other expert."""
    constants = {"ROWS": rows, "RIPE": rows, "PERIOD": rows // 4, "SOONEST": rows // 4}
    first = tuple(stage for stage in (4, 16, 64) if stage < rows)
    with (
        patch.multiple(growth, **constants, LARGEST=largest, LEFT=largest // 2, POINTS=points),
        patch.multiple(stages, KEPT=rows, AGAIN=min(rows, stages.AGAIN), LATEST=4 * rows, FIRST=(*first, rows)),
        patch.multiple(division, GAIN=-1.0),
    ):
        yield


@contextmanager
def carrying(work: float) -> Iterator[None]:
    """Let each row carry so much work, or that of two rows if this is more."""
    with patch.multiple(steps, WAIT=work, LEARNED_FROM=2):
        yield
