"""Ten million rows through Newton: rows a second in windows of 100,000 rows, and memory, neither of which may change.

``ROWS=1000000`` makes it shorter. Rows have 20 features, the budget is 1,000, and nothing is forgotten
(``forget=1, relevances=None``). The clock of a shared machine wanders, and other work takes its share of the caches: a
window is timed as processor time of the learning thread, in ten parts, and after each part the multiply-add peak is
measured, so that a window's speed is beside the peak of the same moments. What wanders with the caches and not with
the clock stays in the figure. Memory is that of the process at the end of each window; the rows are always written to
the same array, so that none of it is theirs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator

import numpy as np

import onkel
from figures import Figure, main, peak, state

ROWS = int(os.environ.get("ROWS", "10000000"))
WINDOW, PARTS, FEATURES, BUDGET = 100_000, 10, 20, 1_000


def fill(X: np.ndarray, number: int) -> np.ndarray:
    """Writes the rows of a window, and returns their labels."""
    rng = np.random.default_rng(number)
    rng.standard_normal(out=X, dtype=np.float32)
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=WINDOW) > 0


def resident() -> float:
    """The memory of the process, in MB."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def figures() -> Iterator[Figure]:
    model = onkel.NewtonClassifier(budget=BUDGET, forget=1.0, relevances=None, random_state=0)
    X = np.empty((WINDOW, FEATURES), np.float32)
    rates, relative, memory = [], [], []
    for number in range(ROWS // WINDOW):
        y = fill(X, number)
        seconds, of_peak = 0.0, 0.0
        for part in np.split(np.arange(WINDOW), PARTS):
            start = time.thread_time()
            model.partial_fit(X[part[0] : part[-1] + 1], y[part], classes=[False, True])
            spent = time.thread_time() - start
            seconds += spent
            of_peak += spent * peak()
        rates.append(WINDOW / seconds)
        relative.append(WINDOW / of_peak)
        memory.append(resident())
        print(
            f"{(number + 1) * WINDOW:>10,} rows: {rates[-1]:,.0f} rows/s, {relative[-1]:,.1f} per 1e9"
            f" multiply-adds of the peak, {memory[-1]:.1f} MB",
            file=sys.stderr,
            flush=True,
        )
    rest = np.array(relative[1:])
    name = f"Newton, B = {BUDGET}, {FEATURES} features, {ROWS:,} rows: "
    yield state(name + "rows/s", float(np.median(rates[1:])), "rows/s")
    yield state(name + "slowest window of the processor's peak", rest.min() / rest.max(), "x", "fastest", 0.9)
    yield state(name + "growth of the process after the first window", memory[-1] - memory[0], "MB", "", 20, True)


if __name__ == "__main__":
    main(figures)
