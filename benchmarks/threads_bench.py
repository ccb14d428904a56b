"""What a second thread gains (``n_jobs=2``), in time by the clock: it says nothing on a machine with other work."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

import onkel
from figures import Figure, main, state
from onkel.parts import RBF

REPEATS, FEATURES, GOAL = 5, 20, 1.6


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n) > 0


def gain(make: Callable[[int], Callable[[], object]]) -> float:
    """One thread's best time over that of two; `make(n_jobs)` returns what is timed."""
    best = {1: np.inf, 2: np.inf}
    for _ in range(REPEATS):
        for n_jobs in best:
            work = make(n_jobs)
            start = time.perf_counter()
            work()
            best[n_jobs] = min(best[n_jobs], time.perf_counter() - start)
    return best[1] / best[2]


def newton(n_jobs: int, **given) -> onkel.NewtonClassifier:
    given = {"gamma": 0.05, "lam": 0.1, "relevances": None, "forget": 1.0, **given}
    return onkel.NewtonClassifier(random_state=0, n_jobs=n_jobs, **given)


def learning(model: Callable[[int], object]) -> Callable[[int], Callable[[], object]]:
    """Times 4,000 rows at a time, on a model that has learned from 12,000 others."""
    X, y = rows(12_000 + 4_000 * REPEATS)
    models = {n_jobs: model(n_jobs) for n_jobs in (1, 2)}
    left = {n_jobs: iter(range(12_000, len(y), 4_000)) for n_jobs in models}
    for each in models.values():
        each.partial_fit(X[:12_000], y[:12_000], classes=[False, True])

    def make(n_jobs: int) -> Callable[[], object]:
        begin = next(left[n_jobs])
        return lambda: models[n_jobs].partial_fit(X[begin : begin + 4_000], y[begin : begin + 4_000])

    return make


def figures() -> Iterator[Figure]:
    for budget in (800, 1500):
        value = gain(learning(lambda n_jobs, budget=budget: newton(n_jobs, budget=budget)))
        yield state(f"two threads, Newton learning, B = {budget}", value, "x", "one thread", GOAL)

    kernels = [RBF(0.02), RBF(0.05)]
    value = gain(
        learning(
            lambda n_jobs: onkel.MultiKernelClassifier(
                recipe=onkel.recipes.Newton(lam=0.1, forget=1.0),
                kernels=kernels,
                combination="deterministic",
                budget=1600,  # which they divide
                n_jobs=n_jobs,
            )
        )
    )
    yield state("two threads, two kernels, B = 800 each", value, "x", "one thread", GOAL)

    X, y = rows(100_000)
    model = newton(1, budget=800).fit(X[:20_000], y[:20_000])

    def predicting(n_jobs: int) -> Callable[[], object]:
        model.set_params(n_jobs=n_jobs)
        return lambda: model.predict(X)

    yield state("two threads, predicting 100,000 rows, B = 800", gain(predicting), "x", "one thread", GOAL)

    X, y = X[:4_000], y[:4_000]
    value = gain(lambda n_jobs: lambda: newton(n_jobs, gamma="stream", lam="stream").fit(X, y))
    yield state("two threads, choosing and learning, 4,000 rows", value, "x", "one thread", GOAL)


if __name__ == "__main__":
    main(figures)
