"""Ten million rows through Newton: rows a second in windows of 100,000 rows, and memory, neither of which may change.

``ROWS=1000000`` makes it shorter. Rows have 20 features, the budget is 1,000, and nothing is
forgotten (``forget=1, relevances=None``). The clock of a shared machine wanders:
windows are timed as time of the process, and after each the peak, which tells the clock's wandering from the learner's.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Iterator

import numpy as np

import onkel
from figures import Figure, main, peak, state

ROWS = int(os.environ.get("ROWS", "10000000"))
WINDOW, FEATURES, BUDGET = 100_000, 20, 1_000


def window(number: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(number)
    X = rng.normal(size=(WINDOW, FEATURES)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=WINDOW) > 0


def figures() -> Iterator[Figure]:
    model = onkel.NewtonClassifier(budget=BUDGET, forget=1.0, relevances=None, random_state=0)
    rates, peaks, memory = [], [], []
    for number in range(ROWS // WINDOW):
        X, y = window(number)
        start = time.process_time()
        model.partial_fit(X, y, classes=[False, True])
        rates.append(WINDOW / (time.process_time() - start))
        peaks.append(peak())
        memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        print(f"{(number + 1) * WINDOW:>10,} rows: {rates[-1]:,.0f} rows/s", file=sys.stderr, flush=True)
    rest = np.array(rates[1:]) / np.array(peaks[1:])
    name = f"Newton, B = {BUDGET}, {FEATURES} features, {ROWS:,} rows: "
    yield state(name + "rows/s", float(np.median(rates[1:])), "rows/s")
    yield state(name + "slowest window of the processor's peak", rest.min() / rest.max(), "x", "fastest", 0.9)
    yield state(name + "growth of the process after the first window", memory[-1] - memory[0], "MB", "", 20, True)


if __name__ == "__main__":
    main(figures)
