"""Stream two data sets through the learners, predict-then-learn, and print how they did.

Every row is scored before it is learned from, so the accuracy is that of a learner at work, not of one
looking back.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits

import onkel

Chunk = tuple[np.ndarray, np.ndarray]
CHUNK_ROWS = 2000


class Stream(NamedTuple):
    """A data set as a learner meets it: chunk by chunk, never as a whole."""

    title: str
    n_rows: int
    classes: list[int]
    gamma: float
    budget: int
    chunks: Callable[[], Iterator[Chunk]]  # starts the stream anew


def learners(stream: Stream) -> list[Any]:
    """Return the contestants; a further learner is one more line."""
    common = {"gamma": stream.gamma, "budget": stream.budget, "random_state": 0}
    # A row is admitted with probability loss / beta: a small loss on most rows would fill the budget in the end.
    beta = max(1.0, 0.1 * stream.n_rows / stream.budget)
    return [
        onkel.PerceptronClassifier(**common),
        onkel.OGDClassifier(eta=0.2, **common),
        onkel.PAClassifier(C=0.2, **common),
        onkel.OSKLClassifier(G=2.0, **common),
        onkel.SPAClassifier(eta=0.2, beta=beta, **common),
        onkel.RBPClassifier(**common),
        onkel.ForgetronClassifier(**common),
        onkel.BPAClassifier(C=0.2, **common),
        onkel.BOGDClassifier(eta=0.2, **common),
        onkel.BSGDClassifier(lam=1e-4, maintenance="merge", **common),
        onkel.NORMAClassifier(eta=0.2, **common),
        onkel.NewtonClassifier(**common),
    ]


def digits() -> Iterator[Chunk]:
    """Yield scikit-learn's handwritten digits, in a fixed random order."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    for rows in np.array_split(order, 9):
        yield X[rows] / 16, y[rows]


def blobs(n_rows: int = 100_000, n_features: int = 12, n_blobs: int = 60, flipped: float = 0.05) -> Iterator[Chunk]:
    """Yield rows around scattered centres, each of one class or the other, with some labels flipped."""
    random = np.random.default_rng(1)
    centres = random.normal(size=(n_blobs, n_features))
    class_of = np.arange(n_blobs) % 2
    for start in range(0, n_rows, CHUNK_ROWS):
        blob = random.integers(n_blobs, size=min(CHUNK_ROWS, n_rows - start))
        X = centres[blob] + 0.5 * random.normal(size=(len(blob), n_features))
        y = class_of[blob] ^ (random.random(len(blob)) < flipped)
        yield X.astype(np.float32), y


STREAMS = [
    Stream(
        title="handwritten digits: 1,797 rows, 64 features, 10 classes",
        n_rows=1797,
        classes=list(range(10)),
        gamma=0.3,
        budget=500,
        chunks=digits,
    ),
    Stream(
        title="60 blobs: 100,000 rows, 12 features, 2 classes, 5 % of the labels flipped",
        n_rows=100_000,
        classes=[0, 1],
        gamma=0.2,
        budget=1000,
        chunks=blobs,
    ),
]


def run(learner: Any, stream: Stream) -> tuple[float, float]:
    """Take the learner through the stream; return its progressive accuracy and its rows a second."""
    seen = right = 0
    seconds = 0.0
    for X, y in stream.chunks():
        start = time.perf_counter()
        scores = learner.predict_then_learn(X, y, classes=stream.classes)
        seconds += time.perf_counter() - start
        predicted = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        right += int(np.sum(predicted == y))
        seen += len(y)
        show(f"{type(learner).__name__}: {seen:,} of {stream.n_rows:,} rows, {right / seen:.1%} right")
    show("")
    return right / seen, seen / seconds


def show(progress: str) -> None:
    """Rewrite the progress line, where there is a terminal to see it."""
    if sys.stdout.isatty():
        print(f"\r\033[K{progress}", end="", flush=True)


def human(n_bytes: float) -> str:
    """Return a number of bytes as one reads it.

    >>> human(123), human(45_600), human(7_890_000)
    ('123 B', '45.6 kB', '7.9 MB')
    """
    for unit in ("B", "kB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} B" if unit == "B" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} MB"


def main() -> int:
    """Run every learner on every stream."""
    print(f"onkel {onkel.__version__}, instruction set {onkel.isa}: each row is predicted, then learned from")
    try:
        for stream in STREAMS:
            print(f"\n{stream.title}; at most {stream.budget:,} support vectors")
            print(f"{'learner':<22} {'accuracy':>9} {'support vectors':>16} {'rows/s':>11} {'model':>10}")
            for learner in learners(stream):
                accuracy, speed = run(learner, stream)
                print(
                    f"{type(learner).__name__:<22} {accuracy:>9.1%} {learner.n_support_:>16,} {speed:>11,.0f}"
                    f" {human(learner.nbytes_):>10}"
                )
    except KeyboardInterrupt:
        show("")
        print("Interrupted by Ctrl-C: the table stops here.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
