"""Speed of whole learners, as ratios within one process.

The clock of a shared machine wanders, so contestants take turns in short runs and the best run of each
counts. Before anything is timed, the learner in NumPy must have given the same scores. NumPy may compute
distances in two ways: from the differences, as onkel does, or by a matrix-vector product (|s|^2 + |x|^2 -
2 s x: BLAS does the work, at the speed of memory, and digits are lost where the mean is large).
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.utils.validation import validate_data

import onkel
from figures import Figure, best_seconds, main, state
from onkel import _core

WIDTHS = (8, 18, 54, 123, 300)
SIZE = 2000  # support vectors
GOALS = {"float32": 14.0, "float64": 13.0}  # over NumPy
REPEATS = 15
ETA, ALPHA, BETA = 0.1, 1.0, 1.0


class NumpySPA:
    """SPA one row at a time, as one writes it with NumPy."""

    def __init__(self, budget: int, width: int, gamma: float, dtype: str, *, product: bool) -> None:
        self.product = product
        self.points = np.zeros((budget, width), dtype)
        self.squares = np.zeros(budget, dtype)
        self.weights = np.zeros((2, budget))  # of the last function, and what the average subtracts
        self.gamma = np.dtype(dtype).type(gamma)
        self.size = self.t = 0

    def distances(self, x: np.ndarray) -> np.ndarray:
        points = self.points[: self.size]
        if self.product:
            return self.squares[: self.size] + x @ x - 2 * (points @ x)
        differences = points - x
        return np.einsum("ij,ij->i", differences, differences)

    def predict_then_learn(self, X: np.ndarray, y: np.ndarray, draws: np.ndarray) -> np.ndarray:
        scores = np.empty(len(X))
        for i, (x, label, draw) in enumerate(zip(X, 2.0 * y - 1.0, draws, strict=True)):
            n = self.size
            last, subtracted = self.weights[:, :n] @ np.exp(-self.gamma * self.distances(x))
            # The mean of f_1 .. f_t: a coefficient a that came at tick s is in t - s of them.
            scores[i] = (last * self.t - subtracted) / (self.t + 1)
            loss = max(0.0, 1.0 - label * last)
            p = min(1.0, min(ALPHA, loss) / BETA)
            if draw < p and n < len(self.points):
                coefficient = label * min(ETA / p, loss)
                self.points[n] = x
                self.squares[n] = x @ x
                self.weights[:, n] = coefficient, coefficient * self.t
                self.size += 1
            self.t += 1
        return scores


def stream(n_rows: int, width: int, dtype: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in the unit cube with labels by chance: nearly all have a loss, and the set fills soon."""
    random = np.random.default_rng(seed)
    return random.random((n_rows, width)).astype(dtype), random.integers(0, 2, n_rows)


def spa(size: int, width: int, n_jobs: int = 1) -> onkel.SPAClassifier:
    return onkel.SPAClassifier(
        eta=ETA, alpha=ALPHA, beta=BETA, gamma=1 / width, budget=size, random_state=0, n_jobs=n_jobs
    )


def full_spa(size: int, width: int, dtype: str, n_jobs: int = 1) -> onkel.SPAClassifier:
    """Return SPA with its budget used up."""
    model = spa(size, width, n_jobs)
    model.partial_fit(*stream(2 * size, width, dtype, seed=0), classes=[0, 1])
    if model.n_support_ != size:
        raise RuntimeError(f"the set holds {model.n_support_} of {size} support vectors")
    return model


def against_numpy(size: int, width: int, dtype: str) -> list[float]:
    """Return the rows/s of onkel and of NumPy, by differences and by products."""
    X, y = stream(2 * size, width, dtype, seed=0)
    draws = np.array([_core.uniform(0, 0, t, 0) for t in range(1, 2 * size + 1)])
    ours = spa(size, width).predict_then_learn(X, y, classes=[0, 1])
    peers = [NumpySPA(size, width, 1 / width, dtype, product=product) for product in (False, True)]
    for peer in peers:
        # Labels by chance are chaos in the long run: the rounding of the first rows decides who joins later.
        difference = np.abs(peer.predict_then_learn(X, y, draws) - ours)[:100].max()
        if difference > (1e-4 if dtype == "float32" else 1e-9) or peer.size != size:
            raise RuntimeError(f"the learner in NumPy is another one: its first scores differ by {difference:g}")

    model = full_spa(size, width, dtype)
    X, y = stream(4800, width, dtype, seed=1)
    # Short runs where a row is expensive: a long one meets more of what else the machine does.
    many = slice(0, 4800 if width <= 54 else 1920)
    few = slice(0, 48)
    seconds = best_seconds(
        [
            lambda: model.predict_then_learn(X[many], y[many]),
            *(lambda peer=peer: peer.predict_then_learn(X[few], y[few], draws[few]) for peer in peers),
        ],
        REPEATS,
        time.thread_time,
    )
    return [rows / best for rows, best in zip((many.stop, few.stop, few.stop), seconds, strict=True)]


def over_numpy() -> Iterator[Figure]:
    for dtype, goal in GOALS.items():
        for width in WIDTHS:
            ours, differences, products = against_numpy(SIZE, width, dtype)
            name = f"SPA, {SIZE} points, {width} features, {dtype}: rows/s"
            yield state(name, ours / differences, "x", "NumPy by differences", goal)
            yield state(name, ours / products, "x", "NumPy by products", goal)


def blocks_and_threads() -> Iterator[Figure]:
    """The same bits, computed otherwise."""
    for dtype in GOALS:
        width = 123
        one, two = full_spa(SIZE, width, dtype), full_spa(SIZE, width, dtype, n_jobs=2)
        X, y = stream(960, width, dtype, seed=1)
        targets = y.astype(np.float64)
        row, block, alone, pair = best_seconds(
            [
                lambda m=one._learner, X=X, y=targets: m.learn_rows(X, y, block_rows=1),
                lambda m=one._learner, X=X, y=targets: m.learn_rows(X, y),
                lambda m=one, X=X, y=y: m.partial_fit(X, y),
                lambda m=two, X=X, y=y: m.partial_fit(X, y),
            ],
            REPEATS,
        )
        name = f"SPA, {SIZE} points, {width} features, {dtype}: "
        yield state(name + "blocks of 48 rows", row / block, "x", "row by row")
        yield state(name + "two threads", alone / pair, "x", "one thread", 0.95)


def one_row() -> Iterator[Figure]:
    size, width, calls = 200, 10, 200
    learner = onkel.Learner(onkel.recipes.SPA(eta=ETA), gamma=1 / width, budget=size)
    X, y = stream(2 * size, width, "float64", seed=0)
    learner.learn_rows(X, y.astype(np.float64))
    model = full_spa(size, width, "float64")
    row, label, rows, labels = X[0], float(y[0]), X[:1], y[:1]

    def repeated(call: Callable[[], object]) -> Callable[[], None]:
        def run() -> None:
            for _ in range(calls):
                call()

        return run

    learn, partial_fit, validate = best_seconds(
        [
            repeated(lambda: learner.learn(row, label)),
            repeated(lambda: model.partial_fit(rows, labels)),
            repeated(lambda: validate_data(model, rows, reset=False, dtype="float64", order="C")),
        ],
        REPEATS,
        time.thread_time,
    )
    yield state(f"Learner.learn of one row, {size} points", 1e6 * learn / calls, "µs", goal=5.0, at_most=True)
    yield state(
        f"partial_fit of one row, {size} points", partial_fit / validate, "x", "scikit-learn's validation", 1.5, True
    )


def long_run() -> Iterator[Figure]:
    """Rows a second early and late, and memory: neither may depend on how many rows there were."""
    size, width, chunk, n_chunks = 500, 18, 50_000, 20
    model = full_spa(size, width, "float32")
    rates, peaks = [], []
    for seed in range(n_chunks):
        X, y = stream(chunk, width, "float32", seed)
        start = time.perf_counter()
        model.partial_fit(X, y)
        rates.append(chunk / (time.perf_counter() - start))
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    name = f"SPA, {size} points, a million rows: "
    yield state(name + "rows/s in the last quarter", max(rates[-5:]) / max(rates[1:6]), "x", "the first quarter", 0.9)
    yield state(name + "growth of the process", peaks[-1] - peaks[0], "MB", goal=20.0, at_most=True)


def figures() -> Iterator[Figure]:
    yield from over_numpy()
    yield from blocks_and_threads()
    yield from one_row()
    yield from long_run()


if __name__ == "__main__":
    main(figures)
