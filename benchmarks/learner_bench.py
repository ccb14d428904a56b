"""Speed of whole learners, as ratios within one process.

The clock of a shared machine wanders, so contestants take turns in short runs and the best run of each
counts. Before anything is timed, the learner in NumPy must have given the same scores. NumPy may compute
distances in two ways: from the differences, as onkel does, or by a matrix-vector product (|s|^2 + |x|^2 -
2 s x: BLAS does the work, at the speed of memory, and digits are lost where the mean is large).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from sklearn.utils.validation import validate_data
from threadpoolctl import threadpool_limits

import onkel
from onkel import _core

WIDTHS = (8, 18, 54, 123, 300)
SIZES = (822, 2000)  # support vectors
GOALS = {"float32": 14.0, "float64": 13.0}  # over NumPy
REPEATS = 25
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


def best_seconds(*contestants: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Return the best time of each, taken in turns."""
    best = [np.inf] * len(contestants)
    for _ in range(repeats):
        for c, run in enumerate(contestants):
            start = time.perf_counter()
            run()
            best[c] = min(best[c], time.perf_counter() - start)
    return best


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
        lambda: model.predict_then_learn(X[many], y[many]),
        *(lambda peer=peer: peer.predict_then_learn(X[few], y[few], draws[few]) for peer in peers),
    )
    return [rows / best for rows, best in zip((many.stop, few.stop, few.stop), seconds, strict=True)]


def print_against_numpy() -> None:
    print(f"SPA, predict_then_learn, one thread, full set of support vectors, level {onkel.isa}")
    print(f"{'':22} {'onkel':>9} | {'NumPy, differences':<32} | NumPy, products")
    print(f"{'dtype':<8} {'vectors':>8} {'d':>4} {'rows/s':>9} |" + f"{'rows/s':>7} {'ratio':>6} {'goal':<18} |" * 2)
    for dtype, goal in GOALS.items():
        for size in SIZES:
            for width in WIDTHS:
                ours, *theirs = against_numpy(size, width, dtype)
                line = f"{dtype:<8} {size:>8} {width:>4} {ours:>9,.0f} |"
                for peer in theirs:
                    line += f"{peer:>7,.0f} {ours / peer:>5.1f}x {verdict(ours / peer, goal):<18} |"
                print(line)


def verdict(ratio: float, goal: float) -> str:
    return f"{goal:g}x " + ("met" if ratio >= goal else f"missed by {1 - ratio / goal:.0%}")


def print_blocks_and_threads() -> None:
    size = 2000
    print(f"\nThe same bits, computed otherwise: time for {size} support vectors, relative")
    print(f"{'dtype':<8} {'d':>4} {'row by row / blocks of 48':>27} {'1 thread / 2 threads':>22}")
    for dtype in GOALS:
        for width in (18, 123):
            model = full_spa(size, width, dtype)
            X, y = stream(960, width, dtype, seed=1)
            targets = y.astype(np.float64)
            one, two = full_spa(size, width, dtype), full_spa(size, width, dtype, n_jobs=2)
            row, block, alone, pair = best_seconds(
                lambda m=model._learner, X=X, y=targets: m.learn_rows(X, y, block_rows=1),
                lambda m=model._learner, X=X, y=targets: m.learn_rows(X, y),
                lambda m=one, X=X, y=y: m.partial_fit(X, y),
                lambda m=two, X=X, y=y: m.partial_fit(X, y),
            )
            print(f"{dtype:<8} {width:>4} {row / block:>26.2f}x {alone / pair:>21.2f}x")


def print_one_row() -> None:
    size, width, calls = 200, 10, 20
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

    learn, score, partial_fit, validate = best_seconds(
        repeated(lambda: learner.learn(row, label)),
        repeated(lambda: learner.score(row)),
        repeated(lambda: model.partial_fit(rows, labels)),
        repeated(lambda: validate_data(model, rows, reset=False, dtype="float64", order="C")),
    )
    print(f"\nOne row a call, {size} support vectors, {width} features, float64: microseconds")
    for name, seconds in (
        ("Learner.learn", learn),
        ("Learner.score", score),
        ("SPAClassifier.partial_fit", partial_fit),
        ("scikit-learn's validate_data alone", validate),
    ):
        print(f"{name:<36} {1e6 * seconds / calls:>7.1f} {seconds / validate:>7.2f} x validate_data")


def main() -> None:
    with threadpool_limits(1):
        print_against_numpy()
        print_blocks_and_threads()
        print_one_row()


if __name__ == "__main__":
    main()
