"""What evictions cost: kernel values a second of learners that evict, beside one that inserts and then stops.

On the SPA paper's data at its settings, float32, CPU time; each run comes between two of the learner that inserts, and
the figure is the median of the ratios, since the speed of a shared machine wanders from run to run. Merging is compared
with removal, also where points lie far apart (rows of a gaussian in ten dimensions), and POLK in mini-batches with what
its multiply-adds would take.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import onkel
from data import load
from figures import Figure, best_seconds, main, state
from papers_bench import BUDGETED, SHARED, best_runs, kernel_values


def seconds_of(make: Callable[[], object], X, y) -> float:
    model = make()
    start = time.thread_time()
    model.predict_then_learn(X, y, classes=[-1, 1])
    return time.thread_time() - start


def against_inserting(runs: int = 7) -> Iterator[Figure]:
    for name, budget in [("a9a", 1350), ("cod-rna", 822), ("ijcnn1", 500), ("ijcnn1", 1000)]:
        X, y = load(name)
        rows = X if name == "a9a" else X.toarray()
        inserting = partial(onkel.OGDClassifier, eta=0.1, budget=budget, **SHARED)
        values = kernel_values(inserting, rows, y)
        for learner, make in BUDGETED.items():
            evicting = partial(make, budget)
            times = [seconds_of(inserting, rows, y)]
            for _ in range(runs):
                times += [seconds_of(evicting, rows, y), seconds_of(inserting, rows, y)]
            alone, own = np.array(times[::2]), np.array(times[1::2])
            slower = np.median(own / ((alone[:-1] + alone[1:]) / 2))
            what = f"{learner} on {name}, B = {budget}: kernel values/s"
            share = kernel_values(evicting, rows, y) / values
            yield state(what, share / slower, "x", "OGD, which inserts only", 0.75)


def far_apart() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15_000, 10)).astype(np.float32)
    return X, np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, 1, -1)


def merging() -> Iterator[Figure]:
    X, y = load("ijcnn1")
    for name, rows, labels in (("ijcnn1", X.toarray(), y), ("gaussian rows in ten dimensions", *far_apart())):
        makes = {
            rule: partial(onkel.BSGDClassifier, lam=1e-4, maintenance=rule, budget=500, **SHARED)
            for rule in ("remove", "merge")
        }
        found = best_runs(makes, rows, labels)
        what = f"BSGD with merging on {name}, B = 500: time"
        yield state(what, found["merge"][0] / found["remove"][0], "x", "removal", 3, at_most=True)


def mini_batches(size: int = 2000, batch: int = 32) -> Iterator[Figure]:
    """POLK with as many points coming as leaving: M^2 multiply-adds to project each, M^2 / 2 for each change of the
    inverse."""
    rng = np.random.default_rng(0)
    n = size + 40 * batch
    X = rng.normal(size=(n, 10))
    y = rng.integers(0, 2, n).astype(float)
    recipe = onkel.recipes.POLK(eta=0.5, lam=1e-4, eps=1e-9, batch_size=batch)
    learner = onkel.Learner(recipe, gamma=0.1, budget=size)
    start = size // batch * batch + 8 * batch
    learner.learn_rows(X[:start], y[:start])
    per_row = np.inf
    for first in range(start, n - 8 * batch + 1, 8 * batch):
        rows = slice(first, first + 8 * batch)
        began = time.thread_time()
        learner.learn_rows(X[rows], y[rows])
        per_row = min(per_row, (time.thread_time() - began) / (8 * batch))
    multiply_adds = 192 * 20_000
    peak = best_seconds([lambda: onkel._core.fma_peak(multiply_adds, "float64")])[0] / multiply_adds
    what = f"POLK in mini-batches of {batch}, {learner.n_support} points: time of a row"
    yield state(
        what, per_row / (2 * learner.n_support**2 * peak), "x", "its multiply-adds at the peak", 4, at_most=True
    )


def figures() -> Iterator[Figure]:
    yield from against_inserting()
    yield from merging()
    yield from mini_batches()


if __name__ == "__main__":
    main(figures)
