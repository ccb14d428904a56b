"""The stages at which something is chosen, counted from the start of a stream or from its last change."""

from __future__ import annotations

FIRST = (4, 16, 64, 256, 1024, 4096)  # rows; from then on whenever their number has doubled
COMPETE = 64  # rows after which kernels are searched for, and learners compete
AGAIN = 256  # rows after a change before the next choice
LATEST = 1024  # rows on which learners compete in later choices, and after which a loss is watched
KEPT = 4096  # rows
MOST_NUMBERS = 2**20  # the largest size of dense rows kept after the first choices; at least `AGAIN` rows are kept
LONGEST_TRIAL = 1024  # rows


def next_stage(rows: int, least: int = 0) -> int:
    """Return the first stage after this number of rows that is not before ``least``."""
    stage = next((stage for stage in FIRST if stage > rows and stage >= least), 2 * FIRST[-1])
    while stage <= rows:
        stage *= 2
    return stage


def looked_at(n_features: int, sparse: bool) -> int:
    """Return the number of rows that a choice ahead of a fit looks at."""
    return KEPT if sparse else max(AGAIN, min(KEPT, 4 * MOST_NUMBERS // max(1, n_features)))


def kept(n_features: int, sparse: bool) -> int:
    """Return the number of rows kept after the first choices."""
    return KEPT if sparse else max(AGAIN, min(KEPT, MOST_NUMBERS // n_features))
